// What the lines show, in words.

import { listed, quoted } from "./names.js";

/**
 * One sentence that says what is drawn.
 * @param {{drawn: number[], rows: number[], columns: number[], count: number}} drawing heads, pins, and lines in all.
 */
export function drawnName(view, { drawn, rows, columns, count }) {
  const { state, stack } = view;
  const where = `${stack.title}, layer ${state.layer + 1}, ${headsName(drawn)}`;
  const pins = [pinnedName("query", "queries", rows), pinnedName("key", "keys", columns)].filter(Boolean);
  const which = pins.length ? `, of ${pins.join(" and ")}` : "";
  const lines = count === 1 ? "1 line" : `${count.toLocaleString("en")} lines`;
  return `${where}: ${lines}, the strongest weights that make up ${percentText(state.share)} of each row${which}.`;
}

/** Why no lines can be drawn of some heads; empty where they can be of all. */
export function missingText(view, heads) {
  if (!heads.length) return "";
  const { layer } = view.state;
  if (view.host.answers) return `Fetching the weights of layer ${layer + 1}, ${headsName(heads)} …`;
  return (
    `There are no lines for layer ${layer + 1}, ${headsName(heads)}: of a text this long, this file holds only small ` +
    "pictures of the weights. The matrix shows them."
  );
}

/**
 * What the numbers beside the tokens are, and what else there is to know about the lines.
 * @param {object} shown
 * @param {number[]} shown.drawn the heads, and `matrices`, what they hold.
 * @param {number[]} shown.rows, columns whose weights the numbers are; `cell`: or the one weight.
 */
export function noteText(view, { drawn, matrices, rows, columns, cell }) {
  return [
    numbersText(view, drawn, rows, columns, cell),
    removedText(view, matrices, rows.length ? rows : cell && [cell[0]]),
    noNumberText(drawn, matrices),
  ].filter(Boolean).join(" ");
}

function numbersText(view, drawn, rows, columns, cell) {
  const { queries, keys } = view.lens();
  const parts = [];
  if (rows.length === 1) parts.push(`from the query ${quoted(queries[rows[0]].label)}`);
  if (rows.length > 1) parts.push(`from ${rows.length} queries, sum of ${rows.length} rows`);
  if (columns.length === 1) parts.push(`to the key ${quoted(keys[columns[0]].label)}`);
  if (columns.length > 1) parts.push(`to ${columns.length} keys, sum of ${columns.length} columns`);
  if (cell && !parts.length) {
    parts.push(`from the query ${quoted(queries[cell[0]].label)} to the key ${quoted(keys[cell[1]].label)}`);
  }
  if (!parts.length) {
    return `The strongest weights of each query, up to ${percentText(view.state.share)} of its row; more opaque is larger.`;
  }
  const mean = drawn.length > 1 ? ` (mean of ${drawn.length} heads)` : "";
  return `Weights ${parts.join("; and ")}${mean}.`;
}

/** How much of a row went to hidden keys: of these rows, or of all. */
function removedText(view, matrices, rows) {
  if (!view.state.hideSpecial) return "";
  const each = matrices.flatMap(({ removed }) => (rows ? rows.map((row) => removed[row]) : [...removed]));
  const numbers = each.filter((share) => !Number.isNaN(share));
  if (!numbers.some((share) => share > 0)) return "";
  const mean = numbers.reduce((total, share) => total + share, 0) / numbers.length;
  const whose = rows?.length === 1 ? "of this row" : "of a row on average";
  return `Hidden special tokens had ${percentText(mean)} ${whose}.`;
}

function noNumberText(drawn, matrices) {
  const heads = drawn.filter((_, place) => matrices[place].hasNaN);
  if (!heads.length) return "";
  return `Weights of ${headsName(heads)} are not numbers (NaN): these are not drawn.`;
}

/** "head 1", or "heads 1, 3 to 5". */
function headsName(heads) {
  return `${heads.length > 1 ? "heads" : "head"} ${listed(heads)}`;
}

function pinnedName(one, several, places) {
  if (!places.length) return "";
  return places.length === 1 ? `the pinned ${one} ${places[0] + 1}` : `${places.length} pinned ${several}`;
}

function percentText(share) {
  return `${Math.round(100 * share)} %`;
}
