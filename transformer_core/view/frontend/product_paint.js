// Bars of products and of a row, and the running sum, each with an axis of its own.

/** Ends of RdBu (ColorBrewer, https://colorbrewer2.org): below and above 0, on a light and on a dark ground. */
const SIGNS = { light: ["#b2182b", "#2166ac"], dark: ["#ef8a62", "#67a9cf"] };

/** Room for the numbers of the axis at the left, and above and below what is drawn. */
const LEFT = 48, EDGE = 7;

/** The part of a picture in which bars are drawn. */
export function strip(width, height) {
  return { left: LEFT, top: EDGE, width: width - LEFT - 1, height: height - 2 * EDGE };
}

/** Which of `count` bars is at x in a picture of that width; null beside them. */
export function barAt(x, width, count) {
  const box = strip(width, 0);
  const bar = Math.floor(((x - box.left) / box.width) * count);
  return bar >= 0 && bar < count ? bar : null;
}

/** Numbers as bars up and down from 0. @param {number[]} values */
export function paintBars(context, box, values, pointed, look) {
  const place = axis(context, box, values, look);
  const each = box.width / values.length;
  const [below, above] = SIGNS[look.isDark ? "dark" : "light"];
  values.forEach((value, i) => {
    if (Number.isNaN(value)) return;
    context.fillStyle = value < 0 ? below : above;
    bar(context, box.left + i * each, each, place(0), place(value));
  });
  point(context, box, each, pointed, look);
}

/** The sum of the first bars, step by step. */
export function paintRunningSum(context, box, sums, pointed, look) {
  const place = axis(context, box, sums, look);
  const each = box.width / sums.length;
  context.beginPath();
  context.moveTo(box.left, place(0));
  sums.forEach((sum, i) => {
    context.lineTo(box.left + i * each, place(sum));
    context.lineTo(box.left + (i + 1) * each, place(sum));
  });
  context.lineWidth = 1.5;
  context.strokeStyle = look.ink;
  context.stroke();
  point(context, box, each, pointed, look);
}

/** One number for each key; the key that it is about has the accent. What is not a number has no bar. */
export function paintRow(context, box, values, { key, pointed }, look) {
  const place = axis(context, box, values, look);
  const each = box.width / values.length;
  context.fillStyle = look.accent;
  context.globalAlpha = 0.2;
  context.fillRect(box.left + key * each, box.top, Math.max(each, 2), box.height);
  context.globalAlpha = 1;
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    context.fillStyle = i === key ? look.accent : look.faint;
    bar(context, box.left + i * each, each, place(0), place(value));
  });
  point(context, box, each, pointed, look);
}

function bar(context, left, each, from, to) {
  const gap = each > 3 ? 1 : 0;
  context.fillRect(left, Math.min(from, to), Math.max(each - gap, 0.5), Math.max(Math.abs(to - from), 0.5));
}

/** A line at 0, and the largest and smallest number beside it. @returns {(value: number) => number} where it lies */
function axis(context, box, values, look) {
  const numbers = values.filter((value) => Number.isFinite(value));
  const most = Math.max(0, ...numbers), least = Math.min(0, ...numbers);
  const span = most - least || 1;
  const place = (value) => box.top + ((most - value) / span) * box.height;
  context.fillStyle = look.line;
  context.fillRect(box.left, place(0), box.width, 1);
  context.fillStyle = look.faint;
  context.font = look.font;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const ticks = [most, least].filter((tick) => Math.abs(place(tick) - place(0)) > 2 * EDGE);
  for (const tick of [0, ...ticks]) context.fillText(tickText(tick), box.left - 5, place(tick));
  return place;
}

function tickText(value) {
  return (Math.abs(value) < 0.01 && value ? value.toExponential(0) : String(Number(value.toPrecision(2)))).replace("-", "−");
}

function point(context, box, each, pointed, look) {
  if (pointed === null || pointed === undefined) return;
  context.globalAlpha = 0.15;
  context.fillStyle = look.ink;
  context.fillRect(box.left + pointed * each, box.top - EDGE, Math.max(each, 2), box.height + 2 * EDGE);
  context.globalAlpha = 1;
}
