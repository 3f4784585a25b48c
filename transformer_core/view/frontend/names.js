// What is shown, in words. Layers, heads, rows and columns are counted from 1 for a reader.

import { isolated, shortened } from "./tokens.js";

/** Whole numbers that count from 0, as a reader counts them: "1, 3 to 5". @param {number[]} numbers sorted */
export function listed(numbers) {
  const runs = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run && number === run[1] + 1) run[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => {
    if (first === last) return `${first + 1}`;
    return last === first + 1 ? `${first + 1}, ${last + 1}` : `${first + 1} to ${last + 1}`;
  }).join(", ");
}

/** Which weights the matrix shows: "layer 2, head 4", or "mean over heads 1, 3 of layers 2 to 4". */
export function shownName({ combine, layer, head, layers, heads }) {
  if (combine === "head") return `layer ${layer + 1}, head ${head + 1}`;
  const what = combine === "mean" ? "mean" : "maximum";
  const plural = (word, numbers) => `${word}${numbers.length > 1 ? "s" : ""} ${listed(numbers)}`;
  return `${what} over ${plural("head", heads)} of ${plural("layer", layers)}`;
}

/** A token in a sentence. */
export function quoted(label, most = 40) {
  return `“${isolated(shortened(label, most))}”`;
}
