// A place that ends where the window does, so that nothing of it has to be scrolled to.

/** Heights in pixels that it may have: less would be cramped, and more is not needed. */
const LEAST = 380, MOST = 560;

/**
 * Keep a place's --view-height at what the window leaves below all that stands above the place.
 * @param {HTMLElement} place in Streamlit's page
 * @returns {() => void} ends it.
 */
export function fitToWindow(place) {
  const page = document.querySelector("[data-testid=stMain]");
  let frame = 0;
  const fit = () => {
    // As it lies where the page is not scrolled.
    const top = place.getBoundingClientRect().top + page.scrollTop;
    const height = Math.min(Math.max(Math.floor(innerHeight - top), LEAST), MOST);
    place.style.setProperty("--view-height", `${height}px`);
  };
  const watching = new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(fit);
  });
  // The window, and all that is on the page.
  for (const each of [page, page.querySelector("[data-testid=stMainBlockContainer]")]) watching.observe(each);
  return () => {
    watching.disconnect();
    cancelAnimationFrame(frame);
  };
}
