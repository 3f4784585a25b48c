// What lies over the thumbnails: titles and numbers, which stay in sight, and outlines of what is open or chosen.

import { joinsHeads } from "./choosing.js";
import { element } from "./elements.js";
import { boxOfHead } from "./thumbnails.js";

/** Pixels that an outline needs beyond the last thumbnails. */
const OUTLINE = 4;

/**
 * The canvas over the thumbnails, which takes the pointer and the keys. It is as large as what is seen of them, and
 * stays there when they are scrolled.
 * @param {HTMLElement} scroll what scrolls.
 */
export function createMarks(view, scroll) {
  const canvas = element("canvas", "marks");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "grid of attention heads");
  const context = canvas.getContext("2d");

  function resize(layout) {
    const width = Math.min(scroll.clientWidth, layout.width + OUTLINE);
    const height = Math.min(scroll.clientHeight, layout.height + OUTLINE);
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }

  /** @param {{stack: string, layer: number, head: number} | null} pointed what the pointer or the keys are on. */
  function draw(layout, pointed) {
    const { scrollLeft, scrollTop } = scroll;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.scale(devicePixelRatio, devicePixelRatio);
    context.translate(-scrollLeft, -scrollTop);
    drawOutlines(context, view, layout, pointed);
    const corner = { x: scrollLeft, y: scrollTop };
    for (const table of layout.tables) {
      drawNumbers(context, view, layout, table, corner, numbersOf(view, table, pointed));
    }
  }

  return { element: canvas, resize, draw };
}

function drawOutlines(context, view, layout, pointed) {
  const { state, theme } = view;
  const outline = (stack, layer, head, colour, width) => {
    const box = boxOfHead(layout, stack, layer, head);
    if (!box) return;
    context.strokeStyle = colour;
    context.lineWidth = width;
    const out = width / 2;
    context.strokeRect(box.x - out, box.y - out, box.width + width, box.height + width);
  };
  const layers = joinsHeads(state) ? state.layers : [state.layer];
  for (const layer of layers) for (const head of state.heads) outline(state.stack, layer, head, theme.accent, 1);
  if (pointed) outline(pointed.stack, pointed.layer, pointed.head, theme.ink, 1.5);
  outline(state.stack, state.layer, state.head, theme.accent, 2.5);
}

/** The layer and the head whose numbers stand out in a table: those that are pointed at, or the open ones. */
function numbersOf({ state }, table, pointed) {
  const shown = pointed ?? state;
  return table.parts.some(({ stack }) => stack.name === shown.stack) ? shown : { layer: -1, head: -1 };
}

/** Title and numbers of a table at its edges or, where these are scrolled out of sight, at those of the box. */
function drawNumbers(context, { theme }, layout, table, corner, marked) {
  const { pitch, size, edge, top, em } = layout;
  const width = edge + table.heads * pitch, height = top + table.layers * pitch;
  const x = Math.min(Math.max(table.x, corner.x), table.x + width - edge - pitch);
  const y = Math.min(Math.max(table.y, corner.y), table.y + height - top - pitch);
  const font = (isStrong) => `${isStrong ? 600 : 400} ${Math.max(0.75 * em, 10)}px ${theme.font}`;
  const write = (number, at, down, isMarked) => {
    context.font = font(isMarked);
    context.fillStyle = isMarked ? theme.ink : theme.faint;
    context.fillText(number + 1, at, down);
  };

  context.fillStyle = theme.ground;
  if (x > table.x) context.fillRect(x, table.y, edge - 1, height);
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (let layer = 0; layer < table.layers; layer++) {
    write(layer, x + edge - 5, table.y + top + layer * pitch + size / 2, layer === marked.layer);
  }

  context.fillStyle = theme.ground;
  if (y > table.y) context.fillRect(table.x, y, width, top - 1);
  context.textAlign = "center";
  context.font = font(true);
  const each = everyFew(context.measureText(table.heads).width + 4, pitch);
  for (let head = 0; head < table.heads; head++) {
    const isMarked = head === marked.head;
    const isNear = !isMarked && Math.abs(head - marked.head) < each;
    const middle = table.x + edge + head * pitch + size / 2;
    if (isMarked || (!isNear && isEach(head + 1, each))) write(head, middle, y + 0.72 * top, isMarked);
  }
  drawTitle(context, theme, em, table.title, x, y + 0.27 * top, layout.width - x);
}

function drawTitle(context, theme, em, title, x, y, room) {
  context.textAlign = "left";
  context.fillStyle = theme.ink;
  context.font = `600 ${0.9 * em}px ${theme.font}`;
  context.fillText(title, x, y, room);
}

/** Every which number is written, so that they do not run into each other. */
export function everyFew(width, pitch) {
  return [1, 2, 5, 10, 20, 50].find((each) => each * pitch >= width) ?? 100;
}

/** Whether a number, counted from 1, is one of these. */
export function isEach(number, each) {
  return each <= 2 ? (number - 1) % each === 0 : number === 1 || number % each === 0;
}
