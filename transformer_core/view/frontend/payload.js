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
   * cells is the largest of a block.
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
    return { codes, rows, columns, isPooled: rows < this.queries.length || columns < this.keys.length };
  }

  /** The rows and columns of the whole stack's map that this part shows; of a pooled map, the cells they are in. */
  #part(map) {
    const rows = placesIn(this.partRows, map.rows, this.whole.queries.length);
    const columns = placesIn(this.partColumns, map.columns, this.whole.keys.length);
    const codes = new Uint8Array(rows.length * columns.length);
    rows.forEach((row, i) => columns.forEach((column, j) => {
      codes[i * columns.length + j] = map.codes[row * map.columns + column];
    }));
    return { codes, rows: rows.length, columns: columns.length, isPooled: map.isPooled };
  }
}

/** Places of a pooled axis that hold these tokens; without tokens, all of them. */
function placesIn(tokens, places, numTokens) {
  if (tokens === null) return Array.from({ length: places }, (_, place) => place);
  if (places === numTokens) return tokens;
  const starts = Array.from({ length: places }, (_, place) => Math.floor((place * numTokens) / places));
  const placeOf = (token) => starts.findLastIndex((start) => start <= token);
  return [...new Set(tokens.map(placeOf))];
}
