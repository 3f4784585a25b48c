// Numbered chips that are switched on and off: the heads of a layer, or the layers.

import { element } from "./elements.js";

/**
 * @param {string} noun what is numbered: "Head" or "Layer".
 * @param {{toggle: (number: number) => void, only: (number: number) => void, all: () => void, one: () => void}} on a
 *   click toggles, a double click chooses only that one.
 * @returns {{element: HTMLElement, update: (chips: {count: number, chosen: number[], open: number, hasSeveral: boolean,
 *   colourOf?: (number: number) => {css: string, dash: number[]}}) => void}} numbers count from 0, and from 1 on the
 *   chips. Without `hasSeveral` there is nothing to switch: a click opens.
 */
export function createChips(noun, on) {
  const group = element("div", "chips");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", `${noun}s`);
  const list = element("div", "chip-list");
  const all = action("all", `all ${noun.toLowerCase()}s`, on.all);
  const one = action("one", `only one ${noun.toLowerCase()}, the open one`, on.one);
  group.append(element("span", "chips-label", `${noun}s`), list, all, one);
  let hasSeveral = true;

  list.addEventListener("click", (event) => {
    const chip = event.target.closest("button");
    if (!chip) return;
    const number = Number(chip.dataset.number);
    // The second click of a double click replaces whatever the first one did.
    if (hasSeveral && event.detail > 1) on.only(number);
    else on.toggle(number);
  });

  return {
    element: group,
    update({ count, chosen, open, hasSeveral: several, colourOf }) {
      hasSeveral = several;
      while (list.children.length > count) list.lastChild.remove();
      while (list.children.length < count) list.append(newChip(noun, list.children.length));
      for (let number = 0; number < count; number++) {
        const chip = list.children[number];
        chip.setAttribute("aria-pressed", several ? chosen.includes(number) : number === open);
        if (number === open) chip.setAttribute("aria-current", "true");
        else chip.removeAttribute("aria-current");
        chip.title = several ? "Click: on or off. Double click: only this one." : "Click: open";
        paint(chip, colourOf?.(number));
      }
      reveal(list.querySelector("[aria-current]"));
      all.hidden = one.hidden = !several || count < 2;
      all.setAttribute("aria-disabled", chosen.filter((number) => number < count).length === count);
      one.setAttribute("aria-disabled", chosen.length === 1);
    },
  };
}

function action(text, name, act) {
  const button = element("button", "chip-action", text);
  button.type = "button";
  button.title = name;
  button.setAttribute("aria-label", name);
  button.addEventListener("click", () => act());
  return button;
}

function newChip(noun, number) {
  const chip = element("button", "chip", String(number + 1));
  chip.type = "button";
  chip.dataset.number = number;
  chip.setAttribute("aria-label", `${noun} ${number + 1}`);
  return chip;
}

/** Scroll the chips, and nothing else, until one of them is in sight. */
function reveal(chip) {
  const list = chip.parentElement;
  const { offsetLeft: left, offsetTop: top, offsetWidth: width, offsetHeight: height } = chip;
  list.scrollLeft = Math.min(Math.max(list.scrollLeft, left + width - list.clientWidth), left);
  list.scrollTop = Math.min(Math.max(list.scrollTop, top + height - list.clientHeight), top);
}

/** The line that a head is drawn with, under its number. */
function paint(chip, colour) {
  chip.classList.toggle("coloured", Boolean(colour));
  chip.style.setProperty("--chip-colour", colour ? colour.css : "var(--ink)");
  chip.style.setProperty("--chip-line", colour ? dashes(colour) : "none");
}

/** A line of dashes as a CSS image. */
function dashes({ css, dash }) {
  if (!dash.length) return `linear-gradient(${css}, ${css})`;
  let end = 0;
  const stops = dash.map((length, i) => {
    const start = end;
    end += length;
    return `${i % 2 ? "transparent" : css} ${start}px ${end}px`;
  });
  return `repeating-linear-gradient(90deg, ${stops.join(", ")})`;
}
