// All heads as a figure: the thumbnails of the overview as it shows them, as maps or lines, in stacks or blocks.

import { ACCENT, COLOUR_BAR_HEIGHT, colourBar, FAINT, label, svg, textWidth, TITLE_FONT } from "./figure_svg.js";
import { cellPicture } from "./matrix_paint.js";
import { everyFew, isEach } from "./thumbnail_marks.js";
import { boxOf, isAsSent, laidOut, linePainter, tablesOf } from "./thumbnails.js";
import { smallMatrixOf } from "./weights.js";

/** Of the room for thumbnails; they may need more height. And the size of type, in pixels. */
const WIDTH = 900, HEIGHT = 640, TYPE = 13;

/** Height of the line that says what the rows and columns of thumbnails are. */
const LINE = 22;

const NUMBER_FONT = { "font-family": "sans-serif", "font-size": 10 };

/** Pixels a side of a map at most: more could not be seen. */
const PIXELS = 128;

/** Pixels of lines for each of the figure, and the colours of paper. */
const SHARPNESS = 2, PAPER = { panel: "#ffffff", isDark: false };

/** @returns {{element: SVGElement, width: number, height: number}} */
export function overviewFigure(view) {
  const isLines = view.state.overview === "lines";
  const layout = laidOut(tablesOf(view), WIDTH, HEIGHT, TYPE);
  const element = svg("g", {});
  const inEach = isLines ? "; in each, queries are at the left and keys at the right" : "";
  const explanation = `rows: layers, columns: heads${inEach}`, small = { "font-family": "sans-serif", "font-size": 11 };
  element.append(label(explanation, 0, 11, { ...small, fill: FAINT }));
  const tables = svg("g", { transform: `translate(0 ${LINE})` });
  for (const table of layout.tables) {
    addNumbers(tables, layout, table);
    for (const part of table.parts) addThumbnails(tables, view, layout, table, part);
  }
  element.append(tables);
  const bottom = LINE + layout.height + 14;
  if (!isLines) element.append(colourBar(view.state.scale, 0, bottom));
  const titles = layout.tables.map(({ title, x }) => x + layout.edge + textWidth(title, TITLE_FONT));
  const width = Math.max(layout.width, 270, textWidth(explanation, small), ...titles);
  return { element, width, height: bottom + (isLines ? 0 : COLOUR_BAR_HEIGHT) };
}

/** Which stacks the figure shows, in its order. */
export function stacksInOverview(view) {
  return tablesOf(view).flatMap(({ parts }) => parts.map(({ stack }) => stack));
}

/** The title of a table, and the numbers of its layers and heads. */
function addNumbers(element, { pitch, size, edge, top }, table) {
  const { x, y, title, heads, layers } = table;
  const number = (text, across, down, anchor) =>
    element.append(label(String(text), across, down, { ...NUMBER_FONT, "text-anchor": anchor, fill: FAINT }));
  element.append(label(title, x + edge, y + 12, TITLE_FONT));
  const each = everyFew(textWidth(String(heads), NUMBER_FONT) + 4, pitch);
  for (let head = 1; head <= heads; head++) {
    if (isEach(head, each)) number(head, x + edge + (head - 1) * pitch + size / 2, y + top - 4, "middle");
  }
  for (let layer = 0; layer < layers; layer++) {
    number(layer + 1, x + edge - 5, y + top + layer * pitch + size / 2 + 4, "end");
  }
}

function addThumbnails(element, view, layout, table, part) {
  const { stack } = part, { state } = view;
  for (let layer = 0; layer < stack.numLayers; layer++) {
    for (let head = 0; head < stack.numHeads(layer); head++) {
      const box = apart(boxOf(layout, table, part, layer, head), part);
      const group = svg("g", { class: "thumbnail" });
      group.append(svg("title", {}, `${stack.title}, layer ${layer + 1}, head ${head + 1}`));
      group.append(picture(view, stack, layer, head, box));
      if (stack.name === state.stack && layer === state.layer && head === state.head) {
        group.append(svg("rect", { ...box, fill: "none", stroke: ACCENT, "stroke-width": 2 }));
      }
      element.append(group);
    }
  }
}

/** A box whose right and lower neighbours in the same thumbnail begin a pixel later. */
function apart({ x, y, width, height }, { left, top, width: across, height: down }) {
  return { x, y, width: width - (left + across < 1 ? 1 : 0), height: height - (top + down < 1 ? 1 : 0) };
}

function picture(view, stack, layer, head, box) {
  const isLines = view.state.overview === "lines";
  const canvas = isLines ? linesOf(view, stack, layer, head, box) : mapOf(view, stack, layer, head);
  return svg("image", {
    ...box,
    href: canvas.toDataURL("image/png"),
    preserveAspectRatio: "none",
    ...(!isLines && { style: "image-rendering: pixelated" }),
  });
}

/** A map with a pixel for each weight, as far as it can be seen. */
function mapOf(view, stack, layer, head) {
  const matrix = isAsSent(view, stack) ? smallMatrixOf(stack, layer, head) : view.matrix(layer, head, stack);
  const { rows, columns } = matrix;
  return cellPicture(matrix, { row: 0, column: 0, rows, columns }, view.state.scale, { rows: PIXELS, columns: PIXELS });
}

function linesOf(view, stack, layer, head, box) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(box.width * SHARPNESS));
  canvas.height = Math.max(1, Math.round(box.height * SHARPNESS));
  const onPaper = {
    theme: PAPER,
    state: view.state,
    lens: (each) => view.lens(each),
    matrix: (...place) => view.matrix(...place),
  };
  const paint = linePainter(canvas.getContext("2d"), onPaper, SHARPNESS);
  paint({ x: 0, y: 0, width: canvas.width, height: canvas.height }, stack, layer, head);
  return canvas;
}
