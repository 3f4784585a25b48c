// Thumbnails of all heads: which there are, where each lies, and its picture.

import { cividis, headColour, NO_NUMBER, packed } from "./colours.js";
import { largest } from "./matrix_paint.js";
import { WEIGHTS } from "./payload.js";
import { LineRaster, lineOpacity } from "./raster.js";
import { scaled, strongestEdges } from "./weights.js";

/** Side of a thumbnail with the space after it, in pixels. Smaller ones would show nothing; a few need not be huge. */
const LEAST_PITCH = 13, MOST_PITCH = 120;

/** The most that thumbnails grow to where they need a scroll bar anyway. */
const MOST_SCROLLED = 26;

/** Pixels between tables. */
const APART = 14;

/** Pixels of a picture for each point of a column, where heads are drawn as lines. */
const PIXELS_A_POINT = 2;

const THIN = { width: 1, dash: [], opacity: lineOpacity };

const NOT_A_NUMBER = 255;

/**
 * @typedef {{stack: Stack, left: number, top: number, width: number, height: number}} Part what of a thumbnail is one
 *   stack's, as shares of its side
 * @typedef {{title: string, layers: number, heads: number, parts: Part[]}} Table a row a layer, a column a head
 * @typedef {{x: number, y: number}} Place in CSS pixels
 * @typedef {{tables: (Table & Place)[], pitch: number, size: number, edge: number, top: number, em: number,
 *   width: number, height: number}} Layout where the tables lie: thumbnails of `size` every `pitch` pixels, after `edge`
 *   pixels for the layers' numbers and `top` for title and heads' numbers
 */

/** Whether encoder, decoder and cross attention are there, which together make one square. */
export function hasBlocks({ stacks }) {
  return ["encoder", "decoder", "cross"].every((name) => stacks.some((stack) => stack.name === name));
}

/**
 * What the overview shows: the whole stacks. A part of a stack takes its place while it is open.
 * @returns {Table[]}
 */
export function tablesOf(view) {
  const { payload, stack: open } = view;
  if (view.state.arrangement === "blocks" && hasBlocks(payload)) return [blockTable(view)];
  const shown = payload.stacks.filter((stack) => !stack.whole).map((stack) => (stack === open.whole ? open : stack));
  return shown.map((stack) => tableOf(stack.title, [{ stack, left: 0, top: 0, width: 1, height: 1 }]));
}

function tableOf(title, parts) {
  const layers = Math.max(...parts.map(({ stack }) => stack.numLayers));
  return { title, layers, heads: Math.max(...parts.map(({ stack }) => stack.mostHeads)), parts };
}

/** One square a head: all queries below each other, all keys beside each other; the encoder never reads the decoder. */
function blockTable(view) {
  const [encoder, decoder, cross] = ["encoder", "decoder", "cross"].map((name) => {
    return view.stack.whole?.name === name ? view.stack : view.payload.stack(name);
  });
  const source = view.lens(encoder).keys.length, target = view.lens(decoder).keys.length;
  const split = source / (source + target);
  return tableOf("Encoder, cross, decoder", [
    { stack: encoder, left: 0, top: 0, width: split, height: split },
    { stack: cross, left: 0, top: split, width: split, height: 1 - split },
    { stack: decoder, left: split, top: split, width: 1 - split, height: 1 - split },
  ]);
}

/**
 * The tables in as many columns as make the thumbnails largest in a box. Where even the smallest do not fit, the layout
 * is higher (or, at worst, wider) than the box.
 * @param {Table[]} tables
 * @param {number} em size of the text
 * @returns {Layout}
 */
export function laidOut(tables, width, height, em) {
  const frame = { em, edge: Math.round(1.7 * em), top: Math.round(2.5 * em) };
  const layouts = tables.map((_, index) => inColumns(tables, index + 1, width, height, frame));
  const fitting = layouts.filter(({ fits }) => fits);
  return (fitting.length ? fitting : layouts).reduce((best, each) => (each.pitch > best.pitch ? each : best));
}

function inColumns(tables, across, width, height, { em, edge, top }) {
  const lines = [];
  for (let first = 0; first < tables.length; first += across) lines.push(tables.slice(first, first + across));
  const byWidth = Math.min(...lines.map((line) => {
    const heads = line.reduce((sum, table) => sum + table.heads, 0);
    return (width - line.length * edge - (line.length - 1) * APART) / heads;
  }));
  const layers = lines.map((line) => Math.max(...line.map((table) => table.layers)));
  const inAll = layers.reduce((sum, each) => sum + each, 0);
  const byHeight = (height - lines.length * top - (lines.length - 1) * APART) / inAll;
  const fits = Math.min(byWidth, byHeight) >= LEAST_PITCH;
  const wanted = fits ? Math.min(byWidth, byHeight, MOST_PITCH) : Math.min(byWidth, MOST_SCROLLED);
  const pitch = Math.max(Math.floor(wanted), LEAST_PITCH);
  const placed = [];
  let y = 0, widest = 0;
  lines.forEach((line, index) => {
    let x = 0;
    for (const table of line) {
      placed.push({ ...table, x, y });
      x += edge + table.heads * pitch + APART;
    }
    widest = Math.max(widest, x - APART);
    y += top + layers[index] * pitch + APART;
  });
  const size = pitch - Math.max(2, Math.min(5, Math.round(pitch / 10)));
  return { tables: placed, pitch, size, edge, top, em, width: Math.max(widest, 8 * em), height: y - APART, fits };
}

/** Where a head's thumbnail lies, or what of it is one stack's. */
export function boxOf(layout, table, part, layer, head) {
  const { pitch, size, edge, top } = layout;
  return {
    x: table.x + edge + head * pitch + part.left * size,
    y: table.y + top + layer * pitch + part.top * size,
    width: part.width * size,
    height: part.height * size,
  };
}

/** The box of {stack, layer, head} wherever it lies, or null where it is not shown. */
export function boxOfHead(layout, stackName, layer, head) {
  for (const table of layout.tables) {
    for (const part of table.parts) {
      if (part.stack.name === stackName && hasHead(part.stack, layer, head)) {
        return boxOf(layout, table, part, layer, head);
      }
    }
  }
  return null;
}

/** The head at a place, as {stack, layer, head}, or null. The space between two thumbnails belongs to the nearer. */
export function headAt(layout, x, y) {
  const { pitch, size, edge, top } = layout;
  const half = (pitch - size) / 2;
  for (const table of layout.tables) {
    const across = x - table.x - edge + half, down = y - table.y - top + half;
    const layer = Math.floor(down / pitch), head = Math.floor(across / pitch);
    const left = (across - head * pitch - half) / size, below = (down - layer * pitch - half) / size;
    const part = table.parts.find((each) => {
      return isInside(left, each.left, each.width) && isInside(below, each.top, each.height);
    });
    if (part && hasHead(part.stack, layer, head)) return { stack: part.stack.name, layer, head };
  }
  return null;
}

function isInside(at, start, length) {
  const place = Math.min(Math.max(at, 0), 1);
  return place >= start && (place < start + length || start + length >= 1);
}

function hasHead(stack, layer, head) {
  return layer >= 0 && layer < stack.numLayers && head >= 0 && head < stack.numHeads(layer);
}

/**
 * Paint all thumbnails.
 * @param {HTMLCanvasElement} canvas is given the layout's size.
 * @param {number} ratio pixels of the screen for each CSS pixel
 */
export function paintThumbnails(canvas, view, layout, ratio) {
  canvas.width = Math.round(layout.width * ratio);
  canvas.height = Math.round(layout.height * ratio);
  canvas.style.width = `${layout.width}px`;
  canvas.style.height = `${layout.height}px`;
  const context = canvas.getContext("2d");
  const paint = view.state.overview === "lines" ? linePainter(context, view, ratio) : mapPainter(context, view, ratio);
  for (const table of layout.tables) {
    for (const part of table.parts) {
      for (let layer = 0; layer < part.stack.numLayers; layer++) {
        for (let head = 0; head < part.stack.numHeads(layer); head++) {
          paint(screenBox(boxOf(layout, table, part, layer, head), part, ratio), part.stack, layer, head);
        }
      }
    }
  }
}

/** A box in pixels of the screen. Stacks that share a thumbnail are a pixel apart. */
function screenBox(box, part, ratio) {
  const x = Math.round(box.x * ratio), y = Math.round(box.y * ratio);
  const right = Math.round((box.x + box.width) * ratio) - (part.left + part.width < 1 ? 1 : 0);
  const bottom = Math.round((box.y + box.height) * ratio) - (part.top + part.height < 1 ? 1 : 0);
  return { x, y, width: Math.max(right - x, 1), height: Math.max(bottom - y, 1) };
}

function mapPainter(context, view, ratio) {
  const { scale } = view.state;
  const weights = WEIGHTS.subarray(0, NOT_A_NUMBER);
  const ofCodes = Uint32Array.from(weights, (weight) => packed(cividis(scaled(weight, scale, 1))));
  const ofShades = Uint32Array.from(weights, (_, code) => packed(cividis(code / (NOT_A_NUMBER - 1))));
  return (box, stack, layer, head) => {
    const isByCode = scale !== "row" && isAsSent(view, stack);
    const map = isByCode ? stack.thumbnail(layer, head) : shaded(view.matrix(layer, head, stack), scale);
    const image = mapPicture(map, box, isByCode ? ofCodes : ofShades, 3 * ratio);
    context.putImageData(image, box.x, box.y);
  };
}

/** Whether filters leave the maps of a stack as they were sent. Small pictures of large maps cannot be filtered. */
export function isAsSent(view, stack) {
  return view.lens(stack).isIdentity || stack.thumbnail(0, 0).isPooled;
}

/** Whether a stack has weights that are not numbers. */
export function hasNaN(stack) {
  for (let layer = 0; layer < stack.numLayers; layer++) {
    for (let head = 0; head < stack.numHeads(layer); head++) {
      if (stack.thumbnail(layer, head).codes.includes(NOT_A_NUMBER)) return true;
    }
  }
  return false;
}

/** A matrix in codes that grow evenly with a scale: 254 at its upper end, 255 for what is not a number. */
function shaded({ rows, columns, values }, scale) {
  const codes = new Uint8ClampedArray(rows * columns);
  for (let row = 0; row < rows; row++) {
    const inRow = values.subarray(row * columns, (row + 1) * columns);
    const most = largest(inRow);
    for (let column = 0; column < columns; column++) {
      const value = inRow[column];
      const shade = (NOT_A_NUMBER - 1) * Math.min(scaled(value, scale, most), 1);
      codes[row * columns + column] = Number.isNaN(value) ? NOT_A_NUMBER : shade;
    }
  }
  return { codes, rows, columns };
}

/** Cells become pixels: the largest of a block where there are more cells than pixels, else the one that is there. */
function mapPicture(map, { width, height }, colours, stripe) {
  const { codes, rows, columns } = pooled(map, height, width);
  const image = new ImageData(width, height), pixels = new Uint32Array(image.data.buffer);
  for (let y = 0, pixel = 0; y < height; y++) {
    const row = Math.floor((y * rows) / height) * columns;
    for (let x = 0; x < width; x++, pixel++) {
      const code = codes[row + Math.floor((x * columns) / width)];
      pixels[pixel] = code === NOT_A_NUMBER ? hatch(x, y, stripe) : colours[code];
    }
  }
  return image;
}

const HATCH = [packed(NO_NUMBER), packed(NO_NUMBER.map((channel) => channel + 56))];

/** Grey stripes, which no weight has. */
function hatch(x, y, stripe) {
  return HATCH[Math.floor((x + y) / stripe) % 2];
}

/**
 * A map with so many rows and columns at most; a cell is the largest code of its block. The largest, not a sample: a
 * single large weight is what a thumbnail is searched for. 255, not a number, is the largest.
 * @param {{codes: Uint8Array, rows: number, columns: number}} map
 */
export function pooled(map, mostRows, mostColumns) {
  if (map.rows <= mostRows && map.columns <= mostColumns) return map;
  const rows = Math.min(map.rows, mostRows), columns = Math.min(map.columns, mostColumns);
  const codes = new Uint8Array(rows * columns);
  const columnOf = Uint16Array.from({ length: map.columns }, (_, column) => blockOf(column, map.columns, columns));
  for (let row = 0, from = 0; row < map.rows; row++) {
    const to = blockOf(row, map.rows, rows) * columns;
    for (let column = 0; column < map.columns; column++, from++) {
      const code = map.codes[from];
      if (code > codes[to + columnOf[column]]) codes[to + columnOf[column]] = code;
    }
  }
  return { codes, rows, columns };
}

/** Of `blocks` nearly equal blocks, the one that holds a place: block b begins at floor(b * length / blocks). */
function blockOf(place, length, blocks) {
  return Math.ceil(((place + 1) * blocks) / length) - 1;
}

/** Of a map with a weight that is not a number, no lines are drawn. */
const NO_MAP = { codes: Uint8Array.of(NOT_A_NUMBER), rows: 1, columns: 1 };

/**
 * What paints the lines of a head into a box.
 * @param {{state, theme: {panel: string, isDark: boolean}, lens, matrix}} view or what has these of one
 */
export function linePainter(context, view, ratio) {
  const { theme, state } = view;
  const rasters = new Map();
  return (box, stack, layer, head) => {
    const { x, y, width, height } = box;
    const map = isAsSent(view, stack)
      ? stack.thumbnail(layer, head)
      : shaded(view.matrix(layer, head, stack), "square root");
    const points = Math.max(Math.floor(height / PIXELS_A_POINT), 1);
    const small = pooled(map, points, points);
    if (small.codes.includes(NOT_A_NUMBER)) {
      context.putImageData(mapPicture(NO_MAP, box, null, 3 * ratio), x, y);
      return;
    }
    const values = Float32Array.from(small.codes, (code) => WEIGHTS[code]);
    const edges = strongestEdges({ ...small, values }, state.share);
    const size = `${width} x ${height}`;
    if (!rasters.has(size)) rasters.set(size, new LineRaster(width, height));
    const raster = rasters.get(size);
    raster.add(edges, { rows: spread(small.rows, height), columns: spread(small.columns, height) }, THIN);
    raster.mix(headColour(head, theme.isDark).rgb);
    context.putImageData(raster.picture(), x, y);
    context.globalCompositeOperation = "destination-over";
    context.fillStyle = theme.panel;
    context.fillRect(x, y, width, height);
  };
}

/** So many points, evenly over a height. */
function spread(count, height) {
  return { start: height / count / 2, step: height / count };
}

/** Of how many weights, at most, a cell of a thumbnail is the largest, by rows and columns. */
export function poolingOf(view, layout, ratio) {
  const a = view.state.overview === "lines" ? PIXELS_A_POINT : 1;
  const ofParts = layout.tables.flatMap(({ parts }) => parts.map(({ stack, width, height }) => {
    const map = stack.thumbnail(0, 0), lens = view.lens(stack);
    const [queries, keys] = map.isPooled ? [stack.queries, stack.keys] : [lens.queries, lens.keys];
    const pixels = layout.size * ratio;
    return {
      rows: queries.length / Math.min(map.rows, queries.length, Math.max((height * pixels) / a, 1)),
      columns: keys.length / Math.min(map.columns, keys.length, Math.max(((a > 1 ? height : width) * pixels) / a, 1)),
    };
  }));
  return ofParts.reduce((most, each) => (each.rows * each.columns > most.rows * most.columns ? each : most));
}
