// One axis of a matrix: what its places are called, and which tokens they are.

import { quoted } from "./names.js";

/** @typedef {{label: string, tokens: number[], lens: number}} Place its tokens, and where the other drawings have it */

export class MatrixAxis {
  /**
   * @param {"query"|"key"} kind
   * @param {import("./weights.js").Group[]} groups what the lens shows
   * @param {number[][] | null} blocks tokens behind each place, where the matrix has fewer places than tokens
   * @param {string[]} labels of all tokens
   */
  constructor(kind, groups, blocks, labels) {
    this.kind = kind;
    this.isBlocks = blocks !== null;
    this.places = blocks
      ? blocks.map((tokens) => ({ label: labels[tokens[0]], last: labels[tokens.at(-1)], tokens, lens: lensPlace(groups, tokens) }))
      : groups.map(({ label, members }, lens) => ({ label, tokens: members, lens }));
    this.byLens = groups.map(({ members }, lens) =>
      blocks ? this.places.findIndex(({ tokens }) => tokens.includes(members[0])) : lens);
  }

  get length() {
    return this.places.length;
  }

  /** The places that show these places of the lens, each once. */
  fromLens(lensPlaces) {
    return [...new Set(lensPlaces.map((place) => this.byLens[place]))].filter((place) => place >= 0);
  }

  /** "query “nicht” (row 5)"; of a block, its first and last token. */
  name(place) {
    const { label, last, tokens } = this.places[place];
    const line = this.kind === "query" ? "row" : "column";
    const plural = this.kind === "query" ? "queries" : "keys";
    if (!this.isBlocks) return `${this.kind} ${quoted(label)} (${line} ${place + 1})`;
    if (tokens.length === 1) return `${this.kind} ${quoted(label)} (${line} ${tokens[0] + 1})`;
    return `${plural} ${quoted(label)} to ${quoted(last)} (${line}s ${tokens[0] + 1} to ${tokens.at(-1) + 1})`;
  }
}

/** Where the lens has one of these tokens; where it hides them all, the last before them. */
function lensPlace(groups, tokens) {
  const found = groups.findIndex(({ members }) => members.some((member) => tokens.includes(member)));
  return found >= 0 ? found : Math.max(0, groups.findLastIndex(({ members }) => members[0] < tokens[0]));
}
