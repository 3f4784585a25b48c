// What of an inspection is shown, and how: everything that a link holds. Layers, heads and tokens count from 0.

export const SCALES = ["square root", "linear", "log", "row"];

export const DEFAULTS = {
  stack: null,
  view: "lines",
  overview: "maps",
  arrangement: "stacks",
  layer: 0,
  head: 0,
  heads: [0],
  layers: [0],
  combine: "head",
  scale: "square root",
  share: 0.7,
  hideSpecial: false,
  mergeWords: false,
  pinnedQueries: [],
  pinnedKeys: [],
  pinnedCell: null,
};

/**
 * The state with everything possible in this payload: numbers in range, lists sorted, without double entries, and
 * holding what is open. What a new text does not have (a stack, a token) gives way; all else stays.
 */
export function normalized(state, payload) {
  const full = { ...DEFAULTS, ...state };
  const stack = payload.stack(full.stack);
  const layer = clamped(full.layer, stack.numLayers);
  const head = clamped(full.head, stack.numHeads(layer));
  const isCell = full.pinnedCell && full.pinnedCell[0] < stack.queries.length && full.pinnedCell[1] < stack.keys.length;
  return {
    ...full,
    stack: stack.name,
    view: full.view === "image" && !payload.meta.image ? "lines" : full.view,
    layer,
    head,
    heads: sorted([...full.heads.filter((each) => each < stack.mostHeads), head]),
    layers: sorted([...full.layers.filter((each) => each < stack.numLayers), layer]),
    share: Math.min(Math.max(full.share, 0.05), 1),
    pinnedQueries: sorted(full.pinnedQueries.filter((each) => each < stack.queries.length)),
    pinnedKeys: sorted(full.pinnedKeys.filter((each) => each < stack.keys.length)),
    pinnedCell: isCell ? full.pinnedCell : null,
  };
}

function clamped(value, count) {
  return Math.min(Math.max(value, 0), count - 1);
}

function sorted(numbers) {
  return [...new Set(numbers)].sort((a, b) => a - b);
}
