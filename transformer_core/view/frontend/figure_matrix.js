// A matrix as a figure: cells, both axes with their tokens, the pins, and a colour bar.

import { cividisCss } from "./colours.js";
import { ACCENT, COLOUR_BAR_HEIGHT, colourBar, hatch, label, svg, textWidth, TITLE_FONT, TOKEN_FONT } from "./figure_svg.js";
import { cellPicture, largest } from "./matrix_paint.js";
import { shortened } from "./tokens.js";
import { scaled } from "./weights.js";

/** Cells a side up to which each is a shape of its own; beyond, they are one picture. */
const MOST_SHAPES = 64;

const SIDE = 900, LARGEST_CELL = 24, SMALLEST_CELL = 2;

/** Room that the label of a token needs. */
const LABEL = 12;

/** @returns {{element: SVGElement, width: number, height: number}} */
export function matrixFigure(view) {
  const matrix = view.shownMatrix(), { scale } = view.state, { stack } = view;
  const { rows, columns } = matrix;
  const cell = Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL, Math.floor(SIDE / Math.max(rows, columns))));
  const names = labelsOf(view, matrix);
  const widest = (texts) => Math.max(0, ...texts.map((text) => textWidth(text, TOKEN_FONT)));
  const titles = { row: `query (row): ${stack.queryLabel}`, column: `key (column): ${stack.keyLabel}` };
  const left = Math.ceil(widest(names.rows)) + 34;
  // The title of the rows is written upwards, and may need more room than few rows have.
  const top = Math.ceil(Math.max(widest(names.columns) + 34, textWidth(titles.row, TITLE_FONT) - rows * cell));
  const width = left + Math.ceil(Math.max(columns * cell + 10, 240, textWidth(titles.column, TITLE_FONT)));
  const bottom = top + rows * cell;
  const element = svg("g", {}, hatch());
  element.append(
    label(titles.column, left, 14, TITLE_FONT),
    label(titles.row, 0, 0, { ...TITLE_FONT, transform: `translate(14 ${bottom}) rotate(-90)` }),
  );
  const step = Math.ceil(LABEL / cell);
  names.rows.forEach((text, row) => {
    if (row % step) return;
    const y = top + (row + 0.5) * cell + 4;
    element.append(label(text, left - 6, y, { ...TOKEN_FONT, "text-anchor": "end", class: "query" }));
  });
  names.columns.forEach((text, column) => {
    if (column % step) return;
    const x = left + (column + 0.5) * cell + 4;
    element.append(label(text, 0, 0, { ...TOKEN_FONT, class: "key", transform: `translate(${x} ${top - 6}) rotate(-90)` }));
  });
  const cells = svg("g", { class: "cells", transform: `translate(${left} ${top})`, "shape-rendering": "crispEdges" });
  if (Math.max(rows, columns) <= MOST_SHAPES) addShapes(cells, matrix, scale, cell);
  else addPicture(cells, matrix, scale, cell);
  element.append(cells, pins(view, matrix, left, top, cell));
  element.append(colourBar(scale, left, bottom + 14));
  return { element, width, height: bottom + 14 + COLOUR_BAR_HEIGHT };
}

/** Names of rows and columns; of a pooled map, those of the first token of each block. */
function labelsOf(view, { blocks }) {
  const { queries, keys } = view.lens();
  const short = (text) => shortened(text, 20);
  if (!blocks) return { rows: queries.map((each) => short(each.label)), columns: keys.map((each) => short(each.label)) };
  const first = (tokens) => (block) => `${short(tokens[block[0]])}${block.length > 1 ? " …" : ""}`;
  return { rows: blocks.rows.map(first(view.stack.queries)), columns: blocks.columns.map(first(view.stack.keys)) };
}

function addShapes(cells, { rows, columns, values }, scale, cell) {
  for (let row = 0; row < rows; row++) {
    const rowMax = largest(values.subarray(row * columns, (row + 1) * columns));
    for (let column = 0; column < columns; column++) {
      const value = values[row * columns + column];
      const fill = Number.isNaN(value) ? "url(#hatch)" : cividisCss(scaled(value, scale, rowMax));
      cells.append(svg("rect", { x: column * cell, y: row * cell, width: cell, height: cell, fill }));
    }
  }
}

function addPicture(cells, matrix, scale, cell) {
  const { rows, columns } = matrix;
  const picture = cellPicture(matrix, { row: 0, column: 0, rows, columns }, scale, { rows, columns });
  cells.append(svg("image", {
    href: picture.toDataURL("image/png"), width: columns * cell, height: rows * cell,
    preserveAspectRatio: "none", style: "image-rendering: pixelated",
  }));
}

function pins(view, { rows, columns, blocks }, left, top, cell) {
  const group = svg("g", { class: "pins", fill: "none", stroke: ACCENT, "stroke-width": 2 });
  if (blocks) return group;
  const add = (row, column, height, width) => group.append(svg("rect", {
    x: left + column * cell, y: top + row * cell, width: width * cell, height: height * cell,
  }));
  const { pinned } = view;
  for (const row of pinned.rows) add(row, 0, 1, columns);
  for (const column of pinned.columns) add(0, column, rows, 1);
  if (pinned.cell) add(pinned.cell[0], pinned.cell[1], 1, 1);
  return group;
}
