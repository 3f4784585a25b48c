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
  const { layer, head } = view.state, { detail } = view.stack;
  const which = `layer ${layer + 1}, ${headsName(heads)}`;
  const hasCome = detail?.layer === layer && detail.heads.includes(head);
  if (view.host.answers && !hasCome) return `Fetching the weights of ${which} …`;
  const where = view.host.answers ? "there are" : "this file holds";
  if (hasCome && !heads.includes(head)) {
    return `There are no lines for ${which}: of a text this long, ${where} the weights of the open head only.`;
  }
  return (
    `There are no lines for ${which}: of a text this long, ${where} only small pictures of the weights. ` +
    "The matrix shows them."
  );
}

/**
 * What the numbers beside the tokens are, and what else there is to know about the lines.
 * @param {object} shown
 * @param {number[]} shown.drawn the heads, and `matrices`, what they hold.
 * @param {number[]} shown.rows, columns whose weights the numbers are; `cell`: or the one weight.
 * @param {number[]} shown.counts of how many heads each of the numbers is the mean.
 */
export function noteText(view, shown) {
  const { drawn, matrices, rows, cell } = shown;
  return [
    numbersText(view, shown),
    removedText(view, matrices, rows.length ? rows : cell && [cell[0]]),
    noNumberText(drawn, matrices),
  ].filter(Boolean).join(" ");
}

function numbersText(view, { drawn, rows, columns, cell, counts }) {
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
  return `Weights ${parts.join("; and ")}${drawn.length > 1 ? meanText(counts) : ""}.`;
}

/** Of how many heads the numbers are a mean: of those that have a number there. */
function meanText(counts) {
  const some = counts.filter((count) => count > 0);
  if (!some.length) return "";
  const least = Math.min(...some), most = Math.max(...some);
  return ` (mean of ${least === most ? "" : `${least} to `}${most} head${most > 1 ? "s" : ""})`;
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
