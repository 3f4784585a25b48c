import { element } from "./elements.js";

export function createProduct(view) {
  const root = element("div", "product", "product");
  return { element: root, update() {}, hover() {}, describe: () => "" };
}
