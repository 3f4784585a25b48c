// The linked view: overview, lines, matrix and the others around one state. Selecting in one selects in all.

import { createControls } from "./controls.js";
import { element } from "./elements.js";
import { createImage } from "./image.js";
import { listenToKeys } from "./keys.js";
import { createLines } from "./lines.js";
import { createMatrix } from "./matrix.js";
import { createOverview } from "./overview.js";
import { createPresenting } from "./presenting.js";
import { createProduct } from "./product.js";
import { createReadout } from "./readout.js";
import { MAX_PINS, normalized } from "./state.js";
import { combined, lensOf, matrixOf, smallMatrixOf, strongestEdges } from "./weights.js";

/** Milliseconds without a change after which the host hears of the state. */
const SETTLED_AFTER = 250;

/**
 * @typedef {object} Host what surrounds a view, and hears of it
 * @property {(state: object) => void} [settled] the state, once it has stopped changing.
 * @property {(step: 1 | -1) => void} [example] the visitor wants the next or the previous example.
 * @property {() => void} [focusText] the visitor wants to type.
 * @property {boolean} [link] whether the address of the page is a link to what is shown.
 * @property {boolean} answers whether the host computes what the payload does not hold: exact values, large maps.
 */

/** One linked view in the page. */
export class View {
  /**
   * @param {HTMLElement} root an empty element.
   * @param {Host} host
   */
  constructor(root, host) {
    this.root = root;
    root.view = this; // for scripts of the page that shows it
    this.host = host;
    this.payload = null;
    this.state = null;
    this.hover = null;
    this.answer = null;
    this.caches = new Map();
    /** Its signal ends what drawings listen to outside of the view. */
    this.ended = new AbortController();
    root.classList.add("headlight");
    root.tabIndex = -1;
    this.theme = readTheme(root);
    this.presenting = createPresenting(this);
    this.controls = createControls(this);
    this.overview = createOverview(this);
    this.details = {
      lines: createLines(this),
      matrix: createMatrix(this),
      product: createProduct(this),
      image: createImage(this),
    };
    this.readout = createReadout(this);
    this.detailPlace = element("div", "detail");
    const map = element("div", "map");
    map.append(this.overview.element);
    this.layout = element("div", "layout");
    this.layout.append(this.presenting.element, this.controls.element, map, this.detailPlace, this.readout.element);
    root.replaceChildren(this.layout);
    this.resizing = new ResizeObserver(() => this.#schedule("update"));
    this.resizing.observe(this.detailPlace);
    this.ignoreKeys = listenToKeys(this);
    root.addEventListener("pointerleave", () => this.setHover(null));
  }

  /** Show another inspection. What of the state is possible there stays. */
  setPayload(payload, start = null) {
    this.payload = payload;
    this.hover = null;
    this.answer = null;
    this.caches.clear();
    this.state = normalized(start ?? this.state ?? {}, payload);
    this.#schedule("update");
  }

  /** Change the state. Everything is drawn anew, and the host hears of it when it has settled. */
  setState(patch) {
    const before = this.state;
    this.state = normalized({ ...before, ...this.#pinsThatGo(patch.stack), ...patch }, this.payload);
    // Places of one lens are other tokens of another, or none.
    if (["stack", "hideSpecial", "mergeWords"].some((name) => this.state[name] !== before[name])) {
      this.caches.clear();
      this.hover = null;
    }
    if (this.state.share !== before.share) this.#forget("edges");
    // There are as many as there are choices of heads: only the shown one is kept.
    if (["layers", "heads", "combine"].some((name) => !same(this.state[name], before[name]))) this.#forget("combined");
    this.#schedule("update");
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.host.settled?.(this.state), SETTLED_AFTER);
  }

  /** A place on an axis of another stack is another token, unless both axes have the same ones. */
  #pinsThatGo(name) {
    const from = this.stack, to = name === undefined ? from : this.payload.stack(name);
    if (from === to) return {};
    const keepsQueries = same(from.queries, to.queries), keepsKeys = same(from.keys, to.keys);
    return {
      ...(!keepsQueries && { pinnedQueries: [] }),
      ...(!keepsKeys && { pinnedKeys: [] }),
      ...(!(keepsQueries && keepsKeys) && { pinnedCell: null }),
    };
  }

  /** What the pointer is on: null, or {stack, layer, head}, or {query}, {key} or both, as places of the lens. */
  setHover(hover) {
    if (same(hover, this.hover)) return;
    this.hover = hover;
    this.#schedule("hover");
  }

  /** Exact values from the host, for the state that they name. */
  setAnswer(answer) {
    this.answer = answer;
    if (this.payload) this.#schedule("update");
  }

  /** The host's colours or fonts have changed. */
  refreshTheme() {
    this.theme = readTheme(this.root);
    if (this.payload) this.#schedule("update");
  }

  destroy() {
    this.resizing.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.settling);
    this.ignoreKeys();
    this.ended.abort();
  }

  get stack() {
    return this.payload.stack(this.state.stack);
  }

  get detail() {
    return this.details[this.state.view];
  }

  /** The height of the current drawing's place, in pixels; null in one column, where it grows with what is in it. */
  get room() {
    const grows = getComputedStyle(this.layout).getPropertyValue("--grows") !== "";
    return grows ? null : this.detailPlace.clientHeight;
  }

  /** Which tokens are shown, of the current stack or another. */
  lens(stack = this.stack) {
    return this.#cached(`lens ${stack.name}`, () => lensOf(stack, this.state));
  }

  /** One head as filters leave it. */
  matrix(layer, head, stack = this.stack) {
    const make = () => matrixOf(stack, layer, head, this.lens(stack));
    return this.#cached(`matrix ${stack.name} ${layer} ${head}`, make);
  }

  /** The open head, or what the chosen heads and layers have in common. */
  shownMatrix() {
    const { combine, layers, heads, layer, head } = this.state;
    if (combine === "head") return this.matrix(layer, head);
    const key = `combined ${combine} ${layers} ${heads}`;
    return this.#cached(key, () => combined(this.#chosenMatrices(), combine));
  }

  /** Of all chosen heads, of one size: the small ones where only some are here in full. */
  #chosenMatrices() {
    const chosen = this.state.layers.flatMap((layer) => this.headsOf(layer).map((head) => [layer, head]));
    const matrices = chosen.map(([layer, head]) => this.matrix(layer, head));
    const isOneSize = matrices.every(({ rows, columns }) => rows === matrices[0].rows && columns === matrices[0].columns);
    return isOneSize ? matrices : chosen.map(([layer, head]) => smallMatrixOf(this.stack, layer, head));
  }

  /** The chosen heads that a layer has. */
  headsOf(layer) {
    return this.state.heads.filter((head) => head < this.stack.numHeads(layer));
  }

  /** The strongest edges of a head, up to the chosen share of each row. */
  edges(layer, head) {
    const make = () => strongestEdges(this.matrix(layer, head), this.state.share);
    return this.#cached(`edges ${layer} ${head}`, make);
  }

  /** The open head's weights are not here in full, only a small picture of them. */
  get isPooled() {
    return this.stack.map(this.state.layer, this.state.head).isPooled;
  }

  /** The pins as rows and columns of what is shown. */
  get pinned() {
    const { queries, keys } = this.lens();
    const { pinnedQueries, pinnedKeys, pinnedCell } = this.state;
    const rows = placesOf(pinnedQueries, queries), columns = placesOf(pinnedKeys, keys);
    const cell = pinnedCell && [placesOf([pinnedCell[0]], queries)[0], placesOf([pinnedCell[1]], keys)[0]];
    return { rows, columns, cell: cell && cell.every((place) => place !== undefined) ? cell : null };
  }

  /** Pin what is not pinned, and let go of what is: a row, a column, or a cell, as places of the lens. */
  togglePin({ query, key }) {
    const { queries, keys } = this.lens();
    if (query !== undefined && key !== undefined) {
      const cell = [queries[query].members[0], keys[key].members[0]];
      this.setState({ pinnedCell: same(cell, this.state.pinnedCell) ? null : cell });
    } else if (query !== undefined) {
      this.setState({ pinnedQueries: toggled(this.state.pinnedQueries, queries[query].members) });
    } else {
      this.setState({ pinnedKeys: toggled(this.state.pinnedKeys, keys[key].members) });
    }
  }

  /** A weight for a reader: two digits, which is what a byte can tell; a weight that is no number says so. */
  weightText(value) {
    if (Number.isNaN(value)) return "not a number";
    return value > 0 && value < 0.005 ? "< 0.01" : value.toFixed(2);
  }

  /** The host's answer, where it is about what is shown now. */
  get currentAnswer() {
    const { answer, state } = this;
    const isCurrent = answer && ["stack", "layer", "head"].every((name) => answer[name] === state[name]);
    return isCurrent ? answer : null;
  }

  #cached(key, make) {
    if (!this.caches.has(key)) this.caches.set(key, make());
    return this.caches.get(key);
  }

  #forget(prefix) {
    for (const key of this.caches.keys()) if (key.startsWith(prefix)) this.caches.delete(key);
  }

  /** A drawing that goes on over several frames has ended. */
  finished() {
    const isBusy = this.mustUpdate || this.detail.isBusy || this.overview.isBusy;
    this.root.setAttribute("aria-busy", String(Boolean(isBusy)));
  }

  #schedule(what) {
    if (what === "update") {
      this.mustUpdate = true;
      this.root.setAttribute("aria-busy", "true");
    }
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.payload) this.#draw();
    });
  }

  #draw() {
    const drawings = [this.presenting, this.controls, this.overview, this.detail, this.readout];
    if (this.mustUpdate) {
      this.mustUpdate = false;
      if (this.detailPlace.firstChild !== this.detail.element) this.detailPlace.replaceChildren(this.detail.element);
      for (const drawing of drawings) drawing.update();
      this.finished();
    } else {
      for (const drawing of drawings) drawing.hover();
    }
  }
}

/** The colours and fonts that custom properties of the root name, as a canvas can take them. */
function readTheme(root) {
  const probe = element("span");
  root.append(probe);
  const style = getComputedStyle(probe);
  const theme = {};
  for (const name of ["ink", "faint", "ground", "panel", "line", "accent"]) {
    probe.style.color = `var(--${name})`;
    theme[name] = style.color;
  }
  theme.font = style.fontFamily;
  probe.style.fontFamily = "var(--code-font)";
  theme.codeFont = style.fontFamily;
  probe.remove();
  theme.isDark = lightness(theme.ground) < 0.5;
  return theme;
}

/** How light a CSS colour is, from 0 to 1. */
function lightness(css) {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = css;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
}

function placesOf(tokens, groups) {
  return [...new Set(tokens.map((token) => groups.findIndex(({ members }) => members.includes(token))))].filter(
    (place) => place >= 0,
  );
}

/** With more than there may be, nothing is pinned: none of the others would be let go without a word. */
function toggled(pinned, members) {
  const isPinned = members.every((member) => pinned.includes(member));
  if (isPinned) return pinned.filter((each) => !members.includes(each));
  const more = new Set([...pinned, ...members]);
  return more.size > MAX_PINS ? pinned : [...more];
}

function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}
