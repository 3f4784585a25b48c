// What the same token reads in every head of the open layer: the image once for each head, small. A click opens a head.

import { openHead } from "./choosing.js";
import { element } from "./elements.js";
import { paintPatches } from "./image_paint.js";
import { largest } from "./matrix_paint.js";

/** The longer side of a small image in CSS pixels, at least and at most. */
const LEAST_SIDE = 64, MOST_SIDE = 260;

/** Between two of them; and below each the line with its number, and the space after it. */
const GAP = 10, LINE = 28;

/** Above them, for their caption. */
const CAPTION = 44;

export class HeadImages {
  /** @param {import("./view.js").View} view */
  constructor(view) {
    this.view = view;
    this.element = element("div", "heads");
    this.caption = element("p", "caption");
    this.list = element("div", "list");
    this.element.append(this.caption, this.list);
    this.tiles = [];
  }

  /**
   * @param {HTMLImageElement} image
   * @param {Float32Array[]} patches of each head, row by row; none where the layer's weights are not here.
   * @param {string} scale of colours.
   * @param {number} width and `height` of the room for all of them.
   */
  draw(image, patches, scale, width, height) {
    const { view } = this;
    const { state } = view;
    this.element.hidden = patches.length < 2;
    if (this.element.hidden) return;
    const grid = view.payload.meta.image;
    const proportion = (image.naturalHeight || grid.rows) / (image.naturalWidth || grid.columns);
    const { side, columns } = fitting(patches.length, width, height - CAPTION);
    this.list.style.gridTemplateColumns = `repeat(${columns}, max-content)`;
    const [across, down] = [side / Math.max(1, proportion), side * Math.min(1, proportion)].map(Math.floor);
    this.caption.textContent =
      `Layer ${state.layer + 1}, every head: what the same token reads, from 0 to the head's own largest weight`;
    while (this.tiles.length < patches.length) this.#add(this.tiles.length);
    this.tiles.forEach((tile, head) => {
      tile.button.hidden = head >= patches.length;
      if (tile.button.hidden) return;
      tile.button.setAttribute("aria-pressed", String(head === state.head));
      const most = view.weightText(largest(patches[head]));
      tile.most.textContent = `to ${most}`;
      tile.button.setAttribute("aria-label", `Open head ${head + 1}, up to ${most} on a patch`);
      paintPatches(tile.canvas, image, patches[head], grid, scale, across, down);
    });
  }

  #add(head) {
    const { view } = this;
    const button = element("button", "tile");
    button.type = "button";
    const canvas = element("canvas"), words = element("span", "words"), most = element("span", "most");
    words.append(element("b", "", String(head + 1)), " ", most);
    button.append(canvas, words);
    button.addEventListener("click", () => view.setState(openHead(view.state, head)));
    this.list.append(button);
    this.tiles.push({ button, canvas, most });
  }
}

/** The side of so many squares, as large as they can be in a room, and how many stand in a row. */
function fitting(count, width, height) {
  let best = { side: 0, columns: 1 };
  for (let columns = 1; columns <= count; columns++) {
    const side = Math.floor(Math.min(width / columns - GAP, height / Math.ceil(count / columns) - LINE));
    if (side > best.side) best = { side, columns };
  }
  if (best.side < LEAST_SIDE) return { side: LEAST_SIDE, columns: Math.max(1, Math.floor(width / (LEAST_SIDE + GAP))) };
  return { side: Math.min(best.side, MOST_SIDE), columns: best.columns };
}
