// Making HTML elements. Text goes in as text, never as HTML.

/** An element with a class, and text in it. */
export function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}
