// All heads as a figure: a thumbnail for each, a row of them for each layer, stack after stack.

import { ACCENT, COLOUR_BAR_HEIGHT, colourBar, FAINT, label, svg, textWidth, TITLE_FONT } from "./figure_svg.js";
import { cellPicture } from "./matrix_paint.js";
import { smallMatrixOf } from "./weights.js";

const WIDTH = 900, LARGEST = 64, SMALLEST = 14, GAP = 3;

/** Pixels a side of a thumbnail at most: more could not be seen. */
const PIXELS = 128;

/** @returns {{element: SVGElement, width: number, height: number}} */
export function overviewFigure(view) {
  const element = svg("g", {});
  const stacks = view.payload.stacks.filter((stack) => !stack.whole);
  let top = 0, widest = 0;
  for (const stack of stacks) {
    const side = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((WIDTH - 30) / stack.mostHeads) - GAP));
    const left = 30, pitch = side + GAP;
    element.append(label(stack.title, left, top + 14, TITLE_FONT));
    const beside = left + textWidth(stack.title, TITLE_FONT) + 12;
    element.append(label("rows: layers, columns: heads", beside, top + 14, { fill: FAINT, "font-size": 11 }));
    widest = Math.max(widest, beside + 170);
    const first = top + 34;
    const number = (text, x, y, anchor) =>
      element.append(label(String(text), x, y, { "text-anchor": anchor, fill: FAINT, "font-size": 10 }));
    for (let head = 0; head < stack.mostHeads; head++) number(head + 1, left + head * pitch + side / 2, first - 4, "middle");
    for (let layer = 0; layer < stack.numLayers; layer++) {
      const y = first + layer * pitch;
      number(layer + 1, left - 6, y + side / 2 + 4, "end");
      for (let head = 0; head < stack.numHeads(layer); head++) {
        element.append(thumbnail(view, stack, layer, head, left + head * pitch, y, side));
      }
    }
    top = first + stack.numLayers * pitch + 14;
    widest = Math.max(widest, left + stack.mostHeads * pitch);
  }
  element.append(colourBar(view.state.scale, 30, top));
  return { element, width: Math.max(widest, 270), height: top + COLOUR_BAR_HEIGHT };
}

function thumbnail(view, stack, layer, head, x, y, side) {
  const { state } = view;
  const matrix = smallMatrixOf(stack, layer, head);
  const { rows, columns } = matrix;
  const most = { rows: PIXELS, columns: PIXELS };
  const picture = cellPicture(matrix, { row: 0, column: 0, rows, columns }, state.scale, most);
  const group = svg("g", { class: "thumbnail" });
  group.append(svg("title", {}, `${stack.title}, layer ${layer + 1}, head ${head + 1}`));
  group.append(svg("image", {
    href: picture.toDataURL("image/png"), x, y, width: side, height: side,
    preserveAspectRatio: "none", style: "image-rendering: pixelated",
  }));
  if (stack.name === state.stack && layer === state.layer && head === state.head) {
    group.append(svg("rect", { x, y, width: side, height: side, fill: "none", stroke: ACCENT, "stroke-width": 2 }));
  }
  return group;
}
