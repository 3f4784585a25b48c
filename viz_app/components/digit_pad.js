// A pad to draw a digit on: points that are ink or paper, as in the data set that models of digits learn from.

import { element } from "../../transformer_core/view/frontend/elements.js";

/** Points in a row, and rows of points. */
const SIDE = 32;

/** Names of the pens, and how many points wide each draws. */
const PENS = { Thin: 2, Medium: 3, Thick: 4 };

const LABEL = `Pad of ${SIDE} by ${SIDE} points. Draw with a mouse, a pen or a finger; without them, choose an example ` +
  "or upload an image instead.";

const mounted = new WeakMap();

/** Called when the component appears, and again for new data, a new theme or another rerun. */
export default function mount({ data, parentElement, setStateValue }) {
  let pad = mounted.get(parentElement);
  if (!pad) {
    pad = new Pad();
    parentElement.querySelector(".place").replaceChildren(pad.element);
    mounted.set(parentElement, pad);
  }
  pad.tell = (drawing) => setStateValue("drawing", drawing);
  // As long as the number stays the same, the pad knows better what is on it: its visitor goes on drawing.
  if (pad.serial !== data.serial) {
    pad.serial = data.serial;
    pad.show(fromText(data.drawing));
  }
  return () => mounted.delete(parentElement);
}

class Pad {
  constructor() {
    this.points = new Uint8Array(SIDE * SIDE);
    this.width = PENS.Medium;
    this.last = null;
    this.canvas = element("canvas", "paper");
    this.canvas.width = this.canvas.height = SIDE;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", LABEL);
    this.canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    this.canvas.addEventListener("pointermove", (event) => this.#goOn(event));
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, (event) => this.#end(event));
    const tools = element("div", "tools");
    this.pens = Object.entries(PENS).map(([name, width]) => this.#tool(name, () => this.#choose(width)));
    this.clear = this.#tool("Clear", () => this.#clear());
    tools.append(...this.pens, this.clear);
    this.element = element("div", "pad");
    this.element.append(this.canvas, tools);
    this.#choose(this.width);
    this.#draw();
  }

  /** @param {Uint8Array} points row by row, 1 for ink */
  show(points) {
    this.points = points;
    this.#draw();
  }

  #tool(name, action) {
    const button = element("button", "", name);
    button.type = "button";
    button.addEventListener("click", action);
    return button;
  }

  #choose(width) {
    this.width = width;
    Object.values(PENS).forEach((each, index) => this.pens[index].setAttribute("aria-pressed", String(each === width)));
  }

  #clear() {
    this.show(new Uint8Array(SIDE * SIDE));
    this.tell(toText(this.points));
  }

  #begin(event) {
    // A second finger would draw a line from the first one to itself.
    if (event.button !== 0 || !event.isPrimary) return;
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    this.last = this.#place(event);
    this.#ink(this.last, this.last);
  }

  #goOn(event) {
    if (!this.last || !event.isPrimary) return;
    // A fast hand is further than one event apart.
    for (const each of event.getCoalescedEvents?.() ?? [event]) {
      const place = this.#place(each);
      this.#ink(this.last, place);
      this.last = place;
    }
  }

  #end(event) {
    if (!this.last || !event.isPrimary) return;
    this.last = null;
    this.tell(toText(this.points));
  }

  /** Where an event is, in points from the upper left corner. */
  #place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * SIDE, ((event.clientY - box.top) / box.height) * SIDE];
  }

  #ink([x0, y0], [x1, y1]) {
    const steps = Math.max(1, Math.ceil(2 * Math.hypot(x1 - x0, y1 - y0)));
    for (let step = 0; step <= steps; step++) {
      const share = step / steps;
      stamp(this.points, x0 + share * (x1 - x0), y0 + share * (y1 - y0), this.width / 2);
    }
    this.#draw();
  }

  #draw() {
    const picture = new ImageData(SIDE, SIDE);
    const pixels = new Uint32Array(picture.data.buffer);
    // Ink is black and paper white, in every theme.
    this.points.forEach((ink, place) => (pixels[place] = ink ? 0xff000000 : 0xffffffff));
    this.canvas.getContext("2d").putImageData(picture, 0, 0);
  }
}

/** Ink on all points whose middle lies within a disc. */
function stamp(points, x, y, radius) {
  for (let row = Math.max(0, Math.floor(y - radius)); row <= Math.min(SIDE - 1, y + radius); row++) {
    for (let column = Math.max(0, Math.floor(x - radius)); column <= Math.min(SIDE - 1, x + radius); column++) {
      if (Math.hypot(column + 0.5 - x, row + 0.5 - y) <= radius) points[row * SIDE + column] = 1;
    }
  }
}

/** Points as text: eight of them a byte, the first the highest bit, in base64 for addresses. No ink is no text. */
function toText(points) {
  if (!points.includes(1)) return "";
  const bytes = new Uint8Array(points.length / 8);
  points.forEach((ink, place) => (bytes[place >> 3] |= ink << (7 - (place & 7))));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The points of such a text. */
function fromText(text) {
  const points = new Uint8Array(SIDE * SIDE);
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  for (let place = 0; place < bytes.length * 8; place++) {
    points[place] = (bytes.charCodeAt(place >> 3) >> (7 - (place & 7))) & 1;
  }
  return points;
}
