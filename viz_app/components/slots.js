// Where a view and its channel find each other: they are two components, and share nothing but the page.

/**
 * What is known of the view with this key.
 * @returns {{view?: object, payload?: object, message?: object, serial?: number}}
 */
export function slotOf(key) {
  const slots = (globalThis[Symbol.for("headlight")] ??= new Map());
  if (!slots.has(key)) slots.set(key, {});
  return slots.get(key);
}

/** Give the view what has come, once payload and message are about the same inspection. */
export function deliver(slot) {
  const { view, payload, message } = slot;
  if (!view || !payload || payload.meta.id !== message?.id) return;
  const isOrder = slot.serial !== message.serial;
  slot.serial = message.serial;
  if (view.payload !== payload || isOrder) view.setPayload(payload, isOrder ? message.state : null);
  view.setAnswer(message.answer);
}
