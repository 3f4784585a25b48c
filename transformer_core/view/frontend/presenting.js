// Full screen for a lecture room: the text, the answer and the current drawing, in large type.

import { element } from "./elements.js";

/** Whether a view fills the screen. */
export function isPresenting(view) {
  return view.root.classList.contains("presenting");
}

export function createPresenting(view) {
  const title = element("div", "presenting-title");
  const text = element("bdi", "text"), answer = element("bdi", "answer");
  const close = element("button", "tool close");
  close.type = "button";
  close.title = "Leave full screen (Escape)";
  close.setAttribute("aria-label", close.title);
  close.addEventListener("click", () => leave());
  title.append(text, answer, close);

  let focused = null;

  async function enter() {
    focused = view.root.getRootNode().activeElement;
    view.root.classList.add("presenting");
    view.refreshTheme();
    view.root.focus({ preventScroll: true });
    try {
      await view.root.requestFullscreen();
    } catch {
      // Refused, as in a frame, or missing, as on some phones: over everything else in the window then.
      if (isPresenting(view)) cover();
    }
  }

  function cover() {
    view.root.popover = "manual";
    view.root.showPopover();
    view.root.focus({ preventScroll: true });
  }

  function leave() {
    view.root.classList.remove("presenting");
    if (isFullScreen()) document.exitFullscreen();
    view.root.removeAttribute("popover");
    focused?.focus({ preventScroll: true });
    view.refreshTheme();
  }

  function isFullScreen() {
    return view.root.getRootNode().fullscreenElement === view.root;
  }

  function changed() {
    if (isPresenting(view) && !isFullScreen()) leave();
  }

  view.root.addEventListener("fullscreenchange", changed);

  return {
    element: title,
    update() {
      const { meta } = view.payload;
      text.textContent = [meta.text, meta.second_text].filter(Boolean).join(" / ");
      answer.textContent = meta.answer;
      answer.hidden = !meta.answer;
    },
    hover() {},
    describe: () => "",
    toggle: () => (isPresenting(view) ? leave() : enter()),
  };
}
