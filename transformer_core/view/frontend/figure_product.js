// q·k as a figure: the products of a query and a key, their running sum, and the steps from there to the weight.

import { FAINT, INK, label, svg, TOKEN_FONT, wrapped, WORD_FONT } from "./figure_svg.js";

const WIDTH = 720, BARS = 150, SUM = 90, LEFT = 60;

/** The ends of RdBu, for values with a sign. */
const POSITIVE = "#2166ac", NEGATIVE = "#b2182b";

/**
 * @param {import("./product.js").Pair} pair as the server explained it.
 * @param {string[]} steps the chain from the products to the weight, in words.
 * @returns {{element: SVGElement, width: number, height: number}}
 */
export function productFigure(pair, steps) {
  const element = svg("g", {});
  const step = (WIDTH - LEFT) / pair.products.length;
  const sums = [];
  pair.products.reduce((total, product) => (sums.push(total + product), total + product), 0);
  const axis = (values, top, height, name) => {
    const high = Math.max(0, ...values), low = Math.min(0, ...values), range = high - low || 1;
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
  return { element, width: WIDTH, height: y };
}
