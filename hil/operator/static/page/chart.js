/** What the charts of the page have in common: colours, axes, and vertical marks with a word. */

// After Okabe and Ito, which colour-blind people can tell apart.
export const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c6bb1", "#7f7f7f"];
export const HEIGHT = 260;

/** Colours of text and background; not for each drawing, because the browser computes the page's styles for it. */
export function bodyColours() {
  const { color, backgroundColor } = getComputedStyle(document.body);
  return [color, backgroundColor];
}

/** Style of an axis in that colour. */
export const axisStyle = (stroke) => ({ stroke, grid: { stroke: "#8884" }, values: (_, ticks, axis, space, step) => tickWords(ticks, step) });

/** Numbers at the ticks of an axis, with as many decimals as its step [unit of the axis] has, so that no two are alike. */
export function tickWords(ticks, step) {
  let decimals = 0;
  while (decimals < 9 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals += 1;
  return ticks.map((tick) => (tick === null ? "" : (Number(tick.toFixed(decimals)) + 0).toFixed(decimals)));
}

/** Width of a chart in a box. */
export const widthIn = (box) => Math.max(260, box.clientWidth);

const ROW = 14;

/**
 * Draw marks [time, word, dash], those that are in view; each word lies over all lines, on the background colour, and a row further down
 * where it would lie over the one before.
 */
export function drawMarks(chart, marks, [color, backgroundColor]) {
  const { ctx, bbox } = chart;
  const shown = marks.map(([at, ...mark]) => [chart.valToPos(at, "x", true), ...mark]).filter(([x]) => x >= bbox.left && x <= bbox.left + bbox.width);
  ctx.save();
  ctx.strokeStyle = color;
  for (const [x, , dash] of shown) {
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.textAlign = "left"; // the axes leave another one
  const measured = shown.map(([x, word]) => {
    const { width, actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = ctx.measureText(word);
    return { x: Math.min(x + 4, bbox.left + bbox.width - width), word, width, up, down };
  });
  for (const [i, row] of rowsOf(measured.map(({ x, width }) => [x, x + width + 4])).entries()) {
    const { x, word, width, up, down } = measured[i];
    const y = bbox.top + (row + 1) * ROW * devicePixelRatio;
    ctx.fillStyle = backgroundColor;
    ctx.fillRect(x - 1, y - up - 1, width + 2, up + down + 2);
    ctx.fillStyle = color;
    ctx.fillText(word, x, y);
  }
  ctx.restore();
}

/** The row of each span [from, to]: the first one whose last span is over before it. */
export function rowsOf(spans) {
  const [ends, rows] = [[], []];
  for (const i of spans.map((_, k) => k).sort((a, b) => spans[a][0] - spans[b][0])) {
    const free = ends.findIndex((end) => end <= spans[i][0]);
    rows[i] = free < 0 ? ends.length : free;
    ends[rows[i]] = spans[i][1];
  }
  return rows;
}
