// One line that says in words what is selected, and the same for who cannot see the drawings.

import { joinsHeads } from "./choosing.js";
import { element } from "./elements.js";
import { quoted, shownName } from "./names.js";
import { MAX_PINS } from "./state.js";
import { strongestPair, strongestPairs, summed } from "./weights.js";

/** Tokens that a list of the strongest names. */
const NAMED = 3;

/** Pairs that the summary for screen readers names. */
const SUMMARISED = 5;

/** Characters of a token. */
const LONGEST = 24;

/** Milliseconds without a change after which the selection is read out. */
const READ_AFTER = 400;

export function createReadout(view) {
  const root = element("div", "readout");
  const line = element("div", "selected"), note = element("div", "note");
  const spoken = element("div", "for-screen-readers"), summary = element("div", "for-screen-readers summary");
  spoken.setAttribute("role", "status");
  summary.setAttribute("role", "region");
  summary.setAttribute("aria-label", "Strongest pairs");
  root.append(line, note, spoken, summary);
  let reading = 0;
  view.ended.signal.addEventListener("abort", () => clearTimeout(reading));

  function show() {
    const selection = selected(view);
    line.textContent = selection.text;
    note.textContent = selection.notes.join(" ");
  }

  // Not for every hover, and not for every step of many: only what is selected in the end.
  function read() {
    const { text, notes } = settled(view);
    spoken.textContent = [text, ...notes].join(" ");
    summary.replaceChildren(...summaryOf(view));
  }

  return {
    element: root,
    update() {
      show();
      clearTimeout(reading);
      reading = setTimeout(read, READ_AFTER);
    },
    hover: show,
    describe: () => line.textContent,
  };
}

/** What is under the pointer, or else what is pinned, or else the strongest of the open head. */
function selected(view) {
  const { hover } = view;
  if (!hover) return settled(view);
  if (hover.layer !== undefined) return aboutHead(view, view.payload.stack(hover.stack), hover.layer, hover.head);
  return aboutTokens(view, hover);
}

function settled(view) {
  const { rows, columns } = view.pinned;
  const cell = pinnedPair(view);
  if (cell) return aboutTokens(view, { query: cell[0], key: cell[1] });
  if (rows.length || columns.length) {
    const { text, notes } = aboutPins(view, rows, columns);
    return { text, notes: [...notes, ...limitOfPins(view)] };
  }
  return aboutStrongest(view);
}

/** The one pair that the pins name. */
function pinnedPair(view) {
  const { rows, columns, cell } = view.pinned;
  return cell ?? (rows.length === 1 && columns.length === 1 ? [rows[0], columns[0]] : null);
}

/** "Cross, layer 3, head 1", or which heads and layers are joined. */
function placeName({ state, stack }) {
  return `${stack.title}, ${shownName(joinsHeads(state) ? state : { ...state, combine: "head" })}`;
}

function aboutStrongest(view) {
  const matrix = view.shownMatrix();
  if (matrix.blocks) return aboutBlocks(view);
  const pair = strongestPair(matrix);
  if (!pair) return { text: `${placeName(view)}. ${withoutWeights(matrix)}`, notes: [] };
  const text = `${placeName(view)}. ${strongestOf(view, view.lens(), pair)}`;
  return { text, notes: removedOnAverage(view, matrix) };
}

/** A map that is not here in full: of a pair the largest weight around it is known, of a row or column nothing. */
function aboutBlocks(view, query, key) {
  const { queries, keys } = view.lens();
  const size = `${view.stack.queries.length} × ${view.stack.keys.length}`;
  const notes = [`${size} tokens: a cell shows the largest weight of a block.`];
  const place = placeName(view);
  if (query === undefined && key === undefined) return { text: `${place}.`, notes };
  if (key === undefined) return { text: `${place}. Query ${named(queries, query, "row")}.`, notes };
  if (query === undefined) return { text: `${place}. Key ${named(keys, key, "column")}.`, notes };
  const { blocks, columns, values } = view.shownMatrix();
  const row = blocks.rows.findIndex((tokens) => tokens.includes(queries[query].members[0]));
  const column = blocks.columns.findIndex((tokens) => tokens.includes(keys[key].members[0]));
  const most = weight(view, values[row * columns + column]);
  return { text: `${place}. ${arrow(queries, keys, query, key)}: at most ${most}${exactly(view, query, key)}`, notes };
}

function withoutWeights({ hasNaN }) {
  return hasNaN ? "Its weights are not numbers." : "All its weights are zero.";
}

/** A head of the overview. */
function aboutHead(view, stack, layer, head) {
  const place = `${stack.title}, layer ${layer + 1}, head ${head + 1}`;
  const matrix = view.matrix(layer, head, stack);
  if (matrix.blocks) return { text: `${place}.`, notes: [] };
  const pair = strongestPair(matrix);
  if (!pair) return { text: `${place}. ${withoutWeights(matrix)}`, notes: [] };
  return { text: `${place}. ${strongestOf(view, view.lens(stack), pair)}`, notes: [] };
}

function strongestOf(view, { queries, keys }, { row, column, value }) {
  return `Strongest: ${arrow(queries, keys, row, column)}: ${weight(view, value)}`;
}

/** A pair, a row or a column. */
function aboutTokens(view, { query, key }) {
  const matrix = view.shownMatrix();
  const { queries, keys } = view.lens();
  const place = placeName(view);
  if (matrix.blocks) return aboutBlocks(view, query, key);
  if (query !== undefined && key !== undefined) {
    const value = matrix.values[query * matrix.columns + key];
    const text = `${place}. ${arrow(queries, keys, query, key)}: ${weight(view, value)}${exactly(view, query, key)}`;
    return { text, notes: removedFrom(matrix, query) };
  }
  if (query !== undefined) {
    const row = matrix.values.subarray(query * matrix.columns, (query + 1) * matrix.columns);
    const text = `${place}. Query ${named(queries, query, "row")}: ${strongest(view, row, keys, "to")}`;
    return { text, notes: removedFrom(matrix, query) };
  }
  const column = Float32Array.from({ length: matrix.rows }, (_, row) => matrix.values[row * matrix.columns + key]);
  const sum = column.reduce((total, value) => total + value, 0);
  const text = `${place}. Key ${named(keys, key, "column")}: ${strongest(view, column, queries, "from")}`;
  return { text, notes: [`From all rows together ${weight(view, sum)}.`] };
}

/** Several pinned rows or columns: their sums. */
function aboutPins(view, rows, columns) {
  const matrix = view.shownMatrix();
  const { queries, keys } = view.lens();
  if (matrix.blocks) return aboutBlocks(view);
  if (!columns.length && rows.length === 1) return aboutTokens(view, { query: rows[0] });
  if (!rows.length && columns.length === 1) return aboutTokens(view, { key: columns[0] });
  const sums = summed(matrix, rows, columns);
  const place = placeName(view);
  if (!columns.length) {
    const text = `${place}. Queries ${some(queries, rows)} together: ${strongest(view, sums.columns, keys, "to")}`;
    return { text, notes: [`${rows.length} rows, summed.`] };
  }
  if (!rows.length) {
    const text = `${place}. Keys ${some(keys, columns)} together: ${strongest(view, sums.rows, queries, "from")}`;
    return { text, notes: [`${columns.length} columns, summed.`] };
  }
  const total = columns.reduce((sum, column) => sum + sums.columns[column], 0);
  const text = `${place}. Queries ${some(queries, rows)} → keys ${some(keys, columns)}: ${weight(view, total)} in all`;
  return { text, notes: [`${rows.length} × ${columns.length} weights, summed.`] };
}

function limitOfPins({ state }) {
  const isFull = [state.pinnedQueries, state.pinnedKeys].some((pins) => pins.length === MAX_PINS);
  return isFull ? [`No more than ${MAX_PINS} can be pinned on a side.`] : [];
}

/** "Query “nicht” (row 5) → key “didn” (column 4)". */
function arrow(queries, keys, row, column) {
  return `Query ${named(queries, row, "row")} → key ${named(keys, column, "column")}`;
}

function named(groups, place, noun) {
  return `${tokenIn(groups, place)} (${noun} ${place + 1})`;
}

function tokenIn(groups, place) {
  return quoted(groups[place].label, LONGEST);
}

/** The first few of several tokens. */
function some(groups, places) {
  const first = places.slice(0, NAMED).map((place) => tokenIn(groups, place)).join(", ");
  return places.length > NAMED ? `${first} and ${places.length - NAMED} more` : first;
}

/** The largest of a row or column, with what they belong to. */
function strongest(view, values, groups, preposition) {
  if (values.some(Number.isNaN)) return "its weights are not numbers";
  const one = (place) => `${tokenIn(groups, place)} ${weight(view, values[place])}`;
  return `${preposition} ${placesOfLargest(values, NAMED).map(one).join(", ")}`;
}

/** Places of the largest numbers, the largest first; the first of equal ones. */
function placesOfLargest(values, most) {
  const places = [];
  for (let place = 0; place < values.length; place++) {
    const value = values[place];
    if (Number.isNaN(value) || (places.length === most && value <= values[places[most - 1]])) continue;
    const after = places.findIndex((each) => values[each] < value);
    places.splice(after < 0 ? places.length : after, 0, place);
    places.length = Math.min(places.length, most);
  }
  return places;
}

function weight(view, value) {
  return view.weightText(value);
}

/** The float32 value, which only the host has, of the pair that is pinned. */
function exactly(view, query, key) {
  const cell = view.currentAnswer?.cell;
  if (!cell || joinsHeads(view.state)) return "";
  const { queries, keys } = view.lens();
  const isThis = queries[query].members.includes(cell.query) && keys[key].members.includes(cell.key);
  if (!isThis) return "";
  if (cell.weight === null) return " (not a number)";
  const { hideSpecial, mergeWords } = view.state;
  const isFiltered = !view.lens().isIdentity && (hideSpecial || mergeWords);
  return ` (exact ${cell.weight.toPrecision(4)}${isFiltered ? ", before tokens were hidden or merged" : ""})`;
}

function removedFrom({ removed }, row) {
  const percent = Math.round(removed[row] * 100);
  return percent ? [`${percent} % of the row went to hidden tokens and is spread over the others.`] : [];
}

function removedOnAverage(view, { removed, rows }) {
  if (!view.state.hideSpecial) return [];
  const percent = Math.round((removed.reduce((sum, each) => sum + each, 0) / rows) * 100);
  return percent ? [`${percent} % of an average row went to hidden tokens and is spread over the others.`] : [];
}

/** The strongest pairs of what is shown, and what there is in all. */
function summaryOf(view) {
  const matrix = view.shownMatrix();
  const { queries, keys } = view.lens();
  const parts = [];
  if (!matrix.blocks) {
    const list = element("ol");
    for (const { row, column, value } of strongestPairs(matrix, SUMMARISED)) {
      list.append(element("li", "", `${arrow(queries, keys, row, column)}: ${weight(view, value)}`));
    }
    parts.push(element("p", "", `${placeName(view)}, strongest pairs:`), list);
  }
  return [...parts, element("p", "", view.overview.describe())];
}
