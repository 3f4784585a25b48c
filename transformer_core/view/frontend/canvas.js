// Canvases that are sharp on every screen: drawn on in CSS pixels, as fine as the screen has them.

/** Give a canvas a size in CSS pixels. It is empty then. */
export function sizeCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.ceil(width * ratio);
  canvas.height = Math.ceil(height * ratio);
  canvas.style.width = `${canvas.width / ratio}px`;
  canvas.style.height = `${canvas.height / ratio}px`;
}

/** A canvas's context, cleared. Text runs from left to right: tokens are set apart, and turn nothing but themselves. */
export function clearedContext(canvas) {
  const context = canvas.getContext("2d");
  const ratio = window.devicePixelRatio || 1;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.direction = "ltr";
  return context;
}

/** The size of a pixel of the screen. */
export function screenPixel() {
  return 1 / (window.devicePixelRatio || 1);
}
