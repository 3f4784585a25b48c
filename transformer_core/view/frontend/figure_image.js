// An image with what one token reads from it as a figure.

import { cividisCss } from "./colours.js";
import { COLOUR_BAR_HEIGHT, colourBar, label, svg } from "./figure_svg.js";
import { largest } from "./matrix_paint.js";
import { scaled } from "./weights.js";

const SIDE = 480, OPACITY = 0.65;

/**
 * @param {{uri: string, rows: number, columns: number}} image
 * @param {Float32Array} patches the weight of each patch, row by row.
 * @param {string} scale of colours, of the share of the largest weight.
 * @param {(weight: number) => string} textOf a weight for a reader.
 * @returns {{element: SVGElement, width: number, height: number}}
 */
export function imageFigure({ uri, rows, columns }, patches, scale, textOf) {
  const cell = SIDE / Math.max(rows, columns), width = columns * cell, height = rows * cell;
  const element = svg("g", {}, svg("image", { href: uri, width, height, preserveAspectRatio: "none" }));
  const most = largest(patches);
  patches.forEach((weight, i) => {
    if (Number.isNaN(weight)) return;
    const place = { x: (i % columns) * cell, y: Math.floor(i / columns) * cell, width: cell, height: cell };
    element.append(svg("rect", { ...place, fill: cividisCss(scaled(weight / (most || 1), scale, 1)), opacity: OPACITY }));
  });
  element.append(colourBar(scale, 0, height + 26));
  element.append(label(`1 is the largest weight on a patch, ${textOf(most)}`, 0, height + 16, { "font-size": 11 }));
  return { element, width: Math.max(width, 240), height: height + 26 + COLOUR_BAR_HEIGHT };
}
