// Hands the server's small messages to the view that they are for.

import { deliver, slotOf } from "./slots.js";

export default function receive({ data }) {
  const slot = slotOf(data.view);
  slot.message = data;
  deliver(slot);
}
