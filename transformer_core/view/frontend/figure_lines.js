// Lines as a figure: two columns of tokens, the strongest edges between them, and which colour is which head.

import { headColour } from "./colours.js";
import { ACCENT, FAINT, label, svg, textWidth, TITLE_FONT, TOKEN_FONT } from "./figure_svg.js";
import { lineOpacity } from "./raster.js";
import { shortened } from "./tokens.js";
import { edgesOf } from "./weights.js";

const ROW = 20, SPAN = 460, TOP = 46;

/**
 * @param {number[]} heads of the open layer, whose weights are all here.
 * @returns {{element: SVGElement, width: number, height: number}}
 */
export function linesFigure(view, heads) {
  const { stack, pinned } = view;
  const { queries, keys } = view.lens();
  const names = { queries: queries.map(shownLabel), keys: keys.map(shownLabel) };
  const widest = (texts) => Math.max(0, ...texts.map((text) => textWidth(text, TOKEN_FONT)));
  const titles = { query: `query (row): ${stack.queryLabel}`, key: `key (column): ${stack.keyLabel}` };
  const left = Math.ceil(Math.max(widest(names.queries), textWidth(titles.query, TITLE_FONT))) + 16;
  const right = left + SPAN;
  const width = Math.ceil(right + 16 + Math.max(widest(names.keys), textWidth(titles.key, TITLE_FONT)));
  const element = svg("g", {});
  element.append(
    label(titles.query, left - 6, TOP - 12, { ...TITLE_FONT, "text-anchor": "end" }),
    label(titles.key, right + 6, TOP - 12, TITLE_FONT),
  );
  // The shorter column is centred, as on screen.
  const longer = Math.max(queries.length, keys.length);
  const middleOf = ({ length }) => (place) => TOP + (place + 0.5 + (longer - length) / 2) * ROW;
  const ends = { left, right, row: middleOf(queries), column: middleOf(keys) };
  heads.forEach((head, place) => element.append(lines(view, head, ends, besideEachOther(heads.length, place))));
  addTokens(element, names.queries, new Set(pinned.rows), { x: left - 6, anchor: "end", name: "query" }, ends.row);
  addTokens(element, names.keys, new Set(pinned.columns), { x: right + 6, anchor: "start", name: "key" }, ends.column);
  const bottom = TOP + (longer + 0.5) * ROW;
  element.append(legend(heads, left, bottom, width));
  return { element, width, height: bottom + 20 * Math.ceil(heads.length / headsInRow(left, width)) + 4 };
}

function shownLabel({ label: text }) {
  return shortened(text, 24);
}

/** How wide the lines of one of several heads are, and how far below the middle: none may hide another. */
function besideEachOther(count, place) {
  const share = (0.6 * ROW) / count, width = share >= 2 ? 2 : 1;
  return { width, shift: Math.min(width + 1, share) * (place - (count - 1) / 2) };
}

/** The edges of a head: with pins, those of the pinned tokens alone. */
function lines(view, head, { left, right, row: ofRow, column: ofColumn }, { width, shift }) {
  const { layer } = view.state, { pinned } = view;
  const { css, dash } = headColour(head, false);
  const look = { stroke: css, "stroke-width": width, "stroke-dasharray": dash.join(" ") };
  const group = svg("g", { class: `head-${head + 1}`, ...look });
  const add = (row, column, value) => {
    if (!(value > 0)) return;
    const place = { x1: left, y1: ofRow(row) + shift, x2: right, y2: ofColumn(column) + shift };
    group.append(svg("line", { ...place, "stroke-opacity": lineOpacity(value).toFixed(3) }));
  };
  if (pinned.cell) {
    const matrix = view.matrix(layer, head);
    add(...pinned.cell, matrix.values[pinned.cell[0] * matrix.columns + pinned.cell[1]]);
  }
  const hasPins = pinned.rows.length + pinned.columns.length > 0;
  if (pinned.cell && !hasPins) return group;
  const all = view.edges(layer, head);
  const edges = hasPins ? edgesOf(all, pinned.rows, pinned.columns) : all;
  for (let edge = 0; edge < edges.count; edge++) add(edges.rows[edge], edges.columns[edge], edges.values[edge]);
  return group;
}

function addTokens(element, names, pinned, { x, anchor, name }, middle) {
  names.forEach((text, place) => {
    const look = pinned.has(place) ? { "font-weight": "bold", fill: ACCENT } : {};
    element.append(label(text, x, middle(place) + 4, { ...TOKEN_FONT, ...look, "text-anchor": anchor, class: name }));
  });
}

const LEGEND = 74;

function headsInRow(left, width) {
  return Math.max(1, Math.floor((width - left) / LEGEND));
}

/** A line and a number for each head. */
function legend(heads, left, top, width) {
  const group = svg("g", { class: "legend" });
  const inRow = headsInRow(left, width);
  heads.forEach((head, i) => {
    const x = left + (i % inRow) * LEGEND, y = top + 20 * Math.floor(i / inRow);
    const { css, dash } = headColour(head, false);
    const style = { stroke: css, "stroke-width": 3, "stroke-dasharray": dash.join(" ") };
    group.append(svg("line", { x1: x, x2: x + 20, y1: y, y2: y, ...style }));
    group.append(label(`head ${head + 1}`, x + 24, y + 4, { fill: FAINT, "font-size": 11 }));
  });
  return group;
}
