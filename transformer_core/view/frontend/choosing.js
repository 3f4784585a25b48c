// Which layer and heads are open and chosen after a click or a key, as patches of the state.

import { showsImage } from "./state.js";

/** Whether what is drawn takes several heads: then they are switched on and off. Otherwise choosing one opens it. */
export function takesSeveral({ view, combine }) {
  return view === "lines" || joinsHeads({ view, combine });
}

/** Whether the drawing is of the mean or the maximum, over the chosen heads of the chosen layers. */
export function joinsHeads({ view, combine }) {
  return view === "matrix" && combine !== "head";
}

/** How many heads there are to choose from: the open layer's; over several layers, the most that one of them has. */
export function countHeads(state, stack) {
  const layers = joinsHeads(state) ? state.layers : [state.layer];
  return Math.max(...layers.map((layer) => stack.numHeads(layer)));
}

/** Open a head of the open layer. It takes the place of the open one among the chosen. */
export function openHead(state, head) {
  return { head, heads: moved(state.heads, state.head, head) };
}

/** Switch a head on or off. The last one stays; what was switched on is open, if the open layer has it. */
export function toggleHead(state, stack, head) {
  if (!takesSeveral(state)) return openHead(state, head);
  const heads = toggledIn(state.heads, head);
  const here = heads.filter((each) => each < stack.numHeads(state.layer));
  if (!here.length) return { head: state.head, heads: state.heads };
  const open = here.includes(head) ? head : nearest(here, state.head);
  return { head: open, heads };
}

/** Only this head, in the open layer or, if that has none of the number, in a chosen one that has. */
export function onlyHead(state, stack, head) {
  const has = (layer) => head < stack.numHeads(layer);
  return { layer: has(state.layer) ? state.layer : state.layers.find(has), head, heads: [head] };
}

/** Every head that there is to choose from. */
export function allHeads(state, stack) {
  return { heads: upTo(countHeads(state, stack)) };
}

/** The next or the previous head: of the chosen ones if there are several, otherwise of all. */
export function stepHead(state, stack, step) {
  const all = upTo(stack.numHeads(state.layer));
  const chosen = state.heads.filter((head) => head < all.length);
  const steps = takesSeveral(state) && chosen.length > 1 ? chosen : all;
  const next = steps[steps.indexOf(state.head) + step];
  return next === undefined ? {} : openHead(state, next);
}

/** Open a layer. It takes the place of the open one among the chosen; where it lacks the open head, another opens. */
function openLayer(state, stack, layer) {
  const count = stack.numHeads(layer);
  const last = state.heads.findLast((head) => head < count) ?? count - 1;
  const head = state.head < count ? state.head : last;
  const heads = state.heads.length > 1 ? state.heads : [head];
  return { layer, head, heads, layers: moved(state.layers, state.layer, layer) };
}

/** The next or the previous layer. */
export function stepLayer(state, stack, step) {
  const layer = state.layer + step;
  return layer < 0 || layer >= stack.numLayers ? {} : openLayer(state, stack, layer);
}

/** Switch a layer of the mean or maximum on or off. The last one stays; what was switched on is open. */
export function toggleLayer(state, stack, layer) {
  const layers = toggledIn(state.layers, layer);
  if (!layers.length) return {};
  const open = layers.includes(layer) ? layer : nearest(layers, state.layer);
  return { ...openLayer(state, stack, open), layers };
}

/** Only this layer. */
export function onlyLayer(state, stack, layer) {
  return { ...openLayer(state, stack, layer), layers: [layer] };
}

/** Every layer. */
export function allLayers(stack) {
  return { layers: upTo(stack.numLayers) };
}

/** What can be drawn of a stack, and what it is called. */
export function viewsOf(payload, stack) {
  const views = [["lines", "Lines"], ["matrix", "Matrix"], ["product", "q·k"]];
  return showsImage(payload.meta, stack) ? [...views, ["image", "Image"]] : views;
}

/** Whether filters have something to do in a stack. */
export function hasSpecial(stack) {
  return stack.querySpecial.size + stack.keySpecial.size > 0;
}

export function hasSubWords(stack) {
  return [stack.queryWords, stack.keyWords].some((words) => new Set(words).size < words.length);
}

function moved(chosen, from, to) {
  return chosen.includes(to) ? chosen : [...chosen.filter((each) => each !== from), to];
}

function toggledIn(chosen, one) {
  return chosen.includes(one) ? chosen.filter((each) => each !== one) : [...chosen, one];
}

/** The chosen one that is closest. */
function nearest(chosen, to) {
  return chosen.reduce((best, each) => (Math.abs(each - to) < Math.abs(best - to) ? each : best));
}

function upTo(count) {
  return Array.from({ length: count }, (_, number) => number);
}
