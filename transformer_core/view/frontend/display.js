// The menu of what is set once and rarely touched: colours, the share of edges, and which tokens are shown.

import { hasSpecial, hasSubWords } from "./choosing.js";
import { element } from "./elements.js";
import { scaleName } from "./matrix_paint.js";
import { createMenu } from "./menu.js";
import { SCALES } from "./state.js";

export function createDisplay(view) {
  const { button, panel } = createMenu("Display", "display");
  const share = shareSlider(view);
  const scale = scaleSelect(view);
  const set = (name) => (isOn) => view.setState({ [name]: isOn });
  const special = filter("Hide special tokens", "No special tokens here", set("hideSpecial"));
  const words = filter("Merge sub-words", "Every token here is a word", set("mergeWords"));
  panel.append(share.element, scale.element, special.element, words.element);
  const update = () => {
    const { state, stack } = view;
    share.update(state);
    scale.update(state);
    special.update(state.hideSpecial, hasSpecial(stack));
    words.update(state.mergeWords, hasSubWords(stack));
    const filters = (state.hideSpecial && hasSpecial(stack)) + (state.mergeWords && hasSubWords(stack));
    button.textContent = filters ? `Display (${filters})` : "Display";
    button.title = filters ? "Some tokens are hidden or merged" : "";
  };
  return { button, panel, update };
}

/** Of each row's mass, how much the edges make up that lines draw, here or in the overview. */
function shareSlider(view) {
  const label = element("label", "setting");
  const shown = element("output");
  const input = element("input");
  input.type = "range";
  [input.min, input.max, input.step] = [5, 100, 1];
  input.addEventListener("input", () => view.setState({ share: input.valueAsNumber / 100 }));
  const name = element("span", "", "Strongest edges, up to ");
  name.append(shown, " of each row");
  label.append(name, input);
  const update = (state) => {
    label.hidden = state.view !== "lines" && state.overview !== "lines";
    const percent = Math.round(state.share * 100);
    shown.textContent = `${percent} %`;
    input.value = percent;
  };
  return { element: label, update };
}

function scaleSelect(view) {
  const label = element("label", "setting", "Colour scale");
  const select = element("select");
  for (const value of SCALES) {
    const option = element("option", "", scaleName(value));
    option.value = value;
    select.append(option);
  }
  select.addEventListener("change", () => view.setState({ scale: select.value }));
  label.append(select);
  const update = (state) => {
    label.hidden = state.view === "lines" && state.overview === "lines";
    select.value = state.scale;
  };
  return { element: label, update };
}

/** A box to tick; where it has nothing to do it says so. */
function filter(name, reason, change) {
  const label = element("label", "setting filter");
  const input = element("input");
  input.type = "checkbox";
  input.addEventListener("change", () => change(input.checked));
  const why = element("span", "reason", reason);
  label.append(input, element("span", "", name), why);
  const update = (isOn, isPossible) => {
    input.checked = isOn && isPossible;
    input.disabled = !isPossible;
    why.hidden = isPossible;
  };
  return { element: label, update };
}
