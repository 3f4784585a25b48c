// Steps by the wheel of a mouse, or two fingers on a touch pad.

/** Pixels that a wheel turns for one step: one notch of a mouse, a short way on a touch pad. */
const WHEEL_STEP = 40;

/**
 * Call `step(1)` or `step(-1)` as the wheel turns over an element, which then does not scroll.
 * @param {(event: WheelEvent) => boolean} applies whether a turn is meant so.
 */
export function stepOnWheel(target, step, applies = () => true) {
  let turned = 0;
  const turn = (event) => {
    if (event.ctrlKey || !applies(event)) return;
    event.preventDefault();
    // With Shift held, some browsers turn a wheel sideways.
    const delta = event.deltaY || event.deltaX;
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? delta : Math.sign(delta) * WHEEL_STEP;
    // Turning back starts anew.
    turned = Math.sign(pixels) === Math.sign(turned) ? turned + pixels : pixels;
    if (Math.abs(turned) < WHEEL_STEP) return;
    step(Math.sign(turned));
    turned = 0;
  };
  target.addEventListener("wheel", turn, { passive: false });
}
