// One of the two columns of tokens beside the lines: a list box, with a bar and a number for the weight of each token.

import { element } from "./elements.js";
import { shortLabel } from "./tokens.js";

/** Where a key takes the focus, from a place in a list of so many. */
const FOCUS_STEPS = {
  ArrowUp: (place) => place - 1,
  ArrowDown: (place) => place + 1,
  Home: () => 0,
  End: (place, count) => count - 1,
};

export class TokenColumn {
  /**
   * @param {"query" | "key"} side
   * @param {object} actions
   * @param {(place: number | null) => void} actions.point the pointer or the focus is on a token, or on none.
   * @param {(place: number) => void} actions.pin pin a token, or let go of it.
   * @param {() => boolean} actions.release let go of all pins; false where there are none.
   */
  constructor(side, actions) {
    this.actions = actions;
    this.items = [];
    this.focused = 0;
    /** Arrow keys go from token to token only for who came by keyboard: after a click, they step layers as elsewhere. */
    this.isWalked = false;
    this.element = element("ul", `tokens ${side}`);
    this.element.setAttribute("role", "listbox");
    this.element.setAttribute("aria-multiselectable", "true");
    this.element.addEventListener("pointerover", (event) => {
      // A finger points at nothing before it is lifted.
      if (event.pointerType !== "touch") actions.point(this.#placeOf(event));
    });
    this.element.addEventListener("pointerleave", () => actions.point(null));
    this.element.addEventListener("pointerdown", () => (this.isWalked = false));
    this.element.addEventListener("click", (event) => {
      const place = this.#placeOf(event);
      if (place === null) return;
      this.#move(place);
      actions.pin(place);
    });
    this.element.addEventListener("keydown", (event) => this.#press(event));
    this.element.addEventListener("focusin", (event) => {
      const isVisible = event.target.matches(":focus-visible");
      if (!this.isFilling && !this.element.contains(event.relatedTarget)) this.isWalked = isVisible;
      if (isVisible) actions.point(this.#placeOf(event));
    });
    this.element.addEventListener("focusout", () => actions.point(null));
  }

  /**
   * Show these tokens.
   * @param {import("./weights.js").Group[]} groups
   * @param {null | object} image that they are of, as in `shortLabel`.
   * @param {number} most characters of a label.
   */
  fill(groups, image, most) {
    const hadFocus = this.element.contains(this.element.getRootNode().activeElement);
    this.items = groups.map((group) => tokenItem(group, image, most));
    this.element.replaceChildren(...this.items.map(({ item }) => item));
    this.focused = Math.min(this.focused, this.items.length - 1);
    this.items[this.focused].item.tabIndex = 0;
    this.isFilling = true;
    if (hadFocus) this.items[this.focused].item.focus({ preventScroll: true });
    this.isFilling = false;
  }

  /** @param {number[]} places of pinned tokens. */
  mark(places) {
    const pinned = new Set(places);
    this.items.forEach(({ item }, place) => item.setAttribute("aria-selected", String(pinned.has(place))));
  }

  /** The token that the pointer is on, here or in another drawing. */
  point(place) {
    this.pointed?.classList.remove("pointed");
    this.pointed = this.items[place]?.item;
    this.pointed?.classList.add("pointed");
  }

  /**
   * Show a weight beside each token; beside those without one (undefined), nothing.
   * @param {ArrayLike<number | undefined>} weights
   * @param {(weight: number) => string} textOf
   */
  weigh(weights, textOf) {
    let longest = 1;
    for (let place = 0; place < this.items.length; place++) if (weights[place] > longest) longest = weights[place];
    this.items.forEach((shown, place) => {
      const weight = weights[place];
      const text = weight === undefined ? "" : textOf(weight);
      const length = weight > 0 ? weight / longest : 0;
      if (text !== shown.text) shown.number.firstChild.data = shown.text = text;
      if (length !== shown.length) {
        shown.length = length;
        shown.bar.style.transform = `scaleX(${length})`;
        shown.item.classList.toggle("shaded", length > 0);
      }
    });
  }

  #placeOf(event) {
    const item = event.target.closest("li");
    return item ? this.items.findIndex((each) => each.item === item) : null;
  }

  #move(place) {
    this.items[this.focused].item.tabIndex = -1;
    this.focused = place;
    this.items[place].item.tabIndex = 0;
    this.items[place].item.focus();
  }

  #press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = this.isWalked && FOCUS_STEPS[event.key];
    if (step) {
      this.#move(Math.min(Math.max(step(this.focused, this.items.length), 0), this.items.length - 1));
    } else if (event.key === "Enter" || event.key === " ") {
      this.actions.pin(this.focused);
    } else if (event.key !== "Escape" || !this.actions.release()) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

function tokenItem({ label, members, isSpecial }, image, most) {
  const item = element("li", isSpecial ? "token special" : "token");
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  item.tabIndex = -1;
  item.title = label;
  const bar = element("span", "bar");
  const pin = element("span", "pin", "◆");
  const number = element("span", "number");
  const text = element("bdi", "label", shortLabel(label, members[0], image, most));
  text.dir = "auto";
  pin.setAttribute("aria-hidden", "true");
  number.append("");
  item.append(bar, number, pin, text);
  return { item, bar, number, text: "", length: 0 };
}
