// The matrix: one head, or what several have in common, as colours. Rows are queries, columns are keys.

import { clearedContext, screenPixel, sizeCanvas } from "./canvas.js";
import { element } from "./elements.js";
import { MatrixAxis } from "./matrix_axis.js";
import { matrixGeometry, placeAt } from "./matrix_geometry.js";
import {
  largest, paintAxes, paintCells, paintColourBar, paintFrame, paintLabel, paintSums, scaleName,
} from "./matrix_paint.js";
import { listed, shownName } from "./names.js";
import { isolated, shortLabel } from "./tokens.js";
import { marginals, strongestPair, summed } from "./weights.js";

/** From so many rows or columns on, the matrix can be enlarged. */
export const ZOOM_FROM = 150;

/** The fewest rows or columns that it is enlarged to. */
const LEAST_SHOWN = 16;

/** Characters of a label beside a wide and a narrow matrix. */
const LABEL = 14, NARROW_LABEL = 9, NARROW = 480;

/** Of the picture, where the page grows with it; and where there is hardly room. */
const HEIGHT = 470, LEAST_HEIGHT = 240;

/** Between the picture and the lines of text. */
const SPACES = 20;

/** Width of the colour bar in heights of a letter, and its thickness in pixels. */
const COLOUR_BAR = { width: 17, height: 10 };

/** @param {import("./view.js").View} view */
export function createMatrix(view) {
  return new MatrixDrawing(view);
}

class MatrixDrawing {
  constructor(view) {
    this.view = view;
    this.area = null;
    this.pointed = null;
    this.sent = null;
    this.element = element("div", "matrix");
    this.title = element("p", "title");
    this.legend = element("div", "legend");
    this.colourBar = element("canvas");
    this.scaleName = element("span");
    this.legend.append(this.scaleName, this.colourBar);
    this.closer = this.#button("closer", () => this.zoom(0.5, this.pointed));
    this.whole = this.#button("whole", () => this.zoom(Infinity, null));
    const head = element("div", "head");
    head.append(this.title, this.closer, this.whole, this.legend);
    this.plot = element("div", "plot");
    this.cells = element("canvas", "cells");
    this.marks = element("canvas", "marks");
    this.plot.append(this.cells, this.marks);
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "application");
    this.plot.setAttribute("aria-roledescription", "matrix");
    this.value = element("p", "value");
    this.sums = element("p", "sums");
    this.note = element("p", "note");
    this.live = element("div", "for-screen-readers");
    this.live.setAttribute("aria-live", "polite");
    this.element.append(head, this.plot, this.value, this.sums, this.note, this.live);
    this.#listen();
  }

  #button(text, act) {
    const button = element("button", "tool", text);
    button.type = "button";
    button.addEventListener("click", act);
    return button;
  }

  #listen() {
    const { plot, view } = this;
    plot.addEventListener("pointerdown", (event) => (this.isTouch = event.pointerType === "touch"));
    plot.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch") this.point(this.#placeOf(event));
    });
    plot.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") this.point(null);
    });
    plot.addEventListener("click", (event) => this.#click(this.#placeOf(event)));
    plot.addEventListener("dblclick", (event) => this.zoom(0.5, this.#placeOf(event)));
    plot.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    plot.addEventListener("keydown", (event) => this.#key(event));
    plot.addEventListener("blur", () => view.setHover(null));
  }

  update() {
    const { view } = this;
    const { stack } = view;
    this.matrix = view.shownMatrix();
    const { blocks } = this.matrix;
    const lens = view.lens();
    this.queries = new MatrixAxis("query", lens.queries, blocks && blocks.rows, stack.queries);
    this.keys = new MatrixAxis("key", lens.keys, blocks && blocks.columns, stack.keys);
    this.#fitArea();
    this.all = marginals(this.matrix);
    const { rows, columns } = this.#pins();
    this.fromPins = summed(this.matrix, rows, columns);
    // The lines of text come first: the picture gets the height that they leave.
    this.#writeTexts();
    this.#paint();
    this.hover();
  }

  /** What is pointed at, here or in another drawing, and what is pinned. The cells stay as they are. */
  hover() {
    const { geometry, area, view } = this;
    const context = clearedContext(this.marks);
    const pinned = this.#pins();
    const look = { ...this.look, colour: view.theme.accent };
    const frame = (place, colour) => this.#frame(context, place, colour);
    for (const row of pinned.rows) frame({ row, column: null }, view.theme.accent);
    for (const column of pinned.columns) frame({ row: null, column }, view.theme.accent);
    if (pinned.cell) frame({ row: pinned.cell[0], column: pinned.cell[1] }, view.theme.accent);
    const place = this.#shownPlace();
    if (place) {
      if (place.row !== null) frame({ row: place.row, column: null }, "#fff");
      if (place.column !== null) frame({ row: null, column: place.column }, "#fff");
    }
    const label = (side, at, marked) => {
      const axis = side === "row" ? this.queries : this.keys;
      const start = side === "row" ? area.row : area.column, count = side === "row" ? area.rows : area.columns;
      if (at === null || at < start || at >= start + count) return;
      paintLabel(context, geometry, side, at - start, this.#written(axis.places[at]), marked);
    };
    for (const row of pinned.rows) label("row", row, look);
    for (const column of pinned.columns) label("column", column, look);
    if (place) {
      label("row", place.row, { ...look, colour: view.theme.ink });
      label("column", place.column, { ...look, colour: view.theme.ink });
    }
    this.value.textContent = this.#valueText(place ?? this.#pinnedPlace(pinned));
  }

  describe() {
    const { matrix, view } = this;
    const start = `Matrix of ${view.stack.title}, ${shownName(view.state)}: ${matrix.rows} rows of queries and ` +
      `${matrix.columns} columns of keys.`;
    const pair = strongestPair(matrix);
    if (!pair) return `${start} No weight is a number above zero.`;
    return `${start} The strongest pair: ${this.#cellText(pair.row, pair.column)}.`;
  }

  /** Point at a cell, a row or a column, or at nothing. */
  point(place) {
    this.pointed = place;
    const hover = place && {
      ...(place.row !== null && { query: this.queries.places[place.row].lens }),
      ...(place.column !== null && { key: this.keys.places[place.column].lens }),
    };
    this.sent = hover;
    this.view.setHover(hover);
  }

  /** Show `factor` as many rows and columns, around a place or around the middle. */
  zoom(factor, place) {
    const { matrix, area } = this;
    if (!this.#canZoom) return;
    const along = (start, count, total, at) => {
      const shown = Math.min(total, Math.max(Math.min(LEAST_SHOWN, total), Math.round(count * factor)));
      const middle = at ?? start + count / 2;
      const share = (middle - start) / count;
      return [Math.round(Math.min(Math.max(middle - share * shown, 0), total - shown)), shown];
    };
    const [row, rows] = along(area.row, area.rows, matrix.rows, place?.row ?? null);
    const [column, columns] = along(area.column, area.columns, matrix.columns, place?.column ?? null);
    this.area = { row, column, rows, columns };
    this.update();
  }

  get #canZoom() {
    return Math.max(this.matrix.rows, this.matrix.columns) > ZOOM_FROM;
  }

  /** The area that is shown stays as it is while the matrix keeps its size. */
  #fitArea() {
    const { rows, columns } = this.matrix;
    const size = `${rows} ${columns}`;
    if (this.size !== size) {
      this.area = { row: 0, column: 0, rows, columns };
      this.pointed = null;
    }
    this.size = size;
  }

  #paint() {
    const { view, area, matrix } = this;
    const { theme, state } = view;
    const isPresenting = view.root.classList.contains("presenting");
    const size = Math.round(parseFloat(getComputedStyle(view.root).fontSize) * (isPresenting ? 1 : 0.86));
    this.look = {
      ink: theme.ink, faint: theme.faint, ground: theme.ground,
      font: `${size}px ${theme.codeFont}`, boldFont: `bold ${size}px ${theme.codeFont}`,
      titleFont: `${size - 1}px ${theme.font}`,
    };
    this.#paintLegend();
    const width = this.element.clientWidth;
    this.mostLetters = width < NARROW ? NARROW_LABEL : LABEL;
    const context = clearedContext(this.cells), pixel = screenPixel();
    context.font = this.look.boldFont;
    const rowLabels = this.#labels(this.queries, area.row, area.rows);
    const columnLabels = this.#labels(this.keys, area.column, area.columns);
    this.geometry = matrixGeometry({
      rowLabels, columnLabels, width, height: this.#room(), fontSize: size, pixel,
      measure: (text) => context.measureText(text).width,
    });
    for (const canvas of [this.cells, this.marks]) sizeCanvas(canvas, this.geometry.width, this.geometry.height);
    clearedContext(this.cells);
    paintCells(context, this.geometry, matrix, area, state.scale, pixel);
    const titles = {
      rowTitle: `query (row): ${view.stack.queryLabel}`, columnTitle: `key (column): ${view.stack.keyLabel}`,
    };
    paintAxes(context, this.geometry, { rowLabels, columnLabels, ...titles }, this.look);
    this.#paintSums(context);
  }

  /** Sums of all rows and columns; of those that are pinned, where some are. */
  #paintSums(context) {
    const { area } = this;
    const { theme } = this.view;
    const of = (sums, start, count) => sums.subarray(start, start + count);
    paintSums(
      context, this.geometry,
      of(this.fromPins.rows ?? this.all.rows, area.row, area.rows),
      of(this.fromPins.columns ?? this.all.columns, area.column, area.columns),
      {
        rows: this.fromPins.rows ? theme.accent : theme.faint,
        columns: this.fromPins.columns ? theme.accent : theme.faint,
        line: theme.line,
      },
    );
  }

  #paintLegend() {
    const size = parseFloat(this.look.titleFont);
    const box = { left: 0, top: 0, width: Math.round(size * COLOUR_BAR.width), height: COLOUR_BAR.height };
    sizeCanvas(this.colourBar, box.width, box.height + 4 + Math.ceil(size * 1.3));
    paintColourBar(clearedContext(this.colourBar), box, this.view.state.scale, this.look);
  }

  /** The height that is left for the matrix, where the place it is in has one of its own. */
  #room() {
    const { room } = this.view;
    const others = [...this.element.children].filter((child) => child !== this.plot && child !== this.live);
    const used = others.reduce((sum, child) => sum + child.offsetHeight, 0) + SPACES;
    return room === null ? HEIGHT : Math.max(LEAST_HEIGHT, room - used);
  }

  #labels(axis, start, count) {
    return axis.places.slice(start, start + count).map((place) => this.#written(place));
  }

  #written({ label, tokens }) {
    return isolated(shortLabel(label, tokens[0], this.view.payload.meta.image, this.mostLetters));
  }

  #pins() {
    const { rows, columns, cell } = this.view.pinned;
    const { queries, keys } = this;
    const place = cell && [queries.fromLens([cell[0]])[0], keys.fromLens([cell[1]])[0]];
    return { rows: queries.fromLens(rows), columns: keys.fromLens(columns), cell: place };
  }

  #frame(context, { row, column }, colour) {
    const { area } = this;
    const box = {
      row: row === null ? 0 : row - area.row, rows: row === null ? area.rows : 1,
      column: column === null ? 0 : column - area.column, columns: column === null ? area.columns : 1,
    };
    const isShown = box.row >= 0 && box.row < area.rows && box.column >= 0 && box.column < area.columns;
    if (isShown) paintFrame(context, this.geometry, box, colour);
  }

  /** The hover as a place of this matrix. */
  #shownPlace() {
    const { hover } = this.view;
    if (!hover || (hover.query === undefined && hover.key === undefined)) return null;
    if (this.sent && hover.query === this.sent.query && hover.key === this.sent.key) return this.pointed;
    const row = hover.query === undefined ? null : this.queries.fromLens([hover.query])[0] ?? null;
    const column = hover.key === undefined ? null : this.keys.fromLens([hover.key])[0] ?? null;
    return { row, column };
  }

  #pinnedPlace({ rows, columns, cell }) {
    if (cell) return { row: cell[0], column: cell[1] };
    if (rows.length + columns.length !== 1) return null;
    return { row: rows[0] ?? null, column: columns[0] ?? null };
  }

  #placeOf(event) {
    const box = this.cells.getBoundingClientRect();
    const place = placeAt(this.geometry, event.clientX - box.left, event.clientY - box.top);
    if (!place) return null;
    const { row, column } = place;
    return { row: row === null ? null : row + this.area.row, column: column === null ? null : column + this.area.column };
  }

  #click(place) {
    const isSame = place && this.pointed && place.row === this.pointed.row && place.column === this.pointed.column;
    this.point(place);
    // A finger cannot point without pressing: the first tap shows the value, the second one pins.
    if (place && (!this.isTouch || isSame)) this.#pin(place);
  }

  #pin({ row, column }) {
    this.view.togglePin({
      ...(row !== null && { query: this.queries.places[row].lens }),
      ...(column !== null && { key: this.keys.places[column].lens }),
    });
  }

  #wheel(event) {
    if (!event.ctrlKey || !this.#canZoom) return;
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.#placeOf(event));
  }

  #key(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const { rows, columns } = this.matrix;
    const at = this.#cursor();
    if (event.altKey || event.metaKey) return;
    if (event.key in steps) {
      const [down, right] = this.pointed ? steps[event.key] : [0, 0];
      this.#moveTo(at.row + down, at.column + right);
    } else if (event.key === "Home") {
      this.#moveTo(event.ctrlKey ? 0 : at.row, 0);
    } else if (event.key === "End") {
      this.#moveTo(event.ctrlKey ? rows - 1 : at.row, columns - 1);
    } else if ((event.key === "Enter" || event.key === " ") && this.pointed) {
      this.#pin(this.pointed);
    } else if (event.key === "Escape" && this.pointed) {
      this.point(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** The cell that the keyboard is at: where it was, else the strongest. */
  #cursor() {
    const best = strongestPair(this.matrix) ?? { row: 0, column: 0 };
    return { row: this.pointed?.row ?? best.row, column: this.pointed?.column ?? best.column };
  }

  #moveTo(row, column) {
    const { matrix, area } = this;
    const place = {
      row: Math.min(Math.max(row, 0), matrix.rows - 1), column: Math.min(Math.max(column, 0), matrix.columns - 1),
    };
    const into = (start, count, at) => Math.min(Math.max(start, at - count + 1), at);
    const moved = { ...area, row: into(area.row, area.rows, place.row), column: into(area.column, area.columns, place.column) };
    const hasMoved = moved.row !== area.row || moved.column !== area.column;
    this.area = moved;
    this.point(place);
    if (hasMoved) this.update();
    this.live.textContent = this.#valueText(place);
  }

  #writeTexts() {
    const { view, matrix, all, fromPins } = this;
    this.title.textContent = `${view.stack.title}, ${shownName(view.state)}`;
    this.scaleName.textContent = scaleName(view.state.scale);
    this.closer.hidden = !this.#canZoom;
    this.whole.hidden = !this.#canZoom || this.#isWhole;
    const { rows, columns } = this.#pins();
    const upTo = (sums) => `largest ${view.weightText(largest(sums))}`;
    const pinnedRows = rows.length && `what ${this.#pinnedText("row", rows)} to each column (${upTo(fromPins.columns)})`;
    const pinnedColumns = columns.length &&
      `what ${this.#pinnedText("column", columns)} from each row (${upTo(fromPins.rows)})`;
    this.sums.textContent =
      `Bars at the right: ${pinnedColumns || `sum of each row (${upTo(all.rows)})`}. ` +
      `Bars below: ${pinnedRows || `sum of each column, what a key receives in all (${upTo(all.columns)})`}.`;
    this.note.textContent = [this.#pooledText(), this.#brokenText()].filter(Boolean).join(" ");
    this.plot.setAttribute("aria-label", this.describe());
  }

  #pinnedText(what, places) {
    const verb = what === "row" ? ["gives", "give"] : ["gets", "get"];
    return `pinned ${what}${places.length > 1 ? "s" : ""} ${listed(places)} ${verb[places.length > 1 ? 1 : 0]}`;
  }

  get #isWhole() {
    return this.area.rows === this.matrix.rows && this.area.columns === this.matrix.columns;
  }

  #pooledText() {
    if (!this.matrix.blocks) return "";
    const { stack, host } = this.view;
    const about = (tokens, places) => Math.max(1, Math.round(tokens / places));
    const size = `${about(stack.queries.length, this.matrix.rows)} × ${about(stack.keys.length, this.matrix.columns)}`;
    return `A cell is the largest of about ${size} weights; sums are those of the cells.`;
  }

  #brokenText() {
    if (!this.matrix.hasNaN) return "";
    const broken = this.matrix.values.reduce((count, value) => count + (Number.isNaN(value) ? 1 : 0), 0);
    return `${broken} of ${this.matrix.values.length} weights are not a number (grey, hatched).`;
  }

  #cellText(row, column) {
    const value = this.view.weightText(this.matrix.values[row * this.matrix.columns + column]);
    return `${this.queries.name(row)} → ${this.keys.name(column)}: ${value}`;
  }

  /** What is at a place, in words. */
  #valueText(place) {
    if (!place) return "";
    const { row, column } = place;
    const { view, all, fromPins, matrix } = this;
    const parts = [];
    if (row !== null && column !== null) parts.push(this.#cellText(row, column));
    if (row !== null) parts.push(`${column === null ? this.queries.name(row) : "row"} sums to ${view.weightText(all.rows[row])}`);
    if (row !== null && matrix.removed[row] > 0) {
      parts.push(`${Math.round(matrix.removed[row] * 100)} % of it went to hidden tokens`);
    }
    if (column !== null) {
      parts.push(`${row === null ? this.keys.name(column) : "column"} receives ${view.weightText(all.columns[column])} in all`);
    }
    if (row !== null && fromPins.rows) parts.push(`${view.weightText(fromPins.rows[row])} to the pinned columns`);
    if (column !== null && fromPins.columns) parts.push(`${view.weightText(fromPins.columns[column])} from the pinned rows`);
    return parts.join(" · ");
  }
}
