// The keyboard: one list of keys, which is both what they do and what the help says.

import {
  allHeads, countHeads, hasSpecial, hasSubWords, stepHead, stepLayer, takesSeveral, toggleHead, viewsOf,
} from "./choosing.js";
import { element } from "./elements.js";
import { ZOOM_FROM } from "./matrix.js";
import { isPresenting } from "./presenting.js";

/** Milliseconds in which a second digit makes one number with the first. */
const DIGITS_WITHIN = 500;

const NO_PINS = { pinnedQueries: [], pinnedKeys: [], pinnedCell: null };

/**
 * @typedef {object} Key
 * @property {string[]} keys as events name them.
 * @property {string} shown on the help's key caps.
 * @property {string} says what they do.
 * @property {(view: View, key: string) => void} act
 * @property {(view: View) => boolean} [isThere] whether it does something in this view, always if left out.
 */

/** @type {Key[]} */
const KEYS = [
  {
    keys: ["ArrowLeft", "ArrowRight"],
    shown: "← →",
    says: "Previous and next head; of the chosen ones, if several are",
    act: (view, key) => view.setState(stepHead(view.state, view.stack, key === "ArrowLeft" ? -1 : 1)),
  },
  {
    keys: ["ArrowUp", "ArrowDown"],
    shown: "↑ ↓",
    says: "Previous and next layer; in a list of tokens reached with Tab, previous and next token",
    act: (view, key) => view.setState(stepLayer(view.state, view.stack, key === "ArrowUp" ? -1 : 1)),
  },
  {
    keys: [..."0123456789"],
    shown: "1 … 9 0",
    says: "Head 1 to 9 and 10, on or off; two digits in quick succession for 11 and more",
    act: (view, key) => typeDigit(view, Number(key)),
  },
  {
    keys: ["a"],
    shown: "A",
    says: "All heads",
    act: (view) => view.setState(allHeads(view.state, view.stack)),
  },
  {
    keys: ["o"],
    shown: "O",
    says: "Only the open head",
    act: (view) => view.setState({ heads: [view.state.head] }),
  },
  {
    keys: ["v"],
    shown: "V",
    says: "Next drawing",
    act: (view) => view.setState({ view: after(viewsOf(view.payload, view.stack).map(([name]) => name), view.state.view) }),
  },
  { keys: ["l"], shown: "L", says: "Lines", act: (view) => view.setState({ view: "lines" }) },
  { keys: ["m"], shown: "M", says: "Matrix", act: (view) => view.setState({ view: "matrix" }) },
  {
    keys: ["s"],
    shown: "S",
    says: "Next of the stacks",
    act: (view) => view.setState({ stack: after(view.payload.stacks.map(({ name }) => name), view.stack.name) }),
    isThere: (view) => view.payload.stacks.length > 1,
  },
  {
    keys: ["w"],
    shown: "W",
    says: "Merge sub-words, or not",
    act: (view) => view.setState({ mergeWords: !view.state.mergeWords }),
    isThere: (view) => hasSubWords(view.stack),
  },
  {
    keys: ["t"],
    shown: "T",
    says: "Hide special tokens, or not",
    act: (view) => view.setState({ hideSpecial: !view.state.hideSpecial }),
    isThere: (view) => hasSpecial(view.stack),
  },
  {
    keys: ["n", "p"],
    shown: "N P",
    says: "Next and previous example",
    act: (view, key) => view.host.example(key === "n" ? 1 : -1),
    isThere: (view) => Boolean(view.host.example),
  },
  {
    keys: ["/"],
    shown: "/",
    says: "Type a text",
    act: (view) => view.host.focusText(),
    // Who reads images reads no text.
    isThere: (view) => Boolean(view.host.focusText) && !view.payload.meta.image && !isPresenting(view),
  },
  { keys: ["f"], shown: "F", says: "Full screen, or back", act: (view) => view.presenting.toggle() },
  {
    keys: ["Escape"],
    shown: "Esc",
    says: "Leave full screen; otherwise let go of all pins",
    act: (view) => (isPresenting(view) ? view.presenting.toggle() : view.setState(NO_PINS)),
  },
  { keys: ["?"], shown: "?", says: "These keys", act: (view) => showKeys(view) },
];

/** What a mouse does beside clicking on what is seen, and where: {shown, says, isThere} as of a key. */
const MOUSE = [
  {
    shown: "Double click",
    says: "On the number of a head: only this head",
    isThere: (view) => takesSeveral(view.state) && view.stack.mostHeads > 1,
  },
  { shown: "Ctrl and click", says: "On a small map: this head joins the chosen ones, or leaves them" },
  {
    shown: "Wheel",
    says: "On the number of the layer, or with Shift on the lines: previous and next layer",
    isThere: (view) => view.stack.numLayers > 1,
  },
  {
    shown: "Ctrl and wheel",
    says: "On a large matrix: closer, or back",
    isThere: (view) => Math.max(view.stack.queries.length, view.stack.keys.length) > ZOOM_FROM,
  },
];

/** The view that keys are for while nothing has the focus: the last one that was touched, or the last to appear. */
let lastTouched = null;

/** Digits typed a moment ago, in the view they are for. */
let typed = null;

/**
 * Let keys act on a view: where the focus is in it, where it fills the screen, and where nothing has the focus.
 * @returns {() => void} stops it.
 */
export function listenToKeys(view) {
  const touch = () => (lastTouched = view);
  const press = (event) => handleKey(view, event);
  const take = () => {
    touch();
    takeFocus(view.root);
  };
  touch();
  view.root.addEventListener("pointerdown", take);
  view.root.addEventListener("focusin", touch);
  // On the document, after everything in the view has had its chance to use the key itself.
  document.addEventListener("keydown", press);
  return () => {
    document.removeEventListener("keydown", press);
    view.root.removeEventListener("pointerdown", take);
    view.root.removeEventListener("focusin", touch);
    if (lastTouched === view) lastTouched = null;
  };
}

/** Whoever clicks into the view has ended typing elsewhere on the page, also where the click itself takes no focus. */
function takeFocus(root) {
  const place = root.getRootNode().host ?? root;
  const focused = document.activeElement;
  if (focused && !focused.contains(place) && !place.contains(focused)) focused.blur();
}

function handleKey(view, event) {
  if (!view.payload || event.defaultPrevented || event.isComposing) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const found = KEYS.find(({ keys, isThere }) => keys.includes(event.key) && (isThere?.(view) ?? true));
  if (!found || !isFor(view, event) || isUsed(view, event)) return;
  event.preventDefault();
  found.act(view, event.key);
}

function isFor(view, event) {
  const path = event.composedPath();
  if (path.includes(view.root) || isPresenting(view)) return true;
  const hasNoFocus = path[0] === document.body || path[0] === document.documentElement;
  return hasNoFocus && lastTouched === view && isInSight(view.root);
}

function isInSight(root) {
  const { top, bottom } = root.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}

/** Whether the key belongs to what has the focus, or closes what is open. */
function isUsed(view, event) {
  const [target] = event.composedPath();
  const open = view.root.querySelector("dialog[open], .menu:popover-open");
  if (open && (event.key === "Escape" || open.matches("dialog"))) return true;
  if (!target.matches) return false;
  if (target.matches("input:is([type=range], [type=checkbox], [type=radio])")) return event.key.startsWith("Arrow");
  return target.matches("input, textarea, select, [contenteditable]");
}

function typeDigit(view, digit) {
  const { state, stack } = view;
  const count = countHeads(state, stack);
  const now = performance.now();
  const isSecond = typed && typed.view === view && now - typed.at < DIGITS_WITHIN;
  const number = isSecond ? typed.digit * 10 + digit : digit || 10;
  if (isSecond && number <= count) {
    // As if the first digit had not been typed.
    const { head, heads } = typed;
    view.setState({ head, heads, ...toggleHead({ ...state, head, heads }, stack, number - 1) });
    typed = null;
    return;
  }
  const alone = digit || 10;
  typed = digit ? { view, digit, at: now, head: state.head, heads: state.heads } : null;
  if (alone <= count) view.setState(toggleHead(state, stack, alone - 1));
}

/** What comes after one of several, around again from the last. */
function after(all, one) {
  return all[(all.indexOf(one) + 1) % all.length];
}

/** A window with every key that does something in this view, and what a mouse does that cannot be seen. */
export function showKeys(view) {
  const dialog = element("dialog", "keys");
  dialog.setAttribute("aria-label", "Keys");
  const caps = ({ shown }) => shown.split(" ").map((cap) => (cap === "…" ? " … " : element("kbd", "", cap)));
  const close = element("button", "tool", "Close");
  close.type = "button";
  close.addEventListener("click", () => dialog.close());
  dialog.append(
    element("h2", "", "Keys"), tableOf(view, KEYS, caps),
    element("h2", "", "With a mouse"), tableOf(view, MOUSE, ({ shown }) => [shown]),
    close,
  );
  dialog.addEventListener("close", () => dialog.remove());
  // A click beside the window, which is a click on the dialog itself, closes it.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  view.root.append(dialog);
  dialog.showModal();
}

/** A row for each of those that do something in this view. */
function tableOf(view, all, namesOf) {
  const table = element("table");
  for (const each of all.filter(({ isThere }) => isThere?.(view) ?? true)) {
    const row = element("tr"), name = element("th");
    name.scope = "row";
    name.append(...namesOf(each));
    row.append(name, element("td", "", each.says));
    table.append(row);
  }
  return table;
}
