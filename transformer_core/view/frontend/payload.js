// What the server sends once: tokens and sizes as JSON, and every weight in one byte.

const LEVELS = 254;

/** The weight behind each code: (code / 254)^2. 255 stands for a weight that is not a number. */
export const WEIGHTS = Float32Array.from({ length: 256 }, (_, code) => (code > LEVELS ? NaN : (code / LEVELS) ** 2));

/** An inspection: its stacks, and what they are of. */
export class Payload {
  /**
   * @param {object} meta as transformer_core/view/payload.py writes it.
   * @param {Uint8Array} codes the maps of all heads, stack after stack.
   */
  constructor(meta, codes) {
    this.meta = meta;
    this.stacks = [];
    for (const description of meta.stacks) {
      const whole = this.stacks.find((stack) => stack.name === description.part_of) ?? null;
      this.stacks.push(new Stack(description, codes, whole, meta.detail));
    }
  }

  /** The stack of that name, or the first one. */
  stack(name) {
    return this.stacks.find((stack) => stack.name === name) ?? this.stacks[0];
  }
}

/** The attention of all layers of one stack: rows are queries, columns are keys. */
export class Stack {
  constructor(description, codes, whole, detail) {
    this.name = description.name;
    this.title = description.title;
    this.queryLabel = description.query_label;
    this.keyLabel = description.key_label;
    this.queries = description.queries;
    this.keys = description.keys;
    this.querySpecial = new Set(description.query_special);
    this.keySpecial = new Set(description.key_special);
    this.queryWords = description.query_words;
    this.keyWords = description.key_words;
    this.heads = description.heads;
    this.sumsToOne = description.sums_to_one;
    this.whole = whole;
    this.partRows = description.part_rows;
    this.partColumns = description.part_columns;
    this.rows = description.rows;
    this.columns = description.columns;
    this.offset = description.offset;
    this.codes = codes;
    this.detail = detail && detail.stack === (whole ?? this).name ? detail : null;
  }

  get numLayers() {
    return this.heads.length;
  }

  /** The largest number of heads of a layer. */
  get mostHeads() {
    return Math.max(...this.heads);
  }

  numHeads(layer) {
    return this.heads[layer];
  }

  /**
   * The codes of one head, row by row. A pooled map has fewer rows and columns than there are tokens: each of its
   * cells is the largest of a block, see `blocks`.
   * @returns {{codes: Uint8Array, rows: number, columns: number, isPooled: boolean}}
   */
  map(layer, head) {
    if (this.whole) return this.#part(this.whole.map(layer, head));
    const { detail } = this;
    const place = detail && detail.layer === layer ? detail.heads.indexOf(head) : -1;
    if (place >= 0) {
      return this.#slice(detail.offset + place * detail.rows * detail.columns, detail.rows, detail.columns);
    }
    return this.thumbnail(layer, head);
  }

  /** The same as small as it was sent: for a picture of all heads. */
  thumbnail(layer, head) {
    if (this.whole) return this.#part(this.whole.thumbnail(layer, head));
    let number = head;
    for (let before = 0; before < layer; before++) number += this.heads[before];
    return this.#slice(this.offset + number * this.rows * this.columns, this.rows, this.columns);
  }

  #slice(start, rows, columns) {
    const codes = this.codes.subarray(start, start + rows * columns);
    const isPooled = rows < this.queries.length || columns < this.keys.length;
    return { codes, rows, columns, isPooled, part: null };
  }

  /** The rows and columns of the whole stack's map that this part shows; of a pooled map, the cells they are in. */
  #part(map) {
    const rows = gathered(this.partRows, map.rows, this.whole.queries.length);
    const columns = gathered(this.partColumns, map.columns, this.whole.keys.length);
    const numRows = rows.places.length, numColumns = columns.places.length;
    const codes = new Uint8Array(numRows * numColumns);
    rows.places.forEach((row, i) => columns.places.forEach((column, j) => {
      codes[i * numColumns + j] = map.codes[row * map.columns + column];
    }));
    const part = { rows: rows.blocks, columns: columns.blocks };
    return { codes, rows: numRows, columns: numColumns, isPooled: map.isPooled, part };
  }

  /** The tokens behind each row and each column of a map. @returns {{rows: number[][], columns: number[][]}} */
  blocks(map) {
    return map.part ?? {
      rows: gathered(null, map.rows, this.queries.length).blocks,
      columns: gathered(null, map.columns, this.keys.length).blocks,
    };
  }
}

/** Where on an axis of so many places each of its tokens is, as transformer_core/inspection/thumbnails.py cuts it. */
function placesOfTokens(count, numTokens) {
  const starts = Array.from({ length: count + 1 }, (_, place) => Math.floor((place * numTokens) / count));
  return starts.slice(0, -1).flatMap((start, place) => new Array(starts[place + 1] - start).fill(place));
}

/**
 * The cells of a whole axis that hold these tokens (without tokens: all), and which of the tokens each of them holds.
 * @returns {{places: number[], blocks: number[][]}} tokens counted among those given.
 */
function gathered(tokens, count, numTokens) {
  const placeOf = placesOfTokens(count, numTokens);
  const blocks = new Map();
  (tokens ?? placeOf.map((_, token) => token)).forEach((token, i) => {
    const place = placeOf[token];
    if (blocks.has(place)) blocks.get(place).push(i);
    else blocks.set(place, [i]);
  });
  return { places: [...blocks.keys()], blocks: [...blocks.values()] };
}
