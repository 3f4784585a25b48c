// All layers and heads of all stacks at once. What is chosen here opens beside it.

import { cividisCss } from "./colours.js";
import { element } from "./elements.js";
import { quoted } from "./names.js";
import { createSegments } from "./segments.js";
import { createMarks } from "./thumbnail_marks.js";
import { boxOfHead, hasBlocks, headAt, laidOut, paintThumbnails, poolingOf, tablesOf } from "./thumbnails.js";
import { matrixOf, strongestPair } from "./weights.js";

const KINDS = [["maps", "Maps"], ["lines", "Lines"]];
const ARRANGEMENTS = [["stacks", "Stacks"], ["blocks", "Blocks"]];

/** What a colour shows, and the weights at the two ends of the scale. */
const LEGENDS = {
  "square root": ["square root of the weight", "0", "1"],
  linear: ["weight", "0", "1"],
  log: ["logarithm of the weight", "≤ 0.0001", "1"],
  row: ["share of the row's largest", "0", "1"],
};

/** Pixels that a scroll bar may take. */
const SCROLL_BAR = 16;

/** Layers that the description names. */
const MOST_DESCRIBED = 12;

/** Characters of a token in a line of text. */
const MOST_CHARACTERS = 16;

export function createOverview(view) {
  const root = element("section", "overview");
  root.setAttribute("aria-label", "All heads");
  const kind = createSegments("Thumbnails as", (overview) => view.setState({ overview }));
  const arrangement = createSegments("Arranged as", (each) => view.setState({ arrangement: each }));
  const legend = createLegend();
  const header = element("div", "overview-header");
  header.append(kind.element, arrangement.element, legend.element);
  const named = element("p", "named");
  const scroll = element("div", "scroll");
  const content = element("div", "content");
  const picture = element("canvas", "picture");
  const marks = createMarks(view, scroll);
  const note = element("p", "note");
  content.append(picture, marks.element);
  scroll.append(content);
  root.append(header, named, scroll, note);

  let layout = null;
  let painted = null;
  let opened = "";
  /** Where the arrow keys are: {stack, layer, head}. */
  let focused = null;

  function update() {
    const { state, payload } = view;
    kind.update(KINDS, state.overview);
    arrangement.update(ARRANGEMENTS, state.arrangement);
    arrangement.element.hidden = !hasBlocks(payload);
    legend.update(state);
    // In full screen the overview has no place.
    if (!root.clientWidth) return;
    arrange();
    const open = { stack: state.stack, layer: state.layer, head: state.head };
    if (JSON.stringify(open) !== opened) {
      opened = JSON.stringify(open);
      focused = open;
      show(open);
    } else if (!boxOfHead(layout, focused.stack, focused.layer, focused.head)) {
      // What the keys have led to went with the inspection before.
      focused = open;
    }
    hover();
  }

  /** Lay the thumbnails out in the room there is, and paint them where anything of their picture has changed. */
  function arrange() {
    const { state, payload, theme } = view;
    const tables = tablesOf(view);
    const em = parseFloat(getComputedStyle(root).fontSize), room = roomIn(scroll);
    layout = laidOut(tables, room.width, room.height, em);
    if (layout.height > room.height) layout = laidOut(tables, room.width - SCROLL_BAR, room.height, em);
    content.style.width = `${layout.width}px`;
    content.style.height = `${layout.height}px`;
    const { overview, scale, share, hideSpecial, mergeWords } = state;
    const stacks = tables.map(({ parts }) => parts.map(({ stack }) => stack.name));
    const how = overview === "lines" ? [share, theme.panel, theme.isDark] : scale;
    const { width, height, pitch } = layout;
    const wanted = JSON.stringify([how, hideSpecial, mergeWords, stacks, width, height, pitch, devicePixelRatio]);
    if (painted?.payload !== payload || painted.wanted !== wanted) {
      paintThumbnails(picture, view, layout, devicePixelRatio);
      painted = { payload, wanted };
      note.textContent = poolingText(view, layout);
    }
    marks.resize(layout);
  }

  /** What only the pointer or the keys have changed: the thumbnails stay as they are. */
  function hover() {
    if (!layout) return;
    const pointed = view.hover?.stack === undefined ? null : view.hover;
    marks.draw(layout, pointed);
    named.textContent = headText(view, pointed ?? view.state);
    named.title = named.textContent;
    marks.element.setAttribute("aria-label", headText(view, focused));
  }

  /** Scroll so far that a head is in sight, beside the numbers. */
  function show({ stack, layer, head }) {
    const box = boxOfHead(layout, stack, layer, head);
    if (!box) return;
    const { edge, top, pitch } = layout;
    const right = box.x + pitch - scroll.clientWidth, bottom = box.y + pitch - scroll.clientHeight;
    scroll.scrollLeft = Math.max(Math.min(scroll.scrollLeft, box.x - edge), right);
    scroll.scrollTop = Math.max(Math.min(scroll.scrollTop, box.y - top), bottom);
  }

  function focusOn(place) {
    focused = place;
    show(place);
    view.setHover(place);
  }

  function placeOf(event) {
    const box = picture.getBoundingClientRect();
    return headAt(layout, event.clientX - box.x, event.clientY - box.y);
  }

  function choose(place, event) {
    view.setState(chosen(view.state, place, event.ctrlKey || event.metaKey || event.shiftKey));
  }

  marks.element.addEventListener("pointermove", (event) => view.setHover(placeOf(event)));
  marks.element.addEventListener("pointerleave", () => view.setHover(null));
  marks.element.addEventListener("click", (event) => {
    const place = placeOf(event);
    if (!place) return;
    focused = place;
    choose(place, event);
  });
  marks.element.addEventListener("focus", () => {
    if (marks.element.matches(":focus-visible")) focusOn(focused);
  });
  marks.element.addEventListener("blur", () => view.setHover(null));
  marks.element.addEventListener("keydown", (event) => {
    const next = moved(layout, focused, event.key);
    if (event.altKey || (!next && event.key !== "Enter")) return;
    event.preventDefault();
    event.stopPropagation();
    if (next) focusOn(next);
    else choose(focused, event);
  });
  scroll.addEventListener("scroll", () => hover());
  whenPixelsChange(() => view.payload && update(), view.ended.signal);

  return { element: root, update, hover, describe: () => description(view) };
}

/** The room for thumbnails: as high as the place is, or, where it grows with what is in it, as high as it may get. */
function roomIn(scroll) {
  const { maxHeight } = getComputedStyle(scroll);
  return { width: scroll.offsetWidth, height: maxHeight === "none" ? scroll.offsetHeight : parseFloat(maxHeight) };
}

/** Call a function when a CSS pixel has more or fewer pixels of the screen than before, until the signal ends that. */
function whenPixelsChange(act, signal) {
  const change = () => {
    act();
    whenPixelsChange(act, signal);
  };
  matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", change, { once: true, signal });
}

function createLegend() {
  const root = element("span", "legend");
  const least = element("span"), bar = element("span", "bar"), most = element("span"), name = element("span", "scale");
  const colours = Array.from({ length: 10 }, (_, step) => cividisCss(step / 9));
  bar.style.background = `linear-gradient(to right, ${colours.join(", ")})`;
  root.append(least, bar, most, name);
  const update = ({ overview, scale, share }) => {
    const isLines = overview === "lines";
    for (const each of [least, bar, most]) each.hidden = isLines;
    const [what, low, high] = LEGENDS[scale];
    least.textContent = low;
    most.textContent = high;
    name.textContent = isLines ? `the strongest, up to ${Math.round(share * 100)} % of each row` : what;
  };
  return { element: root, update };
}

/**
 * What changes when a head is chosen: it opens alone, or, with `isMore`, joins the chosen ones or is taken from them.
 * @param {{stack: string, layer: number, head: number}} place
 */
function chosen(state, { stack, layer, head }, isMore) {
  const { heads, layers } = state;
  if (!isMore || stack !== state.stack) return { stack, layer, head, heads: [head], layers: [layer] };
  if (!heads.includes(head) || !layers.includes(layer)) return { heads: [...heads, head], layers: [...layers, layer] };
  const otherHeads = heads.filter((each) => each !== head), otherLayers = layers.filter((each) => each !== layer);
  if (otherHeads.length) return { heads: otherHeads, head: head === state.head ? otherHeads[0] : state.head };
  if (otherLayers.length) return { layers: otherLayers, layer: layer === state.layer ? otherLayers[0] : state.layer };
  return {};
}

/** Where a key leads from a head: to the next head or layer and, from the last one, on to the next stack. */
function moved({ tables }, { stack: name, layer, head }, key) {
  const stacks = tables.flatMap(({ parts }) => parts.map(({ stack }) => stack));
  const index = stacks.findIndex((stack) => stack.name === name);
  const stack = stacks[index], before = stacks[index - 1], after = stacks[index + 1];
  const last = stack.numHeads(layer) - 1;
  switch (key) {
    case "ArrowRight":
      return head < last || !after ? nearest(stack, layer, head + 1) : nearest(after, layer, 0);
    case "ArrowLeft":
      return head > 0 || !before ? nearest(stack, layer, head - 1) : nearest(before, layer, Infinity);
    case "ArrowDown":
      return layer < stack.numLayers - 1 || !after ? nearest(stack, layer + 1, head) : nearest(after, 0, head);
    case "ArrowUp":
      return layer > 0 || !before ? nearest(stack, layer - 1, head) : nearest(before, Infinity, head);
    case "Home":
      return nearest(stack, layer, 0);
    case "End":
      return nearest(stack, layer, last);
    default:
      return null;
  }
}

function nearest(stack, wantedLayer, wantedHead) {
  const layer = Math.min(Math.max(wantedLayer, 0), stack.numLayers - 1);
  const head = Math.min(Math.max(wantedHead, 0), stack.numHeads(layer) - 1);
  return { stack: stack.name, layer, head };
}

/** A head and the strongest pair in it. */
function headText(view, { stack: name, layer, head }) {
  const stack = view.payload.stack(name);
  return `${stack.title}, layer ${layer + 1}, head ${head + 1}: ${pairText(view, stack, layer, head)}`;
}

function pairText(view, stack, layer, head) {
  const pair = pairOf(view, stack, layer, head);
  if (pair.isNaN) return "not numbers (NaN)";
  if (!pair.value) return "all weights are 0";
  const rest = pair.hasNaN ? ", others are not numbers (NaN)" : "";
  return `strongest ${pair.query} → ${pair.key} ${view.weightText(pair.value)}${rest}`;
}

/** What is known of strongest pairs: by lens, because another one has others. */
const pairs = new WeakMap();

/** The strongest pair of a head, its tokens in quotation marks. */
function pairOf(view, stack, layer, head) {
  const lens = view.lens(stack);
  if (!pairs.has(lens)) pairs.set(lens, new Map());
  const known = pairs.get(lens), place = `${layer} ${head}`;
  if (!known.has(place)) known.set(place, foundPair(matrixOf(stack, layer, head, lens), stack, lens));
  return known.get(place);
}

function foundPair(matrix, stack, lens) {
  const { hasNaN, blocks } = matrix;
  const pair = strongestPair(matrix);
  if (!pair) return { hasNaN, isNaN: hasNaN, value: 0 };
  const { row, column, value } = pair;
  const query = blocks ? span(blocks.rows[row], stack.queries) : quoted(lens.queries[row].label, MOST_CHARACTERS);
  const key = blocks ? span(blocks.columns[column], stack.keys) : quoted(lens.keys[column].label, MOST_CHARACTERS);
  return { hasNaN, isNaN: false, value, query, key };
}

/** The tokens that a cell of a small picture stands for. */
function span(tokens, labels) {
  const [first, last] = [tokens[0], tokens.at(-1)].map((token) => quoted(labels[token], MOST_CHARACTERS));
  return tokens.length > 1 ? `${first}…${last}` : first;
}

/** Says how many weights a cell stands for, where it is more than one. */
function poolingText(view, layout) {
  const { rows, columns } = poolingOf(view, layout, devicePixelRatio);
  if (Math.max(rows, columns) <= 1) return "";
  const digits = (ratio) => (ratio < 10 ? ratio.toFixed(1).replace(/\.0$/, "") : Math.round(ratio));
  const what = view.state.overview === "lines" ? "line" : "cell";
  return `A ${what} shows the largest of about ${digits(rows)} × ${digits(columns)} weights.`;
}

/** The strongest pair of each layer of the open stack, in a sentence. */
function description(view) {
  const { stack } = view;
  const layers = stack.heads.slice(0, MOST_DESCRIBED).map((heads, layer) => {
    const head = Array.from({ length: heads }, (_, each) => each).reduce((best, each) => {
      return pairOf(view, stack, layer, each).value > pairOf(view, stack, layer, best).value ? each : best;
    });
    return `layer ${layer + 1}, head ${head + 1} ${pairText(view, stack, layer, head)}`;
  });
  const more = stack.numLayers - layers.length;
  const rest = more > 0 ? `; and ${more} more layers` : "";
  return `${stack.title}, the strongest of each layer: ${layers.join("; ")}${rest}.`;
}
