// A view in a file of its own: the payload is in the page, and there is no server to ask.

import { Payload } from "./payload.js";
import { View } from "./view.js";

/** Bytes from base64, decompressed. */
async function unpacked(base64) {
  const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const text = (id) => document.getElementById(id).textContent;
const view = new View(document.getElementById("view"), { answers: false });
view.setPayload(new Payload(JSON.parse(text("meta")), await unpacked(text("weights"))), JSON.parse(text("start")));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view.refreshTheme());
