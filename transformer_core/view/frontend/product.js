// q·k: why a weight is what it is, from the products of a query and a key to the softmax of the row.

import { clearedContext, sizeCanvas } from "./canvas.js";
import { element } from "./elements.js";
import { quoted } from "./names.js";
import { barAt, paintBars, paintRow, paintRunningSum, strip } from "./product_paint.js";

/** Heights of the pictures in CSS pixels. */
const PRODUCTS = 120, RUNNING_SUM = 80, ROW = 44;

const IN_A_FILE =
  "Why a weight is what it is can be shown in the running app only: this file holds the weights, not the queries and " +
  "keys that they were computed from.";

/** @param {import("./view.js").View} view */
export function createProduct(view) {
  return new ProductDrawing(view);
}

/**
 * What the server says of a pair, as transformer_core/inspection/pair.py writes it.
 * @typedef {object} Pair
 * @property {number} query @property {number} key places of the stack's tokens
 * @property {number[]} query_vector @property {number[]} key_vector @property {number[]} products, all of d_k numbers
 * @property {string} [reason] why there are no queries and keys, instead of all numbers
 */

class ProductDrawing {
  constructor(view) {
    this.view = view;
    this.pair = null;
    /** The layer and the head that the pair is of: while another one is computed, its numbers stay. */
    this.place = null;
    this.isBySize = false;
    this.pointed = null;
    this.element = element("div", "product");
    this.title = element("p", "title");
    this.status = element("p", "status");
    this.sorting = element("button", "tool", "largest first");
    this.sorting.type = "button";
    this.sorting.addEventListener("click", () => {
      this.isBySize = !this.isBySize;
      this.update();
    });
    const head = element("div", "head");
    head.append(this.title, this.sorting);
    this.products = this.#picture("products", "Products of the query and the key, dimension by dimension");
    this.sum = this.#picture("running-sum", "Running sum of the products");
    this.scores = this.#picture("scores", "Scores of the row");
    this.weights = this.#picture("weights", "Weights of the row");
    this.value = element("p", "value");
    this.chain = element("ol", "chain");
    const pictures = element("div", "pictures");
    pictures.append(
      element("p", "name", "products qᵢkᵢ"), this.products, element("p", "name", "their running sum"), this.sum, this.value,
    );
    const row = element("div", "row");
    this.scoresName = element("p", "name");
    this.weightsName = element("p", "name");
    row.append(this.scoresName, this.scores, this.weightsName, this.weights);
    const numbers = element("div", "numbers");
    numbers.append(this.chain, row);
    this.body = element("div", "columns");
    this.body.append(pictures, numbers);
    this.element.append(head, this.status, this.body);
    this.#listen();
  }

  #picture(name, label) {
    const canvas = element("canvas", name);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    return canvas;
  }

  #listen() {
    for (const canvas of [this.products, this.sum]) {
      canvas.addEventListener("pointermove", (event) => this.#point({ bar: this.#barAt(event, this.pair?.products) }));
      canvas.addEventListener("pointerleave", () => this.#point(null));
    }
    for (const canvas of [this.scores, this.weights]) {
      canvas.addEventListener("pointermove", (event) => this.#point({ key: this.#barAt(event, this.pair?.row_scores) }));
      canvas.addEventListener("pointerleave", () => this.#point(null));
    }
  }

  #barAt(event, values) {
    const canvas = event.currentTarget;
    return values ? barAt(event.clientX - canvas.getBoundingClientRect().left, canvas.clientWidth, values.length) : null;
  }

  #point(pointed) {
    this.pointed = pointed;
    if (this.pair && !this.pair.reason) this.#paint();
  }

  update() {
    const { view } = this;
    const answered = this.#answered();
    if (answered) Object.assign(this, { pair: answered, place: view.currentAnswer });
    const isWaiting = view.host.answers && !answered;
    const hasNumbers = Boolean(this.pair) && !this.pair.reason && view.host.answers;
    // Numbers of another stack would be read with the tokens of this one.
    if (!answered) this.pair = isWaiting && this.source === this.#sourceName() ? this.pair : null;
    this.source = this.#sourceName();
    this.body.hidden = !hasNumbers || !this.pair;
    this.sorting.hidden = this.body.hidden;
    this.element.classList.toggle("stale", isWaiting);
    this.element.setAttribute("aria-busy", String(isWaiting));
    this.sorting.setAttribute("aria-pressed", String(this.isBySize));
    this.status.textContent = this.#statusText(isWaiting);
    this.title.textContent = this.pair ? this.#titleText() : "q·k: why this weight";
    if (this.body.hidden) return;
    this.#writeChain();
    this.#paint();
  }

  hover() {}

  describe() {
    const { pair } = this;
    if (!pair || pair.reason) return this.status.textContent;
    return `${this.title.textContent}: the dot product ${digits(pair.dot_product)} of ${pair.products.length} products ` +
      `makes the score ${this.#scoreText()}, and the softmax of the row the weight ${digits(pair.weight)}.`;
  }

  /** The pair that the host has answered, where it is the one that is asked for. */
  #answered() {
    const answer = this.view.currentAnswer;
    if (!answer?.pair) return null;
    const asked = this.#asked();
    if (!asked) return answer.cell ? null : answer.pair;
    return answer.pair.query === asked[0] && answer.pair.key === asked[1] ? answer.pair : null;
  }

  /** The pinned pair; without one, the host takes the strongest. */
  #asked() {
    const { pinnedCell, pinnedQueries, pinnedKeys } = this.view.state;
    if (pinnedCell) return pinnedCell;
    return pinnedQueries.length === 1 && pinnedKeys.length === 1 ? [pinnedQueries[0], pinnedKeys[0]] : null;
  }

  #sourceName() {
    return `${this.view.payload.meta.id} ${this.view.state.stack}`;
  }

  #statusText(isWaiting) {
    if (!this.view.host.answers) return IN_A_FILE;
    if (isWaiting) return "Computing …";
    if (this.pair.reason) return this.pair.reason;
    const choose = "Pin a cell of the matrix, or a query and a key, to see another pair.";
    return this.#asked() ? "" : `The strongest pair of this head. ${choose}`;
  }

  #titleText() {
    const { pair, place, view } = this;
    const { stack } = view;
    const query = `query ${quoted(stack.queries[pair.query])} (row ${pair.query + 1})`;
    const key = `key ${quoted(stack.keys[pair.key])} (column ${pair.key + 1})`;
    return `${stack.title}, layer ${place.layer + 1}, head ${place.head + 1}: ${query} → ${key}`;
  }

  /** Dimensions in the order in which they are drawn. */
  get #order() {
    const { products } = this.pair;
    const order = products.map((_, dimension) => dimension);
    return this.isBySize ? order.sort((a, b) => Math.abs(products[b]) - Math.abs(products[a])) : order;
  }

  #paint() {
    const { pair, pointed, view } = this;
    const { theme } = view;
    const look = {
      ...theme, font: `${Math.round(parseFloat(getComputedStyle(view.root).fontSize) * 0.8)}px ${theme.font}`,
    };
    const order = this.#order;
    const products = order.map((dimension) => pair.products[dimension] ?? NaN);
    const sums = runningSums(products);
    this.#draw(this.products, PRODUCTS, (context, box) => paintBars(context, box, products, pointed?.bar, look));
    this.#draw(this.sum, RUNNING_SUM, (context, box) => paintRunningSum(context, box, sums, pointed?.bar, look));
    const { scores, weights } = this.row;
    const marked = { key: pair.column, pointed: pointed?.key };
    this.#draw(this.scores, ROW, (context, box) => paintRow(context, box, scores, marked, look));
    this.#draw(this.weights, ROW, (context, box) => paintRow(context, box, weights, marked, look));
    this.scoresName.textContent = "scores of the row";
    this.weightsName.textContent = `weights of the row (largest ${digits(Math.max(...weights))})`;
    this.value.textContent = this.#valueText(order, products, sums, scores, weights);
  }

  #draw(canvas, height, paint) {
    const width = canvas.parentElement.clientWidth;
    sizeCanvas(canvas, width, height);
    paint(clearedContext(canvas), strip(width, height));
  }

  /** What the softmax is over: all keys, also where the stack shows a part of them. */
  get row() {
    const { row_scores: scores, logsumexp, weight } = this.pair;
    // One score that is no number leaves no weight of its row a number; in a row without any allowed key all are 0.
    const ofScore = (score) => (score === null ? 0 : Math.exp(score - logsumexp));
    const { keys } = this.view.stack.whole ?? this.view.stack;
    return {
      scores: scores.map((score) => score ?? NaN),
      weights: scores.map((score) => (logsumexp === null ? weight ?? NaN : ofScore(score))),
      keys,
    };
  }

  #valueText(order, products, sums, scores, weights) {
    const { pair, pointed, view } = this;
    const bar = pointed?.bar ?? null, key = pointed?.key ?? null;
    if (bar !== null) {
      const dimension = order[bar];
      const [q, k] = [pair.query_vector[dimension], pair.key_vector[dimension]];
      return `dimension ${dimension + 1} of ${products.length}: ${digits(q)} × ${digits(k)} = ` +
        `${digits(products[bar])} · running sum so far ${digits(sums[bar])}`;
    }
    if (key === null) return "";
    const none = pair.is_allowed && pair.score === null ? "not a number" : "not allowed";
    const score = Number.isNaN(scores[key]) ? none : digits(scores[key]);
    return `key ${quoted(this.row.keys[key] ?? "")} (${key + 1} of ${scores.length}): score ${score}, weight ` +
      digits(weights[key]);
  }

  /** The steps from the products to the weight, in words. */
  get steps() {
    return [...this.chain.children].map((step) => [...step.children].map((part) => part.textContent).join("  "));
  }

  #scoreText() {
    return this.pair.is_allowed ? digits(this.pair.score) : "−∞";
  }

  /** The numbers one after another, each with what was done to get it. */
  #writeChain() {
    const { pair } = this;
    const steps = [
      ["sum of the products", "q·k", digits(pair.dot_product), pair.dot_product],
      [`× ${digits(pair.scale)}`, "scaled score", digits(pair.scaled), pair.scaled, pair.scale],
    ];
    if (pair.softcap !== null) {
      steps.push([`${digits(pair.softcap)} · tanh(score / ${digits(pair.softcap)})`, "softcap", digits(pair.capped), pair.capped]);
    }
    const mask = pair.is_allowed ? digits(pair.mask) : "−∞ (this key is not allowed)";
    steps.push([`+ mask or bias ${mask}`, "score", this.#scoreText(), pair.score, pair.mask]);
    if (pair.sink_score !== null) {
      steps.push(["takes a part of the row's weight", "attention sink's score", digits(pair.sink_score), pair.sink_score]);
    }
    steps.push(["log of the sum of exp(score) over the row", "log sum exp", digits(pair.logsumexp), pair.logsumexp]);
    steps.push(["exp(score − log sum exp)", "weight", digits(pair.weight), pair.weight]);
    this.chain.replaceChildren(...steps.map(([how, name, text, exact, operand]) => {
      const step = element("li");
      const value = element("span", "number", text);
      const made = element("span", "how", how);
      // Nothing is told exactly of what is no number, which JSON has as null.
      if (exact !== null) value.title = `exactly ${exact}`;
      if ((operand ?? null) !== null) made.title = `exactly ${operand}`;
      step.append(element("span", "term", name), value, made);
      return step;
    }));
  }
}

/** Three digits of a number; null, which JSON has for it, is no number. */
function digits(value) {
  if (value === null || Number.isNaN(value)) return "not a number";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1000 && size < 1e6 ? value.toFixed(0) : value.toPrecision(3);
  return (size < 0.001 ? value.toExponential(2) : text).replace("-", "−");
}

function runningSums(values) {
  let sum = 0;
  return values.map((value) => (sum += value));
}
