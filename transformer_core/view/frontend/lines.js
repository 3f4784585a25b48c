// The lines: a column of queries, a column of keys, and a line for each of the strongest weights between them.

import { stepLayer } from "./choosing.js";
import { headColour } from "./colours.js";
import { element } from "./elements.js";
import { LinesPicture } from "./lines_picture.js";
import { TokenColumn } from "./lines_tokens.js";
import { drawnName, missingText, noteText } from "./lines_words.js";
import { edgesOf, meanSummed } from "./weights.js";
import { stepOnWheel } from "./wheel.js";

/** Height of a token, in pixels at the usual size of type. */
const LOWEST_TOKEN = 16, HIGHEST_TOKEN = 24;

/** Height of the place where nothing says how high it is, and the least that the tokens share. */
const TOKENS_HEIGHT = 480, LEAST_HEIGHT = 200;

/** Size of type that these are for. */
const USUAL_TYPE = 14;

/** Characters of a token, and of one where there is little room. */
const LINE_LABEL = 14, NARROW_LINE_LABEL = 8, NARROW_LINES = 480;

/** Tokens up to which a line is two pixels wide, if there are few heads. */
const FEW_TOKENS = 40;

/** @param {import("./view.js").View} view */
export function createLines(view) {
  return new LinesDrawing(view);
}

class LinesDrawing {
  constructor(view) {
    this.view = view;
    this.painted = "";
    this.element = element("div", "lines");
    this.queryTitle = element("bdi", "title");
    this.keyTitle = element("bdi", "title");
    this.note = element("p", "note");
    this.legend = element("div", "legend");
    this.missing = element("p", "missing");
    this.picture = new LinesPicture(() => view.finished());
    this.queries = this.#column("query");
    this.keys = this.#column("key");
    this.columns = element("div", "columns");
    this.columns.append(this.queries.element, this.picture.element, this.keys.element);
    const titles = element("div", "titles");
    titles.append(this.queryTitle, this.keyTitle);
    this.head = element("div", "head");
    this.head.append(this.note, this.legend, titles);
    this.element.append(this.head, this.missing, this.columns);
    const step = (by) => view.setState(stepLayer(view.state, view.stack, by));
    stepOnWheel(this.element, step, (event) => event.shiftKey);
  }

  get isBusy() {
    return this.picture.isBusy;
  }

  update() {
    const { view } = this;
    this.heads = this.#chosenHeads();
    this.missing.textContent = missingText(view, this.heads.missing);
    this.missing.hidden = !this.heads.missing.length;
    this.columns.hidden = this.head.hidden = !this.heads.drawn.length;
    if (this.columns.hidden) return;
    this.#watchScrolling();
    this.#showTitles();
    this.#layOut();
    const { rows, columns } = view.pinned;
    this.queries.mark(rows);
    this.keys.mark(columns);
    this.#paint();
    this.hover();
  }

  hover() {
    if (this.columns.hidden) return;
    const { view } = this;
    const { rows, columns, cell } = this.#shown();
    const isOver = rows.length + columns.length > 0 && this.#hovered() !== null;
    // What is in view is asked for before anything is changed, so that the page need not be laid out twice.
    const visible = this.#visible();
    this.picture.fade(isOver || (cell !== null && rows.length + columns.length === 0));
    this.picture.paintOver(isOver ? this.#strokes(rows, columns) : [], this.lineWidth + 1, visible);
    const sums = meanSummed(this.matrices, rows, columns);
    const ofCell = cell && meanSummed(this.matrices, [cell[0]], []);
    const weight = ofCell && ofCell.columns[cell[1]];
    const text = (value) => view.weightText(value);
    this.picture.showCell(cell, cell && text(weight));
    this.queries.weigh(sums.rows ?? singleValue(cell?.[0], weight), text);
    this.keys.weigh(sums.columns ?? singleValue(cell?.[1], weight), text);
    const hover = this.#hovered();
    this.queries.point(hover?.query ?? null);
    this.keys.point(hover?.key ?? null);
    const isCellAlone = cell && !rows.length && !columns.length;
    const counts = isCellAlone ? [ofCell.counts.columns[cell[1]]] : [...sums.counts.columns, ...sums.counts.rows];
    this.note.textContent = noteText(view, { ...this.heads, matrices: this.matrices, rows, columns, cell, counts });
  }

  describe() {
    const { view } = this;
    const { drawn, missing } = this.#chosenHeads();
    if (!drawn.length) return missingText(view, missing);
    const { rows, columns } = view.pinned;
    const strokes = drawn.map((head) => edgesFor(view, head, rows, columns));
    const count = strokes.reduce((total, { count: ofHead }) => total + ofHead, 0);
    return drawnName(view, { drawn, rows, columns, count });
  }

  #column(side) {
    const { view } = this;
    return new TokenColumn(side, {
      point: (place) => view.setHover(place === null ? null : { [side]: place }),
      pin: (place) => view.togglePin({ [side]: place }),
      release: () => {
        const { pinnedQueries, pinnedKeys, pinnedCell } = view.state;
        if (!pinnedQueries.length && !pinnedKeys.length && !pinnedCell) return false;
        view.setState({ pinnedQueries: [], pinnedKeys: [], pinnedCell: null });
        return true;
      },
    });
  }

  /** The chosen heads of the open layer: those whose weights are here, and those of which only a small picture is. */
  #chosenHeads() {
    const { layer } = this.view.state;
    const isHere = (head) => !this.view.stack.map(layer, head).isPooled;
    const heads = this.view.headsOf(layer);
    return { drawn: heads.filter(isHere), missing: heads.filter((head) => !isHere(head)) };
  }

  #showTitles() {
    const { stack, theme } = this.view;
    const { drawn } = this.heads;
    this.queryTitle.textContent = `query (row): ${stack.queryLabel}`;
    this.keyTitle.textContent = `key (column): ${stack.keyLabel}`;
    this.queries.element.setAttribute("aria-label", this.queryTitle.textContent);
    this.keys.element.setAttribute("aria-label", this.keyTitle.textContent);
    const colour = drawn.length === 1 ? headColour(drawn[0], theme.isDark).css : theme.faint;
    this.columns.style.setProperty("--bar", colour);
    this.legend.replaceChildren(...(drawn.length > 1 ? drawn.map((head) => swatch(head, theme.isDark)) : []));
  }

  /** Fill the columns, and make room for the picture. */
  #layOut() {
    const { view, queries, keys } = this;
    const lens = view.lens();
    const scale = parseFloat(getComputedStyle(this.element).fontSize) / USUAL_TYPE;
    const most = this.element.clientWidth < NARROW_LINES * scale ? NARROW_LINE_LABEL : LINE_LABEL;
    const longer = Math.max(lens.queries.length, lens.keys.length);
    const room = Math.max((view.room ?? TOKENS_HEIGHT) - this.head.offsetHeight, LEAST_HEIGHT);
    const height = tokenHeight(longer, room, scale);
    if (lens !== this.lens || most !== this.most) {
      const { image } = view.payload.meta;
      queries.fill(lens.queries, image, most);
      keys.fill(lens.keys, image, most);
    }
    Object.assign(this, { lens, most });
    // The shorter column is centred, which keeps lines short, where all can be seen at once; otherwise its start can be.
    const offset = (count) => (longer * height <= room ? ((longer - count) * height) / 2 : 0);
    const tops = { queries: offset(lens.queries.length), keys: offset(lens.keys.length) };
    queries.element.style.paddingTop = `${tops.queries}px`;
    keys.element.style.paddingTop = `${tops.keys}px`;
    this.columns.style.setProperty("--token-height", `${height}px`);
    // Several heads lie side by side, as far as a token's height allows, so that none hides another.
    const share = (0.6 * height) / this.heads.drawn.length;
    this.lineWidth = (longer <= FEW_TOKENS && share >= 2 * scale ? 2 : 1) * scale;
    this.headStep = Math.min(this.lineWidth + scale, share);
    const ends = {
      rows: { start: tops.queries + height / 2, step: height },
      columns: { start: tops.keys + height / 2, step: height },
    };
    this.picture.resize(this.picture.element.clientWidth, longer * height, ends);
    this.layout = [this.picture.width, this.picture.ratio, height, scale];
  }

  /** Paint the lines that stay, if they are others than before. */
  #paint() {
    const { view, layout } = this;
    const { drawn } = this.heads;
    const { state, theme, payload } = view;
    const { rows, columns } = view.pinned;
    this.matrices = drawn.map((head) => view.matrix(state.layer, head));
    const wanted = [layout, state.stack, state.layer, drawn, state.share, rows, columns, theme.isDark];
    const key = JSON.stringify(wanted);
    if (key === this.painted && this.lens === this.paintedLens && payload === this.paintedPayload) return;
    Object.assign(this, { painted: key, paintedLens: this.lens, paintedPayload: payload });
    this.picture.paint(this.#strokes(rows, columns), this.lineWidth, this.#visible());
  }

  /** The lines of all drawn heads: those of some rows and columns, or all of them where neither are given. */
  #strokes(rows, columns) {
    const { view } = this;
    const { drawn } = this.heads;
    return drawn.map((head, place) => {
      const { rgb, dash } = headColour(head, view.theme.isDark);
      const shift = this.headStep * (place - (drawn.length - 1) / 2);
      return { edges: () => edgesFor(view, head, rows, columns), rgb, dash, shift };
    });
  }

  /** What the pointer is on, where that is here: a row, a column or both. */
  #hovered() {
    const { hover } = this.view;
    const { queries, keys } = this.lens;
    const isHere = hover && (hover.query < queries.length || hover.key < keys.length);
    return isHere ? hover : null;
  }

  /** Whose weights are shown: those of what the pointer is on, otherwise those of the pins. */
  #shown() {
    const hover = this.#hovered();
    if (!hover) return this.view.pinned;
    const { query, key } = hover;
    if (query !== undefined && key !== undefined) return { rows: [], columns: [], cell: [query, key] };
    return { rows: query === undefined ? [] : [query], columns: key === undefined ? [] : [key], cell: null };
  }

  /** Which part of the picture can be seen, in pixels from its top. */
  #visible() {
    const { top, bottom } = this.picture.element.getBoundingClientRect();
    const place = this.view.detailPlace.getBoundingClientRect();
    const within = (y) => Math.min(Math.max(y, top), bottom) - top;
    return { top: within(Math.max(place.top, 0)), bottom: within(Math.min(place.bottom, innerHeight)) };
  }

  /** Lines of what the pointer is on are painted only where they can be seen. */
  #watchScrolling() {
    if (this.isWatching) return;
    this.isWatching = true;
    this.view.detailPlace.addEventListener("scroll", () => this.#hovered() && this.hover(), { passive: true });
  }
}

function edgesFor(view, head, rows, columns) {
  const edges = view.edges(view.state.layer, head);
  return rows.length + columns.length ? edgesOf(edges, rows, columns) : edges;
}

/** Height of each of so many tokens, in pixels. `scale` is the size of type. */
function tokenHeight(count, room, scale) {
  if (matchMedia("(pointer: coarse)").matches) return Math.round(HIGHEST_TOKEN * scale);
  return Math.round(Math.min(Math.max(room / count, LOWEST_TOKEN * scale), HIGHEST_TOKEN * scale) - 0.5);
}

/** A list with one value, at that place. */
function singleValue(place, value) {
  const list = [];
  if (place !== undefined) list[place] = value;
  return list;
}

/** A piece of a head's line, and the head's number. */
function swatch(head, isDark) {
  const { css, dash } = headColour(head, isDark);
  const shown = element("span", "swatch", String(head + 1));
  const line = element("span", "line");
  const [on = 1, off = 0] = dash;
  line.style.background = `repeating-linear-gradient(90deg, ${css} 0 ${on}px, transparent ${on}px ${on + off}px)`;
  shown.prepend(line);
  return shown;
}
