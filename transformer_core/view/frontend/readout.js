import { element } from "./elements.js";

export function createReadout(view) {
  const root = element("div", "readout", "readout");
  return { element: root, update() {}, hover() {}, describe: () => "" };
}
