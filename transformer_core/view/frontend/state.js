// What of an inspection is shown, and how: everything that a link holds. Layers, heads and tokens count from 0.

export const VIEWS = ["lines", "matrix", "product", "image"];
export const SCALES = ["square root", "linear", "log", "row"];

const OVERVIEWS = ["maps", "lines"];
const ARRANGEMENTS = ["stacks", "blocks"];
const COMBINATIONS = ["head", "mean", "max"];

/** How much of a row's mass the drawn edges make up at first, and at least. */
const SHARE = 0.7, MIN_SHARE = 0.05;

/** Tokens on the longer side up to which a stack opens as lines. */
const LONGEST_FOR_LINES = 512;

/** Pinned tokens a side. */
export const MAX_PINS = 100;

/**
 * A full and possible state from any: numbers in range, lists sorted, without double entries, and holding what is open.
 * What this payload does not have (a stack, a token) gives way to what a stack opens with; all else stays. The rules are
 * those of transformer_core/view/state.py.
 */
export function normalized(state, payload) {
  const stack = payload.stacks.find(({ name }) => name === state.stack) ?? openingStack(payload);
  const layer = placeBelow(stack.numLayers, state.layer, stack.numLayers - 1);
  const head = placeBelow(stack.numHeads(layer), state.head, 0);
  return {
    stack: stack.name,
    view: viewOf(state.view, stack, payload),
    overview: oneOf(OVERVIEWS, state.overview),
    arrangement: oneOf(ARRANGEMENTS, state.arrangement),
    layer,
    head,
    heads: sorted([...placesBelow(stack.mostHeads, state.heads), head]),
    layers: sorted([...placesBelow(stack.numLayers, state.layers), layer]),
    combine: oneOf(COMBINATIONS, state.combine),
    scale: oneOf(SCALES, state.scale),
    share: shareOf(state.share),
    hideSpecial: state.hideSpecial === true,
    mergeWords: state.mergeWords === true,
    pinnedQueries: sorted(placesBelow(stack.queries.length, state.pinnedQueries)).slice(0, MAX_PINS),
    pinnedKeys: sorted(placesBelow(stack.keys.length, state.pinnedKeys)).slice(0, MAX_PINS),
    pinnedCell: cellOf(stack, state.pinnedCell),
  };
}

/** Whether the keys of a stack include every patch of the image, so that weights can be drawn on it. */
export function showsImage({ image }, stack) {
  return Boolean(image) && stack.keys.length >= image.first_patch + image.rows * image.columns;
}

function openingStack({ stacks }) {
  return stacks.find(({ name }) => name === "cross") ?? stacks.find(({ whole }) => !whole);
}

function viewOf(view, stack, { meta }) {
  const hasImage = showsImage(meta, stack);
  if (VIEWS.includes(view) && (view !== "image" || hasImage)) return view;
  if (hasImage) return "image";
  return Math.max(stack.queries.length, stack.keys.length) <= LONGEST_FOR_LINES ? "lines" : "matrix";
}

function oneOf(options, value) {
  return options.includes(value) ? value : options[0];
}

/** The share in whole percent. */
function shareOf(share) {
  const isShare = typeof share === "number" && share >= MIN_SHARE && share <= 1;
  return isShare ? Math.round(share * 100) / 100 : SHARE;
}

/** The nearest place there is; of what is no whole number, `otherwise`. */
function placeBelow(count, value, otherwise) {
  return Number.isInteger(value) ? Math.min(Math.max(value, 0), count - 1) : otherwise;
}

function placesBelow(count, values) {
  return (Array.isArray(values) ? values : []).filter((each) => isPlace(each, count));
}

function cellOf(stack, cell) {
  const isCell = Array.isArray(cell) && cell.length === 2;
  return isCell && isPlace(cell[0], stack.queries.length) && isPlace(cell[1], stack.keys.length) ? cell : null;
}

function isPlace(value, count) {
  return Number.isInteger(value) && value >= 0 && value < count;
}

function sorted(numbers) {
  return [...new Set(numbers)].sort((a, b) => a - b);
}
