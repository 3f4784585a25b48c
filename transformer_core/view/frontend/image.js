import { element } from "./elements.js";

export function createImage(view) {
  const root = element("div", "image", "image");
  return { element: root, update() {}, hover() {}, describe: () => "" };
}
