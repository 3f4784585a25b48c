// Painting a matrix on a canvas: cells, tokens, sums, and what is pointed at or pinned.

import { CIVIDIS, NO_NUMBER, cividisCss, packed } from "./colours.js";
import { SMALLEST, scaled } from "./weights.js";

/** Above every level that a number can have: what is not a number wins over its neighbours, so that it is seen. */
const NO_LEVEL = 256;

/** Space between a label and the cells. */
const MARGIN = 5;

/** What a colour scale is called, and where its ticks are. */
export const SCALE_TICKS = {
  linear: { name: "weight, linear scale", ticks: [0, 0.25, 0.5, 0.75, 1], text: String },
  "square root": { name: "weight, square root scale", ticks: [0, 0.05, 0.25, 0.5, 1], text: String },
  log: { name: "weight, logarithmic scale", ticks: [SMALLEST, 0.01, 0.1, 1], text: logTick },
  row: { name: "share of the row's largest weight", ticks: [0, 0.25, 0.5, 1], text: (x) => `${x * 100} %` },
};

function logTick(value) {
  return value === SMALLEST ? `≤ ${SMALLEST}` : String(value);
}

/** A weight as a step of the colour scale. @returns {number} 0 to 255, or NO_LEVEL. */
function levelOf(value, scale, rowMax) {
  if (Number.isNaN(value)) return NO_LEVEL;
  return Math.round(Math.min(Math.max(scaled(value, scale, rowMax), 0), 1) * 255);
}

/**
 * A picture with a pixel for each weight of an area; where that is more than there is room for, for the largest of a
 * block of weights.
 * @param {import("./weights.js").Matrix} matrix
 * @param {{row: number, column: number, rows: number, columns: number}} area
 * @param {{rows: number, columns: number}} most pixels.
 * @returns {HTMLCanvasElement}
 */
export function cellPicture(matrix, area, scale, most) {
  const rows = Math.max(1, Math.min(area.rows, most.rows)), columns = Math.max(1, Math.min(area.columns, most.columns));
  const levels = new Uint16Array(rows * columns);
  for (let i = 0; i < area.rows; i++) {
    const start = (area.row + i) * matrix.columns;
    const rowMax = scale === "row" ? largest(matrix.values.subarray(start, start + matrix.columns)) : 1;
    const into = Math.floor((i * rows) / area.rows) * columns;
    for (let j = 0; j < area.columns; j++) {
      const place = into + Math.floor((j * columns) / area.columns);
      const level = levelOf(matrix.values[start + area.column + j], scale, rowMax);
      if (level > levels[place]) levels[place] = level;
    }
  }
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const none = packed(NO_NUMBER);
  for (let i = 0; i < levels.length; i++) pixels[i] = levels[i] === NO_LEVEL ? none : CIVIDIS[levels[i]];
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The largest number, 0 where there is none above it. */
export function largest(values) {
  let found = 0;
  for (const value of values) if (value > found) found = value;
  return found;
}

/** The cells of an area of the matrix. `pixel`: size of a pixel of the screen, in units of the context. */
export function paintCells(context, geometry, matrix, area, scale, pixel) {
  const { left, top, cellsWidth, cellsHeight } = geometry;
  const most = { rows: Math.round(cellsHeight / pixel), columns: Math.round(cellsWidth / pixel) };
  context.imageSmoothingEnabled = false;
  context.drawImage(cellPicture(matrix, area, scale, most), left, top, cellsWidth, cellsHeight);
  if (matrix.hasNaN) hatch(context, geometry, matrix, area);
}

/** Strokes over what is not a number. */
function hatch(context, { left, top, cellWidth, cellHeight, cellsWidth, cellsHeight }, matrix, area) {
  if (Math.min(cellWidth, cellHeight) < 3) return;
  context.save();
  context.beginPath();
  for (let i = 0; i < area.rows; i++) {
    for (let j = 0; j < area.columns; j++) {
      if (!Number.isNaN(matrix.values[(area.row + i) * matrix.columns + area.column + j])) continue;
      context.rect(left + j * cellWidth, top + i * cellHeight, cellWidth, cellHeight);
    }
  }
  context.clip();
  context.beginPath();
  for (let x = -cellsHeight; x < cellsWidth; x += 6) {
    context.moveTo(left + x, top + cellsHeight);
    context.lineTo(left + x + cellsHeight, top);
  }
  context.lineWidth = 1;
  context.strokeStyle = "#fff";
  context.stroke();
  context.restore();
}

/** Tokens and names of both axes. */
export function paintAxes(context, geometry, { rowLabels, columnLabels, rowTitle, columnTitle }, look) {
  const { left, top, cellsWidth, cellsHeight, rowStep, columnStep, line } = geometry;
  context.fillStyle = look.ink;
  context.font = look.font;
  for (let i = 0; i < rowLabels.length; i += rowStep) rowLabel(context, geometry, i, rowLabels[i]);
  for (let j = 0; j < columnLabels.length; j += columnStep) columnLabel(context, geometry, j, columnLabels[j]);
  context.fillStyle = look.faint;
  context.font = look.titleFont;
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillText(columnTitle, Math.max(0, Math.min(left, left + cellsWidth - context.measureText(columnTitle).width)), 1);
  context.save();
  context.translate(1, Math.min(top + cellsHeight, Math.max(top + context.measureText(rowTitle).width, line)));
  context.rotate(-Math.PI / 2);
  context.fillText(rowTitle, 0, 0);
  context.restore();
}

function rowLabel(context, { left, top, cellHeight }, i, label) {
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(label, left - MARGIN, top + (i + 0.5) * cellHeight);
}

function columnLabel(context, geometry, j, label) {
  context.save();
  turnToColumn(context, geometry, j);
  context.textAlign = geometry.turn === "level" ? "center" : "left";
  context.textBaseline = "middle";
  context.fillText(label, 0, 0);
  context.restore();
}

/** Put the context where a column's label begins, turned as it is written. */
function turnToColumn(context, { left, top, cellWidth, turn, line }, j) {
  const middle = left + (j + 0.5) * cellWidth;
  if (turn === "level") return context.translate(middle, top - line / 2);
  context.translate(middle, top - MARGIN + 1);
  context.rotate(turn === "slanted" ? -Math.PI / 4 : -Math.PI / 2);
}

/**
 * A label once more, on a ground of its own: what is pointed at is readable though there is no room for its neighbours.
 * @param {"row"|"column"} side
 */
export function paintLabel(context, geometry, side, place, label, look) {
  const { left, top, cellHeight, line } = geometry;
  context.save();
  context.fillStyle = look.ground;
  coverNeighbours(context, geometry, side, place);
  context.font = look.boldFont;
  const width = context.measureText(label).width;
  const box = (x) => context.fillRect(x - 2, -line / 2, width + 4, line);
  context.textBaseline = "middle";
  if (side === "row") {
    context.translate(left - MARGIN, top + (place + 0.5) * cellHeight);
    box(-width);
    context.textAlign = "right";
  } else {
    turnToColumn(context, geometry, place);
    box(geometry.turn === "level" ? -width / 2 : 0);
    context.textAlign = geometry.turn === "level" ? "center" : "left";
  }
  context.fillStyle = look.colour;
  context.fillText(label, 0, 0);
  context.restore();
}

/** Hide the labels that this one would run into: half a label cannot be read. */
function coverNeighbours(context, { left, top, cellWidth, cellHeight, line, turn, rowStep, columnStep }, side, place) {
  if (side === "row") {
    for (const row of around(place, rowStep, line / cellHeight)) {
      context.fillRect(line, top + (row + 0.5) * cellHeight - line / 2, left - line - 1, line);
    }
  } else if (turn === "upright") {
    for (const column of around(place, columnStep, line / cellWidth)) {
      context.fillRect(left + (column + 0.5) * cellWidth - line / 2, line, line, top - line - 1);
    }
  }
}

/** The places that have a label though a place nearer than `distance` has one too. */
function around(place, step, distance) {
  const before = Math.floor(place / step) * step;
  return [before, before + step].filter((each) => each !== place && Math.abs(each - place) < distance);
}

/** Bars of sums: of each row at the right, of each column below. What is not a number has no bar. */
export function paintSums(context, geometry, rowSums, columnSums, colours) {
  const { rowStrip, columnStrip, cellWidth, cellHeight, cellsWidth, cellsHeight } = geometry;
  const rowMost = largest(rowSums), columnMost = largest(columnSums);
  const gap = (size) => (size > 4 ? 1 : 0);
  context.globalAlpha = 0.6;
  context.fillStyle = colours.rows;
  rowSums.forEach((sum, i) => {
    if (!(sum > 0)) return;
    const top = rowStrip.top + i * cellHeight;
    context.fillRect(rowStrip.left, top, (rowStrip.size * sum) / rowMost, cellHeight - gap(cellHeight));
  });
  context.fillStyle = colours.columns;
  columnSums.forEach((sum, j) => {
    if (!(sum > 0)) return;
    const left = columnStrip.left + j * cellWidth;
    context.fillRect(left, columnStrip.top, cellWidth - gap(cellWidth), (columnStrip.size * sum) / columnMost);
  });
  context.globalAlpha = 1;
  context.fillStyle = colours.line;
  context.fillRect(rowStrip.left - 1, rowStrip.top, 1, cellsHeight);
  context.fillRect(columnStrip.left, columnStrip.top - 1, cellsWidth, 1);
}

/** A frame around rows and columns, counted from the first that is drawn, that is seen on every colour of the scale. */
export function paintFrame(context, geometry, { row, column, rows, columns }, colour) {
  const { left, top, cellWidth, cellHeight } = geometry;
  const box = [left + column * cellWidth, top + row * cellHeight, columns * cellWidth, rows * cellHeight];
  context.lineWidth = 3;
  context.strokeStyle = "rgb(0 0 0 / 60%)";
  context.strokeRect(...box);
  context.lineWidth = 1.5;
  context.strokeStyle = colour;
  context.strokeRect(...box);
}

/** The name of a colour scale. */
export function scaleName(scale) {
  return SCALE_TICKS[scale].name;
}

/** A colour bar that runs to the right, with its ticks below. `top` of the bar, which is `height` thick. */
export function paintColourBar(context, box, scale, look) {
  const { left, top, width, height } = box;
  gradient(context, box);
  const { ticks, text } = SCALE_TICKS[scale];
  context.font = look.titleFont;
  context.fillStyle = look.faint;
  context.textBaseline = "top";
  ticks.forEach((tick, i) => {
    const x = left + scaled(tick, scale, 1) * width;
    context.fillRect(Math.min(x, left + width - 1), top + height, 1, 3);
    context.textAlign = i === 0 ? "left" : i === ticks.length - 1 ? "right" : "center";
    context.fillText(text(tick), x, top + height + 4);
  });
}

/** A colour bar with the numbers at its ends. */
export function paintColourRange(context, box, [low, high], look) {
  const { left, top, width, height } = box;
  gradient(context, box);
  context.font = look.titleFont;
  context.fillStyle = look.faint;
  context.textBaseline = "top";
  context.textAlign = "left";
  context.fillText(low, left, top + height + 4);
  context.textAlign = "right";
  context.fillText(high, left + width, top + height + 4);
}

function gradient(context, { left, top, width, height }) {
  for (let x = 0; x < width; x++) {
    context.fillStyle = cividisCss(x / (width - 1));
    context.fillRect(left + x, top, 1.5, height);
  }
}
