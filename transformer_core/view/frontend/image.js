// The image that a vision model looked at, with what one token reads from its patches laid over it.

import { clearedContext, sizeCanvas } from "./canvas.js";
import { element } from "./elements.js";
import { HeadImages } from "./image_heads.js";
import { paintPatches, patchBox } from "./image_paint.js";
import { largest, paintColourRange, scaleName } from "./matrix_paint.js";
import { quoted } from "./names.js";
import { lensOf, matrixOf } from "./weights.js";

/** The longer side of the picture in CSS pixels where the page grows with it; and the least. */
const SIDE = 420, LEAST_SIDE = 200;

/** Between the picture and the lines of text. */
const SPACES = 24;

/** The pictures of all heads stand beside the large one from WIDE pixels on, of which SHARE is for the large one. */
const WIDE = 560, SHARE = 0.6, GAP = 20;

const BAR = { left: 0, top: 0, width: 190, height: 10 };

/** @param {import("./view.js").View} view */
export function createImage(view) {
  return new ImageDrawing(view);
}

class ImageDrawing {
  constructor(view) {
    this.view = view;
    this.image = new Image();
    this.image.addEventListener("load", () => this.element.isConnected && this.update());
    this.element = element("div", "image");
    this.title = element("p", "title");
    this.legend = element("div", "legend");
    this.colourBar = element("canvas");
    this.legend.append(element("span"), this.colourBar);
    const head = element("div", "head");
    head.append(this.title, this.legend);
    this.canvas = element("canvas", "patches");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "image with patches");
    this.heads = new HeadImages(view);
    this.pictures = element("div", "pictures");
    this.pictures.append(this.canvas, this.heads.element);
    this.value = element("p", "value");
    this.share = element("p", "share");
    this.live = element("div", "for-screen-readers");
    this.live.setAttribute("aria-live", "polite");
    this.element.append(head, this.pictures, this.value, this.share, this.live);
    this.pointed = null;
    this.canvas.addEventListener("pointermove", (event) => this.#point(this.#patchAt(event)));
    this.canvas.addEventListener("pointerleave", () => this.#point(null));
    this.canvas.addEventListener("click", (event) => this.#pin(this.#patchAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.canvas.addEventListener("blur", () => this.#point(null));
  }

  update() {
    const { view } = this;
    const { meta } = view.payload;
    if (!meta.image) return;
    if (this.uri !== meta.image.uri) {
      this.uri = meta.image.uri;
      this.image.src = this.uri;
    }
    if (this.payload !== view.payload) {
      this.payload = view.payload;
      // The pointer may still be there, but another model need not have this patch.
      this.pointed = null;
    }
    // All keys, hidden ones too: an image's patches have their places among them.
    const { stack, state } = view;
    const lens = lensOf(stack, {});
    this.matrices = Array.from({ length: stack.numHeads(state.layer) }, (_, head) =>
      matrixOf(stack, state.layer, head, lens));
    this.painted = null;
    this.#draw();
  }

  hover() {
    this.#draw();
  }

  describe() {
    return `${this.title.textContent}. ${this.share.textContent}`;
  }

  /** The token that reads: what is pointed at elsewhere, else the pinned one, else the first, mostly the class token. */
  #query() {
    const { hover, state, stack } = this.view;
    const places = this.view.lens().queries;
    if (hover?.query !== undefined && this.pointed === null) return places[hover.query].members[0];
    const pinned = state.pinnedCell ? state.pinnedCell[0] : state.pinnedQueries.at(-1);
    return pinned !== undefined && pinned < stack.queries.length ? pinned : 0;
  }

  #draw() {
    const { view } = this;
    const { first_patch: first } = view.payload.meta.image;
    const query = this.#query();
    const { stack, state } = view;
    this.row = this.#rowOf(this.matrices[state.head], query);
    this.title.textContent = `${stack.title}, layer ${state.layer + 1}, head ${state.head + 1}: ` +
      `what query ${quoted(stack.queries[query])} (row ${query + 1}) reads`;
    if (!this.row) {
      this.share.textContent = "The weights of this head are here only as a small picture of them, not patch by patch.";
      this.pictures.hidden = true;
      return;
    }
    this.pictures.hidden = false;
    this.patches = this.#patchesOf(this.row);
    this.most = largest(this.patches);
    this.#writeTexts();
    this.#paint(query - first);
  }

  #writeTexts() {
    const { view, patches, row } = this;
    const sum = (weights) => weights.reduce((total, weight) => total + weight, 0);
    const total = sum(row), onImage = sum(patches);
    const percent = Number.isNaN(total) || total === 0 ? null : Math.round((onImage / total) * 100);
    const others = row.length - patches.length;
    this.share.textContent = percent === null
      ? "The weights of this row are not numbers."
      : `${percent} % of the row goes to the ${patches.length} patches, ${100 - percent} % to ` +
        `${others === 1 ? "the 1 token that is" : `the ${others} tokens that are`} no patch${others === 1 ? "" : "es"}. ` +
        "Click a patch to read from there.";
    this.value.textContent = this.pointed === null ? "" : this.#patchText(this.pointed);
    this.canvas.setAttribute("aria-label", `${this.title.textContent}. ${this.share.textContent}`);
    this.legend.firstChild.textContent = `${scaleName(this.scale)}, up to the largest on a patch`;
    const look = { faint: view.theme.faint, titleFont: `11px ${view.theme.font}` };
    sizeCanvas(this.colourBar, BAR.width, BAR.height + 18);
    paintColourRange(clearedContext(this.colourBar), BAR, ["0", view.weightText(this.most)], look);
  }

  /** There is one row only: shares of its largest weight are what a linear scale shows. */
  get scale() {
    const { scale } = this.view.state;
    return scale === "row" ? "linear" : scale;
  }

  #patchText(patch) {
    const { columns } = this.view.payload.meta.image;
    const place = `patch in row ${Math.floor(patch / columns) + 1}, column ${(patch % columns) + 1}`;
    return `${place}: ${this.view.weightText(this.patches[patch])}`;
  }

  #paint(query) {
    const { view, image } = this;
    const grid = view.payload.meta.image;
    const [width, height] = this.#size(image.naturalWidth || grid.columns, image.naturalHeight || grid.rows);
    const context = paintPatches(this.canvas, image, this.patches, grid, this.scale, width, height);
    const outline = (patch, colour, thickness) => {
      if (patch === null || patch < 0 || patch >= this.patches.length) return;
      context.lineWidth = thickness;
      context.strokeStyle = colour;
      context.strokeRect(...patchBox(patch, grid, width, height));
    };
    outline(this.pointed, "#fff", 2);
    outline(query, view.theme.accent, 3);
    this.#paintHeads(query + grid.first_patch, width, height);
  }

  /** Every head's row of the same query. Pointing at a key leaves them as they are. */
  #paintHeads(query, width, height) {
    if (this.painted === query) return;
    this.painted = query;
    const rows = this.matrices.map((matrix) => this.#rowOf(matrix, query));
    const patches = rows.includes(null) ? [] : rows.map((row) => this.#patchesOf(row));
    const { clientWidth } = this.element;
    const room = this.#isBeside ? [clientWidth - width - GAP, height] : [clientWidth, SIDE];
    this.heads.draw(this.image, patches, this.scale, ...room);
  }

  /** All weights of a head's row; null where they are not here one by one. */
  #rowOf(matrix, query) {
    return matrix.blocks ? null : matrix.values.subarray(query * matrix.columns, (query + 1) * matrix.columns);
  }

  #patchesOf(row) {
    const { rows, columns, first_patch: first } = this.view.payload.meta.image;
    return row.subarray(first, first + rows * columns);
  }

  get #isBeside() {
    return this.matrices.length > 1 && this.element.clientWidth >= WIDE;
  }

  /** As large as there is room for, in the proportions of the image. */
  #size(width, height) {
    const { room } = this.view;
    const others = [...this.element.children].filter((child) => child !== this.pictures && child !== this.live);
    const used = others.reduce((sum, child) => sum + child.offsetHeight, 0) + SPACES;
    const most = room === null ? SIDE : Math.max(LEAST_SIDE, room - used);
    const widest = this.element.clientWidth * (this.#isBeside ? SHARE : 1);
    const factor = Math.min(widest / width, most / height);
    return [Math.floor(width * factor), Math.floor(height * factor)];
  }

  #patchAt(event) {
    const { rows, columns } = this.view.payload.meta.image;
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    return row >= 0 && row < rows && column >= 0 && column < columns ? row * columns + column : null;
  }

  /** Point at a patch as a key: the other drawings show what it is given. */
  #point(patch) {
    if (patch === this.pointed) return;
    this.pointed = patch;
    const key = patch === null ? -1 : this.#placeOf(this.view.lens().keys, patch);
    this.view.setHover(key < 0 ? null : { key });
    this.#draw();
  }

  #placeOf(groups, patch) {
    const token = patch + this.view.payload.meta.image.first_patch;
    return groups.findIndex(({ members }) => members.includes(token));
  }

  /** The patch reads from now on; once more, and it is the first token again. */
  #pin(patch) {
    if (patch === null) return;
    const { view } = this;
    const token = patch + view.payload.meta.image.first_patch;
    const isPinned = this.#query() === token;
    view.setState({ pinnedCell: null, pinnedQueries: isPinned ? [] : [token] });
  }

  #key(event) {
    const { rows, columns } = this.view.payload.meta.image;
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    if (event.key in steps) {
      const [down, right] = this.pointed === null ? [0, 0] : steps[event.key];
      const at = this.pointed ?? 0;
      const row = Math.min(Math.max(Math.floor(at / columns) + down, 0), rows - 1);
      const column = Math.min(Math.max((at % columns) + right, 0), columns - 1);
      this.#point(row * columns + column);
      this.live.textContent = this.#patchText(this.pointed);
    } else if ((event.key === "Enter" || event.key === " ") && this.pointed !== null) {
      this.#pin(this.pointed);
    } else if (event.key === "Escape" && this.pointed !== null) {
      this.#point(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
