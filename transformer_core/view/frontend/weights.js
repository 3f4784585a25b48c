// What is computed from the weights: filters, words, sums, the strongest. No drawing, no state.

import { WEIGHTS } from "./payload.js";

/**
 * @typedef {{label: string, members: number[], isSpecial: boolean}} Group tokens that are shown as one
 * @typedef {{queries: Group[], keys: Group[], isIdentity: boolean}} Lens
 * @typedef {{rows: number, columns: number, values: Float32Array, removed: Float32Array, hasNaN: boolean,
 *   blocks: null | {rows: number[][], columns: number[][]}}} Matrix `blocks`: the tokens behind each row and column of a
 *   pooled map, to which the lens does not apply; null where they are those of the lens.
 */

/**
 * What filters leave of a stack's tokens.
 * @returns {Lens} a row for each group of queries, a column for each group of keys.
 */
export function lensOf(stack, { hideSpecial, mergeWords }) {
  const queries = groups(stack.queries, stack.queryWords, stack.querySpecial, hideSpecial, mergeWords);
  const keys = groups(stack.keys, stack.keyWords, stack.keySpecial, hideSpecial, mergeWords);
  const isIdentity = queries.length === stack.queries.length && keys.length === stack.keys.length;
  return { queries, keys, isIdentity };
}

function groups(labels, words, special, hideSpecial, mergeWords) {
  const found = [];
  let word = null;
  // Where there are special tokens only, hiding them would leave nothing to see.
  const hide = hideSpecial && special.size < labels.length;
  labels.forEach((label, position) => {
    const isSpecial = special.has(position);
    if (hide && isSpecial) return;
    if (mergeWords && !isSpecial && words[position] === word) {
      const last = found[found.length - 1];
      last.label += label.replace(/^##/, "");
      last.members.push(position);
    } else {
      found.push({ label, members: [position], isSpecial });
    }
    word = isSpecial ? null : words[position];
  });
  return found;
}

/**
 * One head as the lens shows it. Hidden keys are left out and rows made to sum to what they summed to before; the
 * weights to a merged word are summed, those from one averaged (Clark et al. 2019, arXiv 1906.04341, section 4), so that
 * rows sum to 1.
 * @returns {Matrix} `removed` is the share of each row that went to hidden keys.
 */
export function matrixOf(stack, layer, head, lens) {
  const map = stack.map(layer, head);
  if (map.isPooled) return pooledMatrix(stack, map);
  const whole = plainMatrix(map, stack.sumsToOne);
  return lens.isIdentity ? whole : filteredMatrix(whole, lens);
}

function filteredMatrix(whole, lens) {
  const rows = lens.queries.length, columns = lens.keys.length;
  const values = new Float32Array(rows * columns), removed = new Float32Array(rows);
  const kept = new Float64Array(columns);
  for (let row = 0; row < rows; row++) {
    const { members } = lens.queries[row];
    for (const query of members) {
      const start = query * whole.columns;
      let total = 0, shown = 0;
      for (let key = 0; key < whole.columns; key++) total += whole.values[start + key];
      for (let column = 0; column < columns; column++) {
        let sum = 0;
        for (const key of lens.keys[column].members) sum += whole.values[start + key];
        kept[column] = sum;
        shown += sum;
      }
      // A row that is no numbers stays so, as a whole.
      const factor = shown > 0 || Number.isNaN(total) ? total / shown : 0;
      for (let column = 0; column < columns; column++) {
        values[row * columns + column] += (kept[column] * factor) / members.length;
      }
      removed[row] += (total > 0 ? 1 - shown / total : 0) / members.length;
    }
  }
  return { rows, columns, values, removed, hasNaN: values.some(Number.isNaN), blocks: null };
}

/** One head as small as it was sent: all heads of a stack have the same size so. */
export function smallMatrixOf(stack, layer, head) {
  return pooledMatrix(stack, stack.thumbnail(layer, head));
}

function pooledMatrix(stack, map) {
  return { ...plainMatrix(map), blocks: stack.blocks(map) };
}

function plainMatrix({ codes, rows, columns }, sumsToOne = false) {
  const values = new Float32Array(codes.length);
  let hasNaN = false;
  for (let i = 0; i < codes.length; i++) {
    values[i] = WEIGHTS[codes[i]];
    hasNaN ||= codes[i] === 255;
  }
  if (sumsToOne) for (let row = 0; row < rows; row++) settle(values.subarray(row * columns, (row + 1) * columns));
  return { rows, columns, values, removed: new Float32Array(rows), hasNaN, blocks: null };
}

/**
 * Make a row sum to 1 again. Rounding to a byte leaves many equal small weights all too small or all too large; what is
 * missing is spread in proportion to what rounding can have taken from each, which is the square root of the weight.
 */
function settle(row) {
  let sum = 0, roots = 0;
  for (let key = 0; key < row.length; key++) {
    sum += row[key];
    roots += Math.sqrt(row[key]);
  }
  // A row of zeros may attend to nothing, and one with NaN has no sum.
  if (!(roots > 0)) return;
  const share = (1 - sum) / roots;
  for (let key = 0; key < row.length; key++) row[key] += share * Math.sqrt(row[key]);
}

/**
 * The mean or the maximum, cell by cell, over matrices of one size.
 * @param {Matrix[]} matrices one at least.
 * @param {"mean"|"max"} how
 */
export function combined(matrices, how) {
  const { rows, columns, blocks } = matrices[0];
  const values = new Float32Array(rows * columns), removed = new Float32Array(rows);
  const fold = how === "max" ? (a, b) => (Number.isNaN(b) || b > a ? b : a) : (a, b) => a + b / matrices.length;
  for (const matrix of matrices) {
    for (let i = 0; i < values.length; i++) values[i] = fold(values[i], matrix.values[i]);
    for (let row = 0; row < rows; row++) removed[row] += matrix.removed[row] / matrices.length;
  }
  return { rows, columns, values, removed, hasNaN: matrices.some((matrix) => matrix.hasNaN), blocks };
}

/**
 * Of each row the largest weights, until they make up `share` of the row's mass.
 * @returns {{count: number, rows: Uint16Array, columns: Uint16Array, values: Float32Array}} row by row, the largest
 *   weight of a row first. Rows that are no numbers, or all zero, have none.
 */
export function strongestEdges(matrix, share) {
  const { rows, columns, values } = matrix;
  const found = { rows: new Uint16Array(rows * columns), columns: new Uint16Array(rows * columns) };
  const weights = new Float32Array(rows * columns);
  // Sorting numbers is much faster than sorting places: a weight and its column in one number, the weight above.
  const order = new Float64Array(columns);
  let count = 0;
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    let total = 0;
    for (let column = 0; column < columns; column++) {
      total += values[start + column];
      order[column] = -Math.round(values[start + column] * 2 ** 30) * 2 ** 16 + column;
    }
    if (!(total > 0)) continue;
    order.sort();
    // A hair less than asked for, so that rounding does not add the smallest weights of a row at share 1.
    const wanted = total * share * (1 - 1e-6);
    let mass = 0;
    for (let rank = 0; rank < columns && mass < wanted; rank++) {
      const column = ((order[rank] % 65536) + 65536) % 65536;
      const value = values[start + column];
      if (!(value > 0)) break;
      mass += value;
      found.rows[count] = row;
      found.columns[count] = column;
      weights[count++] = value;
    }
  }
  // Copies: these are kept for every head that is looked at, without the room for all that might have been found.
  return {
    count,
    rows: found.rows.slice(0, count),
    columns: found.columns.slice(0, count),
    values: weights.slice(0, count),
  };
}

/**
 * The largest weights above zero, the largest first, and the first in reading order of equal ones. A row with only one
 * key that it may attend to has its whole weight there, which says nothing: such rows come after all others.
 * @returns {{row: number, column: number, value: number}[]} at most so many.
 */
export function strongestPairs({ rows, columns, values }, most) {
  const ofChoice = [], others = [];
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    let positive = 0;
    for (let column = 0; column < columns; column++) positive += values[start + column] > 0 ? 1 : 0;
    const found = positive > 1 ? ofChoice : others;
    for (let column = 0; column < columns; column++) {
      const value = values[start + column];
      // There can be millions of values, of which few get further than here.
      if (!(value > 0) || (found.length === most && value <= found[most - 1].value)) continue;
      const after = found.findIndex((pair) => pair.value < value);
      found.splice(after < 0 ? found.length : after, 0, { row, column, value });
      found.length = Math.min(found.length, most);
    }
  }
  return [...ofChoice, ...others].slice(0, most);
}

/** The first of these; null where no weight is a number above zero. */
export function strongestPair(matrix) {
  return strongestPairs(matrix, 1)[0] ?? null;
}

/** What each row gives and each column gets in all. */
export function marginals({ rows, columns, values }) {
  const sums = { rows: new Float32Array(rows), columns: new Float32Array(columns) };
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      sums.rows[row] += values[row * columns + column];
      sums.columns[column] += values[row * columns + column];
    }
  }
  return sums;
}

/**
 * What the pinned rows give to each column, and the pinned columns get from each row, summed.
 * @returns {{columns: Float32Array | null, rows: Float32Array | null}} null where nothing is pinned on that side.
 */
export function summed({ rows, columns, values }, pinnedRows, pinnedColumns) {
  const toColumns = pinnedRows.length ? new Float32Array(columns) : null;
  const fromRows = pinnedColumns.length ? new Float32Array(rows) : null;
  for (const row of pinnedRows) {
    for (let column = 0; column < columns; column++) toColumns[column] += values[row * columns + column];
  }
  for (const column of pinnedColumns) {
    for (let row = 0; row < rows; row++) fromRows[row] += values[row * columns + column];
  }
  return { columns: toColumns, rows: fromRows };
}

/**
 * The same of several matrices of one size, on average. Where a matrix has no number, the mean is over the others.
 * @returns {{columns: Float32Array | null, rows: Float32Array | null, counts: {columns: number[], rows: number[]}}}
 *   `counts`: of how many matrices each is the mean.
 */
export function meanSummed(matrices, pinnedRows, pinnedColumns) {
  const sums = matrices.map((matrix) => summed(matrix, pinnedRows, pinnedColumns));
  const counts = { columns: [], rows: [] };
  const mean = (side) => {
    if (!sums[0][side]) return null;
    return sums[0][side].map((_, place) => {
      const numbers = sums.map((sum) => sum[side][place]).filter((number) => !Number.isNaN(number));
      counts[side].push(numbers.length);
      return numbers.length ? numbers.reduce((total, number) => total + number, 0) / numbers.length : NaN;
    });
  };
  return { columns: mean("columns"), rows: mean("rows"), counts };
}

/** Those edges that start in one of the rows or end in one of the columns. */
export function edgesOf(edges, rows, columns) {
  const fromRows = new Set(rows), toColumns = new Set(columns);
  const kept = [];
  for (let edge = 0; edge < edges.count; edge++) {
    if (fromRows.has(edges.rows[edge]) || toColumns.has(edges.columns[edge])) kept.push(edge);
  }
  return {
    count: kept.length,
    rows: Uint16Array.from(kept, (edge) => edges.rows[edge]),
    columns: Uint16Array.from(kept, (edge) => edges.columns[edge]),
    values: Float32Array.from(kept, (edge) => edges.values[edge]),
  };
}

/** The smallest weight that the logarithmic scale tells from 0. */
export const SMALLEST = 1e-4;

/**
 * Where a weight lies on a colour scale, from 0 to 1.
 * @param {"linear"|"square root"|"log"|"row"} scale "row": the share of the row's largest weight.
 */
export function scaled(value, scale, rowMax) {
  if (scale === "linear") return value;
  if (scale === "log") return value <= SMALLEST ? 0 : 1 - Math.log(value) / Math.log(SMALLEST);
  if (scale === "row") return rowMax > 0 ? value / rowMax : 0;
  return Math.sqrt(value);
}
