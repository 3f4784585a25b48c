// Tokens as text that fits. What cannot be seen in a token was made visible before it was sent.

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The first `most` characters, as a reader counts them, with "…" in the place of the last where some are missing. */
export function shortened(label, most = 14) {
  if (label.length <= most) return label;
  const parts = Array.from(graphemes.segment(label), ({ segment }) => segment);
  return parts.length <= most ? label : `${parts.slice(0, most - 1).join("")}…`;
}

/** The label set apart, so that a word from right to left turns nothing but itself. */
export function isolated(label) {
  return `\u2068${label}\u2069`;
}
