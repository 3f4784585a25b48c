// Tokens as text that fits. What cannot be seen in a token was made visible before it was sent.

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The first `most` characters, as a reader counts them, with "…" in the place of the last where some are missing. */
export function shortened(label, most = 14) {
  if (label.length <= most) return label;
  const parts = Array.from(graphemes.segment(label), ({ segment }) => segment);
  return parts.length <= most ? label : `${parts.slice(0, most - 1).join("")}…`;
}

/**
 * A token's label beside a drawing: at most so many characters; of a patch, its row and column, say "2,3".
 * @param {number} token its place
 * @param {null | {rows: number, columns: number, first_patch: number}} image that the tokens are of
 */
export function shortLabel(label, token, image, most) {
  const patch = image ? token - image.first_patch : -1;
  if (patch < 0 || patch >= image.rows * image.columns) return shortened(label, most);
  return `${Math.floor(patch / image.columns) + 1},${(patch % image.columns) + 1}`;
}

/** The label set apart, so that a word from right to left turns nothing but itself. */
export function isolated(label) {
  return `\u2068${label}\u2069`;
}
