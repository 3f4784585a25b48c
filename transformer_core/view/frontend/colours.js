// Colours: cividis for weights, and a colour and a dash for each head.

/** Even in lightness, and readable with every common colour blindness (Nunez et al. 2018, arXiv 1712.01662). */
const STOPS = [
  [0x00, 0x22, 0x4e], [0x12, 0x35, 0x70], [0x3b, 0x49, 0x6c], [0x57, 0x5d, 0x6d], [0x70, 0x71, 0x73],
  [0x8a, 0x86, 0x78], [0xa5, 0x9c, 0x74], [0xc3, 0xb3, 0x69], [0xe1, 0xcc, 0x55], [0xfe, 0xe8, 0x38],
];

/** @returns {number[]} red, green and blue, 0 to 255, of x from 0 to 1; grey of what is not a number. */
export function cividis(x) {
  if (Number.isNaN(x)) return NO_NUMBER;
  const place = Math.min(Math.max(x, 0), 1) * (STOPS.length - 1);
  const low = Math.min(Math.floor(place), STOPS.length - 2);
  return STOPS[low].map((channel, i) => Math.round(channel + (place - low) * (STOPS[low + 1][i] - channel)));
}

/** A cividis colour for CSS. */
export function cividisCss(x) {
  return `rgb(${cividis(x).join(" ")})`;
}

/** Red, green, blue and alpha as one number of an ImageData buffer, on the machines that browsers run on. */
export function packed([red, green, blue], alpha = 255) {
  return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Cividis in 256 steps, as numbers of an ImageData buffer. */
export const CIVIDIS = Uint32Array.from({ length: 256 }, (_, step) => packed(cividis(step / 255)));

/** What has no colour, because it is not a number. */
export const NO_NUMBER = [128, 128, 128];

// Paul Tol's "muted" scheme (https://personal.sron.nl/~pault/), with a darker grey on white, lightened on near-black.
const ON_LIGHT = [
  "#332288", "#cc6677", "#117733", "#aa4499", "#44aa99", "#882255", "#999933", "#3a86b8", "#b8952b", "#6b6b6b",
];
const ON_DARK = [
  "#88ccee", "#ee8899", "#55bb77", "#dd88cc", "#44ccaa", "#ddcc77", "#bbbb44", "#9999ee", "#ee99bb", "#aaaaaa",
];
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

/**
 * What tells a head from the others. Ten colours, then the same with dashes: 40 heads differ. Beyond, only the number
 * on the head's chip does.
 * @returns {{css: string, rgb: number[], dash: number[]}} dash as canvas and SVG have it, empty for a solid line.
 */
export function headColour(head, isDark) {
  const colours = isDark ? ON_DARK : ON_LIGHT;
  const css = colours[head % colours.length];
  const rgb = [1, 3, 5].map((start) => parseInt(css.slice(start, start + 2), 16));
  return { css, rgb, dash: DASHES[Math.floor(head / colours.length) % DASHES.length] };
}
