// The lines between two columns of tokens, as pixels: those that stay, and above them those of what the pointer is on.

import { element } from "./elements.js";
import { LineRaster, lineOpacity } from "./raster.js";

/** Height of the pieces that a picture is painted in, in pixels of the page. */
const PIECE_HEIGHT = 256;

/** Milliseconds that painting may take at once. Shorter ones come to more: between any two the page is shown anew. */
const SLICE = 40;

const SVG_NAMES = "http://www.w3.org/2000/svg";

/**
 * Lines in one colour.
 * @typedef {object} Strokes
 * @property {() => {count: number, rows: Uint16Array, columns: Uint16Array, values: Float32Array}} edges
 * @property {number[]} rgb
 * @property {number[]} dash as `headColour` has it.
 * @property {number} shift how much lower than the tokens' middles the lines are, in pixels of the page.
 */

export class LinesPicture {
  /** @param {() => void} finished called when painting that took several frames has ended. */
  constructor(finished) {
    this.finished = finished;
    this.element = element("div", "links");
    this.base = element("div", "base");
    this.over = element("canvas", "over");
    this.over.hidden = true;
    this.cell = svgElement("svg", { class: "cell" });
    this.cellLine = svgElement("line", {});
    this.cellText = svgElement("text", { "text-anchor": "middle" });
    this.cell.append(this.cellLine, this.cellText);
    this.element.append(this.base, this.over, this.cell);
    this.element.setAttribute("aria-hidden", "true");
    this.pieces = [];
    this.work = null;
    this.timer = 0;
  }

  /** Whether some of the lines are still to come. */
  get isBusy() {
    return this.work !== null;
  }

  /**
   * @param {number} width, height in pixels of the page.
   * @param {import("./raster.js").Ends} ends in pixels of the page.
   */
  resize(width, height, ends) {
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    this.ends = ends;
    this.width = Math.max(Math.round(width * this.ratio), 1);
    this.element.style.height = `${height}px`;
    while (this.pieces.length > Math.ceil(height / PIECE_HEIGHT)) this.pieces.pop().canvas.remove();
    for (let number = 0; number * PIECE_HEIGHT < height; number++) {
      const piece = (this.pieces[number] ??= this.#piece());
      fitCanvas(piece.canvas, this.width, Math.round(Math.min(PIECE_HEIGHT, height - number * PIECE_HEIGHT) * this.ratio), this.ratio);
      piece.top = number * PIECE_HEIGHT;
    }
  }

  /**
   * Paint lines in the place of those that are there: first what is in view. What takes longer goes on a little later.
   * @param {Strokes[]} strokes
   * @param {number} width of a line, in pixels of the page.
   * @param {{top: number, bottom: number}} visible
   */
  paint(strokes, width, visible) {
    clearTimeout(this.timer);
    // It holds half a picture.
    if (this.work) this.raster = null;
    const distance = ({ top }) => Math.max(visible.top - top - PIECE_HEIGHT, top - visible.bottom, 0);
    const pieces = [...this.pieces].sort((a, b) => distance(a) - distance(b));
    this.work = this.#painting(pieces, strokes, width);
    this.#goOn();
  }

  /** Paint lines above the others, in view only, until the next call. Without lines, the others are as before. */
  paintOver(strokes, width, visible) {
    const height = Math.round((visible.bottom - visible.top) * this.ratio);
    this.over.hidden = !strokes.length || height < 1;
    if (this.over.hidden) return;
    fitCanvas(this.over, this.width, height, this.ratio);
    this.over.style.top = `${visible.top}px`;
    this.overRaster = sizedRaster(this.overRaster, this.width, height);
    for (const each of strokes) this.#add(this.overRaster, each, width, visible.top);
    this.over.getContext("2d").putImageData(this.overRaster.picture(), 0, 0);
  }

  /** Whether the lines that stay step back. */
  fade(isFaded) {
    this.base.classList.toggle("faded", isFaded);
  }

  /** Draw one edge on its own, with a text in its middle; null: none. */
  showCell(cell, text) {
    this.cell.toggleAttribute("hidden", !cell);
    if (!cell) return;
    const { rows, columns } = this.ends;
    const from = rows.start + rows.step * cell[0], to = columns.start + columns.step * cell[1];
    setAttributes(this.cellLine, { x1: 0, y1: from, x2: this.width / this.ratio, y2: to });
    setAttributes(this.cellText, { x: this.width / this.ratio / 2, y: (from + to) / 2 - 5 });
    this.cellText.textContent = text;
  }

  #piece() {
    const canvas = element("canvas");
    this.base.append(canvas);
    return { canvas, top: 0 };
  }

  *#painting(pieces, strokes, width) {
    // The last piece is lower: what is below it is painted for nothing.
    this.raster = sizedRaster(this.raster, this.width, Math.round(PIECE_HEIGHT * this.ratio));
    for (const { canvas, top } of pieces) {
      for (const each of strokes) {
        this.#add(this.raster, each, width, top);
        yield;
      }
      canvas.getContext("2d").putImageData(this.raster.picture(), 0, 0);
    }
  }

  #goOn() {
    const start = performance.now();
    let isDone = false;
    while (!isDone && performance.now() - start < SLICE) isDone = this.work.next().done;
    if (isDone) {
      this.work = null;
    } else {
      // Not in the next frame: much of each would be spent waiting.
      this.timer = setTimeout(() => {
        this.#goOn();
        if (!this.work) this.finished();
      });
    }
  }

  #add(raster, { edges, rgb, dash, shift }, width, top) {
    const { ratio } = this;
    const scaled = ({ start, step }) => ({ start: (start + shift - top) * ratio, step: step * ratio });
    const ends = { rows: scaled(this.ends.rows), columns: scaled(this.ends.columns) };
    const style = {
      width: Math.max(Math.round(width * ratio), 1),
      dash: dash.map((length) => length * ratio),
      opacity: lineOpacity,
    };
    raster.add(edges(), ends, style);
    raster.mix(rgb);
  }
}

/** The raster, or another one if that has not this size. */
function sizedRaster(raster, width, height) {
  return raster?.width === width && raster.height === height ? raster : new LineRaster(width, height);
}

function fitCanvas(canvas, width, height, ratio) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  canvas.style.width = `${width / ratio}px`;
  canvas.style.height = `${height / ratio}px`;
}

function svgElement(tag, attributes) {
  return setAttributes(document.createElementNS(SVG_NAMES, tag), attributes);
}

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
