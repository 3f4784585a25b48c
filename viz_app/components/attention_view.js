// Holds a linked view as one of Streamlit's components, version 2.

import { Payload } from "../../transformer_core/view/frontend/payload.js";
import { View } from "../../transformer_core/view/frontend/view.js";
import { fitToWindow } from "./fitting.js";

const mounted = new WeakMap();

/** Called when the component appears, and again for new data, a new theme or another rerun. */
export default function mount({ data, parentElement }) {
  const slot = slotOf(data.view);
  let view = mounted.get(parentElement);
  if (!view) {
    const place = parentElement.querySelector(".place");
    view = new View(place, {
      answers: true,
      link: true,
      settled: (state) => slot.tell("state", { state, order: slot.order }),
      example: (step) => document.querySelector(`.st-key-${step > 0 ? "next" : "previous"}-example button`)?.click(),
      focusText: () => document.querySelector(".st-key-text input, .st-key-text textarea")?.focus(),
    });
    mounted.set(parentElement, view);
    view.ended.signal.addEventListener("abort", fitToWindow(place));
    slot.view = view;
    slot.order = undefined;
    slot.deliver = () => deliver(slot);
  }
  view.refreshTheme();
  deliver(slot);
  return () => {
    view.destroy();
    mounted.delete(parentElement);
    if (slot.view !== view) return;
    // Message and maps stay: should the view alone come back, the other components will not speak again.
    for (const name of ["view", "deliver"]) delete slot[name];
  };
}

/** What is known of the view with this key. The components share nothing but the page. */
function slotOf(key) {
  return ((globalThis.headlightViews ??= {})[key] ??= {});
}

/** The view's own state with what was ordered since; that of the server if it has none. */
function obeyed(own, { state, ordered }, since) {
  const news = Object.keys(ordered).filter((name) => ordered[name] > since);
  return own ? { ...own, ...Object.fromEntries(news.map((name) => [name, state[name]])) } : state;
}

/** Give the view what has come, once maps and message are about the same inspection. */
function deliver(slot) {
  const { view, maps, message } = slot;
  if (!view || !maps || maps.meta.id !== message?.id) return;
  const isNew = view.payload?.meta.id !== maps.meta.id;
  const payload = isNew ? new Payload(maps.meta, maps.weights.getChildAt(0).toArray()) : view.payload;
  const order = Math.max(0, ...Object.values(message.ordered));
  if (isNew || order !== slot.order) view.setPayload(payload, obeyed(view.state, message, slot.order));
  slot.order = order;
  view.setAnswer(message.answer);
}
