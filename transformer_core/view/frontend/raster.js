// Lines as pixels. A browser without a graphics card takes up to a tenth of a millisecond to stroke one long line on a
// canvas, and a layer has tens of thousands.

/** Depths are looked up in steps of 1/128, up to where nothing shines through any more. */
const DEPTH_STEPS = 128;
const DEEPEST_DEPTH = 8;
const ALPHA_OF_DEPTH = Uint8Array.from({ length: DEPTH_STEPS * DEEPEST_DEPTH + 1 }, (_, step) =>
  Math.round(255 * (1 - Math.exp(-step / DEPTH_STEPS))),
);

/** Additions for each pixel of a picture up to which most of it counts as empty. */
const SPARSE = 0.1;

/** How much of the ground a line of this weight hides: its square root, so that small weights can be seen. */
export function lineOpacity(weight) {
  return Math.min(Math.sqrt(weight), 0.97);
}

/**
 * Where on a picture lines end, in pixels from its top: row i at `rows.start + i * rows.step` on the left edge, column
 * j at `columns.start + j * columns.step` on the right edge.
 * @typedef {{rows: {start: number, step: number}, columns: {start: number, step: number}}} Ends
 */

/**
 * A picture of lines from its left edge to its right edge, in one colour after the other.
 *
 * Every line adds its depth to the pixels that it runs over. A pixel of depth d lets exp(-d) of the ground through, and
 * has the mean colour of what was added to it, by depth: the order in which lines and colours come makes no difference.
 */
export class LineRaster {
  /** @param {number} width, height in pixels of the device. */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** Pixels beyond the edges, so that lines that end there need no checks. */
    this.margin = 8;
    this.stride = width + 2 * this.margin;
    const pixels = this.stride * (height + 2 * this.margin);
    this.added = new Float32Array(pixels);
    /** How often one of its pixels was added to since the last `mix`. */
    this.additions = 0;
    // Depth, and red, green and blue times depth.
    this.mixed = new Float32Array(4 * pixels);
    this.image = new ImageData(width, height);
  }

  /**
   * Add a line for each edge. They have no colour before `mix`.
   * @param {{count: number, rows: Uint16Array, columns: Uint16Array, values: Float32Array}} edges
   * @param {Ends} ends
   * @param {{width: number, dash: number[], opacity: (weight: number) => number}} style width of a line in whole
   *   pixels, 1 to 6; lengths of dashes and gaps in pixels, none for solid lines; opacity from 0 to below 1.
   */
  add(edges, { rows, columns }, { width, dash, opacity }) {
    // A line is held by the upper edge of what it covers.
    const shift = -width / 2;
    for (let edge = 0; edge < edges.count; edge++) {
      const from = rows.start + rows.step * edges.rows[edge] + shift;
      const to = columns.start + columns.step * edges.columns[edge] + shift;
      if (Math.max(from, to) < -width || Math.min(from, to) >= this.height) continue;
      this.#line(from, to, -Math.log(1 - opacity(edges.values[edge])), width, dash);
    }
  }

  /** Give all that was added since the last time a colour: red, green and blue from 0 to 255. */
  mix([red, green, blue]) {
    const { added, mixed } = this;
    // To leave out empty pixels is slower where there are many others: a processor guesses wrong too often then.
    const isSparse = this.additions < added.length * SPARSE;
    if (isSparse) {
      for (let pixel = 0; pixel < added.length; pixel++) {
        if (added[pixel] !== 0) mixPixel(added, mixed, pixel, red, green, blue);
      }
    } else {
      for (let pixel = 0; pixel < added.length; pixel++) mixPixel(added, mixed, pixel, red, green, blue);
    }
    this.additions = 0;
  }

  /** The picture of what was mixed, on nothing. The raster is empty afterwards; the next picture takes this one's place. */
  picture() {
    const { width, height, stride, margin, mixed } = this;
    const pixels = new Uint32Array(this.image.data.buffer);
    for (let y = 0, pixel = 0; y < height; y++) {
      let place = 4 * ((y + margin) * stride + margin);
      for (let x = 0; x < width; x++, pixel++, place += 4) {
        const depth = mixed[place];
        if (depth === 0) {
          pixels[pixel] = 0;
          continue;
        }
        const alpha = ALPHA_OF_DEPTH[depth < DEEPEST_DEPTH ? (depth * DEPTH_STEPS + 0.5) | 0 : DEPTH_STEPS * DEEPEST_DEPTH];
        // Half a step more, as what is behind the point is cut off.
        const red = mixed[place + 1] / depth + 0.5;
        const green = mixed[place + 2] / depth + 0.5;
        const blue = mixed[place + 3] / depth + 0.5;
        pixels[pixel] = (alpha << 24) | (blue << 16) | (green << 8) | red;
      }
    }
    mixed.fill(0);
    return this.image;
  }

  /** One line from the left edge to the right one, in dashes. */
  #line(from, to, depth, width, dash) {
    const slope = (to - from) / Math.max(this.width - 1, 1);
    const isSteep = Math.abs(slope) > 1;
    // A line goes by whole pixels along its longer side: by columns where it is flat, by rows where it is steep.
    const steps = isSteep ? Math.abs(to - from) : this.width - 1;
    if (!dash.length) {
      this.#piece(isSteep, from, slope, 0, steps, depth, width);
      return;
    }
    const perStep = isSteep ? Math.hypot(1, 1 / slope) : Math.hypot(1, slope);
    for (let start = 0, part = 0; start <= steps; part = (part + 1) % dash.length) {
      const end = start + dash[part] / perStep;
      if (part % 2 === 0) this.#piece(isSteep, from, slope, start, Math.min(end, steps), depth, width);
      start = end;
    }
  }

  #piece(isSteep, from, slope, first, last, depth, width) {
    if (isSteep) this.#steep(from, slope, first, last, depth, width);
    else this.#flat(from, slope, first, last, depth, width);
  }

  #flat(from, slope, first, last, depth, width) {
    if (slope !== 0) {
      const top = (-width - from) / slope, bottom = (this.height - from) / slope;
      first = Math.max(first, Math.min(top, bottom));
      last = Math.min(last, Math.max(top, bottom));
    }
    first = Math.ceil(first);
    const start = this.margin * (this.stride + 1) + first;
    this.#walk(start, 1, this.stride, from + slope * first, slope, Math.floor(last) - first, depth, width);
  }

  #steep(from, slope, first, last, depth, width) {
    const middle = from + width / 2, row = Math.floor(middle), direction = Math.sign(slope);
    first = Math.ceil(Math.max(first, direction > 0 ? -row : row - this.height + 1));
    last = Math.floor(Math.min(last, direction > 0 ? this.height - 1 - row : row));
    const start = this.margin * (this.stride + 1) + (row + direction * first) * this.stride;
    const offset = (row + direction * first + 0.5 - middle) / slope + 0.5 - width / 2;
    this.#walk(start, direction * this.stride, 1, offset, 1 / Math.abs(slope), last - first, depth, width);
  }

  /**
   * Cover `width` pixels across a line, spread over width + 1 of them, at each of its steps from 0 to `last`.
   * @param {number} along, across from a pixel to the next one in the direction of the line, and across it.
   * @param {number} offset, rise how far across the line begins, and how much further it is at each step.
   */
  #walk(start, along, across, offset, rise, last, depth, width) {
    const { added, margin } = this;
    this.additions += Math.max(last + 1, 0) * (width + 1);
    // Above zero, where cutting off what is behind the point is rounding down, which is much faster than Math.floor.
    start -= margin * across;
    offset += margin;
    for (let step = 0; step <= last; step++, start += along, offset += rise) {
      const whole = offset | 0, part = offset - whole;
      let pixel = start + whole * across;
      added[pixel] += depth * (1 - part);
      for (let more = 1; more < width; more++) added[(pixel += across)] += depth;
      added[pixel + across] += depth * part;
    }
  }
}

function mixPixel(added, mixed, pixel, red, green, blue) {
  const depth = added[pixel], place = 4 * pixel;
  added[pixel] = 0;
  mixed[place] += depth;
  mixed[place + 1] += depth * red;
  mixed[place + 2] += depth * green;
  mixed[place + 3] += depth * blue;
}
