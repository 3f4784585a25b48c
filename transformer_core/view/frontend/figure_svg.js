// Drawing SVG: shapes and text as elements, never as pasted strings. Figures are for paper: white ground, dark ink.

import { cividisCss } from "./colours.js";
import { SCALE_TICKS } from "./matrix_paint.js";
import { scaled } from "./weights.js";

const NAMESPACE = "http://www.w3.org/2000/svg";

export const INK = "#1c1f24";
export const FAINT = "#5c636e";
export const ACCENT = "#c2410c";

/** Fonts that every machine has: a file cannot bring its own. */
export const TOKEN_FONT = { "font-family": "monospace", "font-size": 12 };
export const WORD_FONT = { "font-family": "sans-serif", "font-size": 12 };
export const TITLE_FONT = { ...WORD_FONT, "font-weight": "bold" };

/** What XML cannot hold, not even escaped (https://www.w3.org/TR/xml/#charsets): a text may have such characters. */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** An SVG element. Text is set as text, and its blanks stay. */
export function svg(tag, attributes = {}, ...content) {
  const made = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content.map((each) => (typeof each === "string" ? each.replace(FORBIDDEN, "\ufffd") : each)));
  return made;
}

const measuring = document.createElement("canvas").getContext("2d");

/** How wide a text is, in pixels. */
export function textWidth(text, font) {
  measuring.font = `${font["font-weight"] ?? ""} ${font["font-size"]}px ${font["font-family"]}`;
  return measuring.measureText(text).width;
}

/** The text in lines of at most so many pixels; a longer word, or a text without blanks, goes on in the next line. */
export function wrapped(text, width, font) {
  const lines = [];
  for (const word of text.split(/\s+/)) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && textWidth(longer, font) <= width) lines[lines.length - 1] = longer;
    else lines.push(...pieces(word, width, font));
  }
  return lines;
}

function pieces(word, width, font) {
  if (textWidth(word, font) <= width) return [word];
  const found = [""];
  for (const character of word) {
    if (found.at(-1) && textWidth(found.at(-1) + character, font) > width) found.push("");
    found[found.length - 1] += character;
  }
  return found;
}

/** A text at a place. */
export function label(text, x, y, attributes = {}) {
  return svg("text", { x, y, fill: INK, "xml:space": "preserve", ...WORD_FONT, ...attributes }, text);
}

const BAR = { width: 220, height: 10 };

/** Height of a colour bar with its ticks and its name. */
export const COLOUR_BAR_HEIGHT = 44;

/** A colour bar whose ticks say which weight has which colour. */
export function colourBar(scale, x, y) {
  const { name, ticks, text } = SCALE_TICKS[scale];
  const bar = svg("g", { class: "colour-bar", transform: `translate(${x} ${y})` });
  const steps = 64;
  for (let step = 0; step < steps; step++) {
    const left = (step * BAR.width) / steps;
    // A little wider than its step, so that no gap shows between two.
    const width = BAR.width / steps + (step < steps - 1 ? 0.5 : 0);
    bar.append(svg("rect", { x: left, y: 0, width, height: BAR.height, fill: cividisCss(step / (steps - 1)) }));
  }
  ticks.forEach((tick, i) => {
    const at = scaled(tick, scale, 1) * BAR.width;
    const anchor = i === 0 ? "start" : i === ticks.length - 1 ? "end" : "middle";
    bar.append(svg("line", { x1: at, x2: at, y1: BAR.height, y2: BAR.height + 3, stroke: FAINT }));
    bar.append(label(text(tick), at, BAR.height + 14, { "text-anchor": anchor, "font-size": 10 }));
  });
  bar.append(label(name, 0, BAR.height + 28, { fill: FAINT, "font-size": 11 }));
  return bar;
}

/** Strokes over what is not a number. */
export function hatch() {
  const pattern = svg("pattern", { id: "hatch", width: 4, height: 4, patternUnits: "userSpaceOnUse" });
  pattern.append(svg("rect", { width: 4, height: 4, fill: "#c9c9c9" }));
  pattern.append(svg("path", { d: "M0 4 4 0", stroke: INK, "stroke-width": 0.7 }));
  return svg("defs", {}, pattern);
}
