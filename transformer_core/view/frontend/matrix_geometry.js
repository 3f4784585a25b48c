// Where everything of a matrix lies, in CSS pixels. Labels never overlap: they turn, then some of them give way.

/** How thick the bars of sums are drawn, and their distance from the cells. */
const STRIP = 34, GAP = 6;

/** Sides of a cell, in heights of a letter. */
const MOST_CELL = 3.4;

/** How narrow a matrix may get before its cells stop being square, in heights of a letter. */
const LEAST_SIDE = 8;

const DIAGONAL = Math.SQRT1_2;

/**
 * @typedef {object} Geometry
 * @property {number} left @property {number} top the corner of the first cell
 * @property {number} cellWidth @property {number} cellHeight
 * @property {number} cellsWidth @property {number} cellsHeight all cells together
 * @property {number} width @property {number} height of the whole drawing
 * @property {"level"|"slanted"|"upright"} turn how column labels are written
 * @property {number} rowStep @property {number} columnStep every how many rows and columns there is room for a label
 * @property {{left: number, top: number, size: number}} rowStrip @property {{left, top, size}} columnStrip
 * @property {number} line the height of a line of text
 */

/**
 * @param {object} given
 * @param {string[]} given.rowLabels @param {string[]} given.columnLabels as they are written
 * @param {number} given.width @param {number} given.height the room there is; the matrix stays within its width, and
 *   within its height where that leaves every weight a pixel.
 * @param {number} given.fontSize @param {(text: string) => number} given.measure width of a text
 * @param {number} given.pixel size of a pixel of the screen
 * @returns {Geometry}
 */
export function matrixGeometry(given) {
  for (const turn of ["level", "slanted"]) {
    const geometry = turnedGeometry(turn, given);
    if (geometry.columnStep === 1) return geometry;
  }
  return turnedGeometry("upright", given);
}

function turnedGeometry(turn, { rowLabels, columnLabels, width, height, fontSize, measure, pixel }) {
  const rows = rowLabels.length, columns = columnLabels.length;
  const line = Math.ceil(fontSize * 1.3);
  const widest = (labels) => Math.ceil(Math.max(0, ...labels.map(measure)));
  const columnText = widest(columnLabels);
  const slanted = Math.ceil((columnText + fontSize) * DIAGONAL);
  const left = line + widest(rowLabels) + 8;
  const top = line + { level: line, slanted, upright: columnText }[turn] + 4;
  const right = Math.max(GAP + STRIP, turn === "slanted" ? slanted : 0) + 2;
  const bottom = GAP + STRIP + 2;
  const room = { width: Math.max(width - left - right, line), height: height - top - bottom };
  const [cellWidth, cellHeight] = cellSize(rows, columns, room, fontSize, pixel);
  const cellsWidth = columns * cellWidth, cellsHeight = rows * cellHeight;
  const needed = { level: columnText + 6, slanted: (fontSize * 1.2) / DIAGONAL, upright: line }[turn];
  return {
    left, top, cellWidth, cellHeight, cellsWidth, cellsHeight, turn, line,
    width: left + cellsWidth + right,
    height: top + cellsHeight + bottom,
    rowStep: Math.ceil(line / cellHeight),
    columnStep: Math.ceil(needed / cellWidth),
    rowStrip: { left: left + cellsWidth + GAP, top, size: STRIP },
    columnStrip: { left, top: top + cellsHeight + GAP, size: STRIP },
  };
}

/** Width and height of a cell: square where possible, and whole pixels where there are enough of them. */
function cellSize(rows, columns, room, fontSize, pixel) {
  const most = fontSize * MOST_CELL;
  const fitWidth = Math.min(room.width / columns, most);
  const fitHeight = Math.min(Math.max(room.height / rows, Math.min(pixel, fitWidth)), most);
  const square = snapped(Math.min(fitWidth, fitHeight), fitWidth, pixel);
  const least = fontSize * LEAST_SIDE;
  return [Math.max(square, Math.min(fitWidth, least / columns)), Math.max(square, Math.min(fitHeight, least / rows))];
}

/** Few pixels are rounded, because without the fraction of one the whole would be much smaller. */
function snapped(size, room, pixel) {
  if (size < pixel) return size;
  const pixels = size / pixel < 6 ? Math.round(size / pixel) : Math.floor(size / pixel);
  return Math.min(pixels, Math.floor(room / pixel)) * pixel;
}

/**
 * What is at a point of the drawing.
 * @returns {{row: number | null, column: number | null} | null} a cell; a row where the point is on its label or its
 *   sum; a column; or nothing. Counted from the first row and column that are drawn.
 */
export function placeAt(geometry, x, y) {
  const { left, top, cellsWidth, cellsHeight, cellWidth, cellHeight, rowStrip, columnStrip } = geometry;
  const column = Math.floor((x - left) / cellWidth), row = Math.floor((y - top) / cellHeight);
  const isColumn = x >= left && x < left + cellsWidth, isRow = y >= top && y < top + cellsHeight;
  if (isRow && isColumn) return { row, column };
  if (isRow && (x < left || (x >= rowStrip.left && x < rowStrip.left + rowStrip.size))) return { row, column: null };
  if (isColumn && y >= columnStrip.top && y < columnStrip.top + columnStrip.size) return { row: null, column };
  if (y < top && y >= geometry.line) return labelAt(geometry, x, y);
  return null;
}

/** The column whose label is at a point above the cells: labels that are slanted lead away from their column. */
function labelAt({ left, top, cellWidth, cellsWidth, turn }, x, y) {
  const foot = turn === "slanted" ? x - (top - y) : x;
  return foot >= left && foot < left + cellsWidth ? { row: null, column: Math.floor((foot - left) / cellWidth) } : null;
}
