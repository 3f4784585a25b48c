// One of a few, side by side: a group of radio buttons that looks like one bar.

import { element } from "./elements.js";

/**
 * @param {string} label what is chosen.
 * @param {(value: string) => void} choose
 * @returns {{element: HTMLElement, update: (options: [string, string][], chosen: string) => void}} options are values
 *   with their names. The arrow keys go from one to the next where the focus is in the group; a click leaves it where
 *   it was, so that keys go on stepping heads and layers.
 */
export function createSegments(label, choose) {
  const group = element("div", "segments");
  group.setAttribute("role", "radiogroup");
  group.setAttribute("aria-label", label);
  let shown = "";

  function fill(options) {
    const buttons = options.map(([value, name]) => {
      const button = element("button", "segment", name);
      button.type = "button";
      button.dataset.value = value;
      button.setAttribute("role", "radio");
      return button;
    });
    group.replaceChildren(...buttons);
  }

  group.addEventListener("mousedown", (event) => event.preventDefault());
  group.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) choose(button.dataset.value);
  });
  group.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const buttons = [...group.children];
    const next = buttons[(buttons.indexOf(event.target) + step + buttons.length) % buttons.length];
    next.focus();
    choose(next.dataset.value);
  });

  return {
    element: group,
    update(options, chosen) {
      const content = JSON.stringify(options);
      if (content !== shown) fill(options);
      shown = content;
      for (const button of group.children) {
        const isChosen = button.dataset.value === chosen;
        button.setAttribute("aria-checked", isChosen);
        button.tabIndex = isChosen ? 0 : -1;
      }
    },
  };
}
