// An image with weights laid over its patches.

import { clearedContext, sizeCanvas } from "./canvas.js";
import { cividisCss } from "./colours.js";
import { largest } from "./matrix_paint.js";
import { scaled } from "./weights.js";

/** Of the colours laid over the image: the patch must still be recognised. */
const OPACITY = 0.65;

/** Left, top, width and height of a patch on an image of `width` by `height`. */
export function patchBox(patch, { rows, columns }, width, height) {
  const across = width / columns, down = height / rows;
  return [(patch % columns) * across, Math.floor(patch / columns) * down, across, down];
}

/**
 * Paint an image with its patches coloured, from 0 to the largest of their weights.
 * @param {HTMLCanvasElement} canvas is given the size.
 * @param {HTMLImageElement} image nothing of it is painted while it loads.
 * @param {Float32Array} patches the weight of each patch, row by row.
 * @param {{rows: number, columns: number}} grid of patches.
 * @param {string} scale of colours.
 * @returns {CanvasRenderingContext2D} to go on with.
 */
export function paintPatches(canvas, image, patches, grid, scale, width, height) {
  sizeCanvas(canvas, width, height);
  const context = clearedContext(canvas);
  if (image.complete && image.naturalWidth) context.drawImage(image, 0, 0, width, height);
  const most = largest(patches) || 1;
  context.globalAlpha = OPACITY;
  patches.forEach((weight, patch) => {
    context.fillStyle = Number.isNaN(weight) ? "rgb(128 128 128)" : cividisCss(scaled(weight / most, scale, 1));
    context.fillRect(...patchBox(patch, grid, width, height));
  });
  context.globalAlpha = 1;
  return context;
}
