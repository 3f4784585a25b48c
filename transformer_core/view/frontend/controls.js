// The bar above the drawings: which stack, drawn how, which layer and heads, and what is rarely touched, in menus.

import { createChips } from "./chips.js";
import {
  allHeads, allLayers, countHeads, joinsHeads, onlyHead, onlyLayer, stepLayer, takesSeveral, toggleHead, toggleLayer,
  viewsOf,
} from "./choosing.js";
import { headColour } from "./colours.js";
import { createDisplay } from "./display.js";
import { element } from "./elements.js";
import { saveFigure } from "./figure.js";
import { showKeys } from "./keys.js";
import { createMenu } from "./menu.js";
import { createSegments } from "./segments.js";
import { stepOnWheel } from "./wheel.js";

const COMBINED = [["head", "This head"], ["mean", "Mean"], ["max", "Maximum"]];

/** Milliseconds for which a button says that it has done something. */
const SAID_FOR = 2000;

export function createControls(view) {
  const root = element("div", "controls");
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "What is shown");
  const parts = [
    stackSwitch(view), viewSwitch(view), combinationSwitch(view), layerStepper(view), layerChips(view), headChips(view),
    tools(view),
  ];
  root.append(...parts.map((part) => part.element));
  return {
    element: root,
    update() {
      for (const part of parts) part.update();
    },
    hover() {},
    describe: () => "",
  };
}

function stackSwitch(view) {
  const segments = createSegments("Attention", (stack) => view.setState({ stack }));
  segments.element.classList.add("stacks");
  const update = () => {
    const { stacks } = view.payload;
    segments.element.hidden = stacks.length < 2;
    segments.update(stacks.map(({ name, title }) => [name, title]), view.stack.name);
  };
  return { element: segments.element, update };
}

function viewSwitch(view) {
  const segments = createSegments("Drawing", (name) => view.setState({ view: name }));
  segments.element.classList.add("views");
  return { element: segments.element, update: () => segments.update(viewsOf(view.payload, view.stack), view.state.view) };
}

function combinationSwitch(view) {
  const segments = createSegments("Heads joined", (combine) => view.setState({ combine }));
  segments.element.classList.add("combinations");
  const update = () => {
    segments.element.hidden = view.state.view !== "matrix";
    segments.update(COMBINED, view.state.combine);
  };
  return { element: segments.element, update };
}

/** The open layer, and the way to the others: buttons, and the wheel. */
function layerStepper(view) {
  const group = element("div", "layers");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Layer");
  const step = (by) => view.setState(stepLayer(view.state, view.stack, by));
  const previous = signButton("previous", "Previous layer", () => step(-1));
  const next = signButton("next", "Next layer", () => step(1));
  const name = element("span", "layer-name");
  group.append(previous, name, next);
  stepOnWheel(group, step);
  const update = () => {
    // Over several layers, their chips step too.
    group.hidden = joinsHeads(view.state);
    const { layer } = view.state, count = view.stack.numLayers;
    name.textContent = `Layer ${layer + 1} of ${count}`;
    // Not the attribute "disabled": that would take the focus away from a button at the end of its way.
    previous.setAttribute("aria-disabled", layer === 0);
    next.setAttribute("aria-disabled", layer === count - 1);
  };
  return { element: group, update };
}

function layerChips(view) {
  const set = (patch) => view.setState(patch);
  const chips = createChips("Layer", {
    toggle: (layer) => set(toggleLayer(view.state, view.stack, layer)),
    only: (layer) => set(onlyLayer(view.state, view.stack, layer)),
    all: () => set(allLayers(view.stack)),
    one: () => set({ layers: [view.state.layer] }),
  });
  chips.element.classList.add("layer-chips");
  const update = () => {
    chips.element.hidden = !joinsHeads(view.state);
    const { layers: chosen, layer: open } = view.state;
    chips.update({ count: view.stack.numLayers, chosen, open, hasSeveral: true });
  };
  return { element: chips.element, update };
}

function headChips(view) {
  const set = (patch) => view.setState(patch);
  const chips = createChips("Head", {
    toggle: (head) => set(toggleHead(view.state, view.stack, head)),
    only: (head) => set(onlyHead(view.state, view.stack, head)),
    all: () => set(allHeads(view.state, view.stack)),
    one: () => set({ heads: [view.state.head] }),
  });
  chips.element.classList.add("head-chips");
  const update = () => {
    const { heads: chosen, head: open } = view.state;
    const count = countHeads(view.state, view.stack), hasSeveral = takesSeveral(view.state);
    const colourOf = (head) => headColour(head, view.theme.isDark);
    chips.update({ count, chosen, open, hasSeveral, colourOf: view.state.view === "lines" ? colourOf : undefined });
  };
  return { element: chips.element, update };
}

function tools(view) {
  const group = element("div", "tools");
  const unpin = button("Let go of pins", "Escape", () => {
    view.setState({ pinnedQueries: [], pinnedKeys: [], pinnedCell: null });
  });
  const display = createDisplay(view);
  const save = saveMenu(view);
  const link = button("Copy link", "", () => copyLink(link));
  link.hidden = !view.host.link;
  const screen = signButton("screen", "Full screen (F)", () => view.presenting.toggle());
  const help = signButton("help", "Keys (?)", () => showKeys(view));
  group.append(unpin, display.button, display.panel, save.button, save.panel, link, screen, help);
  const update = () => {
    const { pinnedQueries, pinnedKeys, pinnedCell } = view.state;
    unpin.hidden = !pinnedQueries.length && !pinnedKeys.length && !pinnedCell;
    display.update();
  };
  return { element: group, update };
}

/** Figures to keep, of the open drawing and of all heads. */
function saveMenu(view) {
  const { button: opener, panel } = createMenu("Save", "save");
  const said = element("p", "said");
  said.setAttribute("role", "status");
  for (const [what, name] of [["drawing", "This drawing"], ["overview", "All heads"]]) {
    const row = element("div", "setting");
    row.append(element("span", "", name));
    for (const format of ["svg", "png"]) {
      const save = async () => {
        said.textContent = "Saving …";
        await painted();
        said.textContent = await saveFigure(view, what, format);
      };
      row.append(button(format.toUpperCase(), `Save as ${format.toUpperCase()}: ${name}`, save));
    }
    panel.append(row);
  }
  panel.append(said);
  panel.addEventListener("toggle", () => (said.textContent = ""));
  return { button: opener, panel };
}

/** Until what was changed can be seen: a large figure keeps the page busy for seconds. */
function painted() {
  return new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
}

/** The address of the page is the link: it follows what is shown. */
async function copyLink(link) {
  let says = "Copied";
  try {
    await navigator.clipboard.writeText(location.href);
  } catch {
    says = "Copy it from the address bar";
  }
  link.textContent = says;
  setTimeout(() => (link.textContent = "Copy link"), SAID_FOR);
}

function button(text, title, act) {
  const made = element("button", "tool", text);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", () => act());
  return made;
}

/** A button with a sign on it, which its style sheet draws, and a name. */
function signButton(sign, name, act) {
  const made = button("", name, act);
  made.classList.add(sign);
  made.setAttribute("aria-label", name);
  return made;
}
