// The drawings as figures to keep, as SVG or PNG: with axes, tokens, colour bar, and a caption that says what they show.

import { hasSpecial, hasSubWords } from "./choosing.js";
import { imageFigure } from "./figure_image.js";
import { linesFigure } from "./figure_lines.js";
import { matrixFigure } from "./figure_matrix.js";
import { overviewFigure, stacksInOverview } from "./figure_overview.js";
import { productFigure } from "./figure_product.js";
import { FAINT, INK, label, svg, WORD_FONT, wrapped } from "./figure_svg.js";
import { missingText } from "./lines_words.js";
import { listed, shownName } from "./names.js";
import { hasBlocks, hasNaN } from "./thumbnails.js";

const MARGIN = 16, LINE = 16;

const LARGEST_OF_A_BLOCK = "Each cell is the largest weight of a block of tokens.";

/** Pixels of a PNG for each of the SVG: about 300 to the inch of a page. */
const SHARPNESS = 3;

/** Pixels of the longer side of a sheet of A2 at 300 to the inch: a larger PNG takes seconds to make. */
const LARGEST_SHEET = 7016;

/** Pixels of a PNG for each of the SVG with which the tokens are legible, however large it gets. */
const LEGIBLE = 1.5;

/** Pixels that a canvas can have in Chrome, Firefox and Safari: on a side, and in all. */
const MOST_SIDE = 16384, MOST_PIXELS = 120e6;

/**
 * Save a figure as a file.
 * @param {import("./view.js").View} view
 * @param {"drawing"|"overview"} what the open drawing, or all heads.
 * @param {"svg"|"png"} format
 * @returns {Promise<string>} what is to be said of it; empty if there is nothing.
 */
export async function saveFigure(view, what, format) {
  const figure = figureOf(view, what);
  if (typeof figure === "string") return figure;
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(figure)}`;
  const sharpness = sharpnessOf(figure);
  const asIs = () => new Blob([text], { type: "image/svg+xml" });
  const file = format === "svg" ? asIs() : await rasterised(figure, text, sharpness);
  if (!file) return "This browser could not make the PNG. Save it as SVG.";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${fileName(view, what)}.${format}`;
  link.click();
  // Not at once: the browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  const isReduced = format === "png" && sharpness < SHARPNESS;
  return isReduced ? "The PNG is less sharp than others, because the figure is large. The SVG is sharp." : "";
}

/** The figure as one SVG element, or why there is none. */
function figureOf(view, what) {
  const drawn = what === "overview" ? overviewFigure(view) : drawing(view);
  if (typeof drawn === "string") return drawn;
  const width = Math.ceil(Math.max(drawn.width, 420)) + 2 * MARGIN;
  const caption = captionOf(view, what).flatMap((line) => wrapped(line, width - 2 * MARGIN, WORD_FONT));
  const height = Math.ceil(drawn.height) + 2 * MARGIN + 12 + caption.length * LINE;
  const figure = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  figure.append(svg("title", {}, captionOf(view, what)[0]), svg("desc", {}, captionOf(view, what).slice(1).join(" ")));
  figure.append(svg("rect", { width, height, fill: "#ffffff" }));
  drawn.element.setAttribute("transform", `translate(${MARGIN} ${MARGIN})`);
  figure.append(drawn.element);
  caption.forEach((line, i) => {
    const y = Math.ceil(drawn.height) + MARGIN + 16 + (i + 1) * LINE - 4;
    figure.append(label(line, MARGIN, y, { ...WORD_FONT, fill: i ? FAINT : INK, class: "caption" }));
  });
  return figure;
}

function drawing(view) {
  const { state } = view;
  if (state.view === "lines" && view.isPooled) return "The weights of this head are here only as a small picture.";
  if (state.view === "lines") return linesFigure(view, view.details.lines.heads.drawn);
  if (state.view === "matrix") return matrixFigure(view);
  if (state.view === "product") {
    const pair = view.currentAnswer?.pair;
    if (!pair || pair.reason) return "There are no products to save.";
    const { steps, row } = view.details.product;
    return productFigure(pair, steps, row);
  }
  const { patches, row, scale } = view.details.image;
  if (!row) return "There are no weights of patches to save.";
  return imageFigure(view.payload.meta.image, patches, scale, view.weightText);
}

/** What is shown, of which model and text, after which filters: the first line says most. */
function captionOf(view, what) {
  const { state, stack, payload } = view;
  const { text, second_text: second, answer, source } = payload.meta;
  const shown = what === "overview"
    ? `All heads of ${stacksInOverview(view).map((each) => each.title).join(", ")}.`
    : `${stack.title}, ${placeOf(view)}.`;
  // These two are about a query, or a pair.
  const about = what === "drawing" && ["image", "product"].includes(state.view) && view.detail.title.textContent;
  const notes = what === "overview" ? ofOverview(view) : ofDrawing(view);
  return [
    [shown, ...notes, ...filters(filteredStacks(view, what), state)].filter(Boolean).join(" "),
    about,
    `Text: ${text}${second ? ` / ${second}` : ""}`,
    answer && `Answer: ${answer}`,
    `Rows are queries, columns are keys; layers, heads and positions count from 1. Model: ${source}.`,
  ].filter(Boolean);
}

/** What a thumbnail has where in blocks, which lines there are, and what thumbnails cannot show. */
function ofOverview(view) {
  const { state, payload } = view;
  const isBlocks = state.arrangement === "blocks" && hasBlocks(payload), isLines = state.overview === "lines";
  const stacks = stacksInOverview(view);
  const broken = isLines ? "Striped heads have weights that are not numbers." : "Grey cells are not numbers.";
  return [
    isBlocks && "In each square the encoder is above, cross attention below it, and the decoder beside that.",
    isLines && linesNote(state),
    stacks.some((stack) => stack.thumbnail(0, 0).isPooled) && LARGEST_OF_A_BLOCK,
    stacks.some(hasNaN) && broken,
  ];
}

/** Which lines there are, and what a matrix or lines cannot show. */
function ofDrawing(view) {
  const { state } = view;
  if (state.view === "matrix") {
    const { blocks, hasNaN: isBroken } = view.shownMatrix();
    return [blocks && LARGEST_OF_A_BLOCK, isBroken && "Hatched cells are not numbers."];
  }
  if (state.view !== "lines") return [];
  const { drawn, missing } = view.details.lines.heads;
  const broken = drawn.filter((head) => view.matrix(state.layer, head).hasNaN);
  return [
    linesNote(state),
    missingText(view, missing),
    broken.length > 0 && `Rows with weights that are not numbers have no lines (head ${listed(broken)}).`,
  ];
}

function linesNote({ share }) {
  return `Lines: the strongest weights of each query, up to ${Math.round(share * 100)} % of its row.`;
}

/** The stacks whose tokens filters hide and merge. Small pictures, an image and a pair are of all tokens. */
function filteredStacks(view, what) {
  if (what === "overview") return stacksInOverview(view).filter((stack) => !stack.thumbnail(0, 0).isPooled);
  const { state, stack } = view;
  return state.view === "lines" || (state.view === "matrix" && !view.shownMatrix().blocks) ? [stack] : [];
}

function filters(stacks, { hideSpecial, mergeWords }) {
  return [
    hideSpecial && stacks.some(hasSpecial) && "Special tokens are hidden, and rows sum to 1 without them.",
    mergeWords && stacks.some(hasSubWords) && "Sub-words are merged to words.",
  ];
}

function placeOf(view) {
  const { state } = view;
  const open = `layer ${state.layer + 1}, head ${state.head + 1}`;
  if (state.view === "matrix") return shownName(state);
  if (state.view === "lines") {
    const { drawn: heads } = view.details.lines.heads;
    return `layer ${state.layer + 1}, head${heads.length > 1 ? "s" : ""} ${listed(heads)}`;
  }
  return open;
}

/** A name that says what is in the file, and that every file system takes. */
function fileName(view, what) {
  const { state, stack, payload } = view;
  const model = payload.meta.title.split(/[\\/]/).filter(Boolean).at(-1) ?? "";
  const shown = what === "overview" ? ["all heads"] : [stack.title, state.view, placeOf(view)];
  const plain = (part) => part.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60).replace(/^-+|-+$/g, "");
  return ["headlight", model, ...shown].map(plain).filter(Boolean).join("-").toLowerCase();
}

function sizeOf(figure) {
  return ["width", "height"].map((name) => Number(figure.getAttribute(name)));
}

/** Pixels of the PNG for each of the figure: as many as paper and a canvas can have. */
function sharpnessOf(figure) {
  const [width, height] = sizeOf(figure), side = Math.max(width, height);
  const wanted = Math.min(SHARPNESS, Math.max(LEGIBLE, LARGEST_SHEET / side));
  return Math.min(wanted, MOST_SIDE / side, Math.sqrt(MOST_PIXELS / (width * height)));
}

/** The figure as a PNG; null if the browser cannot make it. */
async function rasterised(figure, text, sharpness) {
  const [width, height] = sizeOf(figure);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  try {
    await image.decode();
  } catch {
    return null;
  }
  const canvas = document.createElement("canvas");
  canvas.width = Math.floor(width * sharpness);
  canvas.height = Math.floor(height * sharpness);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  // Not toBlob: Chromium encodes in idle time, and lets a page on which nothing moves wait for seconds.
  const [kind, content] = canvas.toDataURL("image/png").split(",");
  if (!kind.includes("png")) return null;
  return new Blob([bytesOf(content)], { type: "image/png" });
}

/** What a text in base64 holds. Not by `Uint8Array.from`, which takes seconds for the 30 MB of a large figure. */
function bytesOf(base64) {
  const characters = atob(base64), bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}
