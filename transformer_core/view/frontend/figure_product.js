// q·k as a figure: the products of a query and a key, their running sum, the steps from there to the weight, and the
// row whose softmax it is of.

import { ACCENT, FAINT, INK, label, svg, textWidth, TOKEN_FONT, wrapped, WORD_FONT } from "./figure_svg.js";
import { shortened } from "./tokens.js";

const WIDTH = 720, BARS = 150, SUM = 90, ROW = 60, LEFT = 60;

/** Room that the label of a key needs, and its characters. */
const LABEL = 12, LONGEST = 20;

/** The ends of RdBu, for values with a sign. */
const POSITIVE = "#2166ac", NEGATIVE = "#b2182b";

/**
 * @param {import("./product.js").Pair} pair as the server explained it.
 * @param {string[]} steps the chain from the products to the weight, in words.
 * @param {{scores: number[], weights: number[], keys: string[]}} row what the softmax is over; NaN is no number.
 * @returns {{element: SVGElement, width: number, height: number}}
 */
export function productFigure(pair, steps, row) {
  const element = svg("g", {});
  const step = (WIDTH - LEFT) / pair.products.length;
  const sums = [];
  pair.products.reduce((total, product) => (sums.push(total + product), total + product), 0);
  const axis = (values, top, height, name) => {
    const numbers = values.filter(Number.isFinite);
    const high = Math.max(0, ...numbers), low = Math.min(0, ...numbers), range = high - low || 1;
    const y = (value) => top + ((high - value) / range) * height;
    element.append(label(name, LEFT, top - 8, { "font-weight": "bold" }));
    element.append(svg("line", { x1: LEFT, x2: WIDTH, y1: y(0), y2: y(0), stroke: FAINT }));
    for (const value of new Set([high, low])) {
      element.append(label(value.toPrecision(3), LEFT - 6, y(value) + 4, { "text-anchor": "end", "font-size": 10 }));
    }
    return y;
  };
  const bar = axis(pair.products, 24, BARS, "product of query and key, dimension by dimension");
  const bars = svg("g", { class: "products" });
  pair.products.forEach((product, i) => {
    const size = { y: Math.min(bar(product), bar(0)), height: Math.abs(bar(product) - bar(0)), width: step * 0.85 };
    bars.append(svg("rect", { x: LEFT + i * step, ...size, fill: product < 0 ? NEGATIVE : POSITIVE }));
  });
  const sum = axis(sums, 24 + BARS + 44, SUM, "their running sum");
  const points = sums.map((total, i) => `${LEFT + (i + 0.5) * step},${sum(total)}`).join(" ");
  element.append(bars, svg("polyline", { points, fill: "none", stroke: INK, "stroke-width": 1.5 }));
  let y = 24 + BARS + 44 + SUM + 30;
  for (const line of steps.flatMap((text) => wrapped(text, WIDTH - LEFT, WORD_FONT))) {
    element.append(label(line, LEFT, y, TOKEN_FONT));
    y += 18;
  }
  const each = (WIDTH - LEFT) / row.keys.length;
  for (const name of ["scores", "weights"]) {
    y += 24;
    const place = axis(row[name], y, ROW, `${name} of the row, key by key`);
    element.append(rowOfBars(name, row[name], pair.column, place, each));
    y += ROW + 12;
  }
  const { names, height } = namesOfKeys(row.keys, pair.column, y, each);
  element.append(names);
  return { element, width: WIDTH, height: y + height };
}

/** A bar for each key, that of the pair in the accent. */
function rowOfBars(name, values, column, place, each) {
  const group = svg("g", { class: name });
  values.forEach((value, key) => {
    if (!Number.isFinite(value)) return;
    const size = { y: Math.min(place(value), place(0)), height: Math.abs(place(value) - place(0)), width: each * 0.85 };
    group.append(svg("rect", { x: LEFT + key * each, ...size, fill: key === column ? ACCENT : FAINT }));
  });
  return group;
}

/** The keys, downwards; where they are too close for that, the pair's alone. */
function namesOfKeys(keys, column, top, each) {
  const names = svg("g", { class: "keys" });
  const texts = keys.map((key) => shortened(key, LONGEST));
  const shown = texts.map((_, key) => key).filter((key) => each >= LABEL || key === column);
  for (const key of shown) {
    const look = { ...TOKEN_FONT, "text-anchor": "end", class: "key", fill: key === column ? ACCENT : INK };
    const x = LEFT + (key + 0.43) * each + 4;
    names.append(label(texts[key], 0, 0, { ...look, transform: `translate(${x} ${top}) rotate(-90)` }));
  }
  return { names, height: Math.ceil(Math.max(...shown.map((key) => textWidth(texts[key], TOKEN_FONT)))) };
}
