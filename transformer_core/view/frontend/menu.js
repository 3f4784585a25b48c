// A button that opens a small panel. The browser closes it: on Escape, and on a click outside.

import { element } from "./elements.js";

/** @returns {{button: HTMLButtonElement, panel: HTMLElement}} to be put beside each other. */
export function createMenu(name, className) {
  const button = element("button", "menu-button", name);
  button.type = "button";
  const panel = element("div", `menu ${className}`);
  panel.popover = "auto";
  panel.setAttribute("role", "group");
  panel.setAttribute("aria-label", name);
  button.popoverTargetElement = panel;
  panel.addEventListener("toggle", () => place(button, panel));
  return { button, panel };
}

/** Under its button, or above it where there is no room, and inside the window. */
function place(button, panel) {
  const at = button.getBoundingClientRect(), gap = 4;
  const { offsetWidth: width, offsetHeight: height } = panel;
  const below = at.bottom + gap;
  const top = below + height <= innerHeight ? below : Math.max(at.top - gap - height, gap);
  panel.style.left = `${Math.max(Math.min(at.left, innerWidth - width - gap), gap)}px`;
  panel.style.top = `${top}px`;
}
