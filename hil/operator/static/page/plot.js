/** The chart of the traces: live series, those of earlier runs, limits, state marks and two cursors. */

import { axisStyle, bodyColours, COLOURS, drawMarks, HEIGHT, widthIn } from "./chart.js";
import { labelOf } from "./labels.js";

const DASHES = [[], [8, 4], [2, 3]];
const EARLIER = [5, 3];
const EMPTY = [0, 1];
export const BACK_S = 30;

export class Plot {
  /** `series`: by name, with unit and band; `limitsInView`: the bands are, whatever the values. */
  constructor(series, box, { height = HEIGHT, limitsInView = false } = {}) {
    Object.assign(this, { series, box, height, limitsInView });
    this.zoom = null; // a stretch of the telemetry's own time [s]: it stays as newer values come
    this.reader = null; // where the pointer is, before the newest value [s]
    this.lines = [];
    this.key = "";
    this.chart = null;
    this.skipped = false; // by the browser, as long as the section is out of view
    new ResizeObserver(() => this.chart?.setSize(this.size())).observe(box);
    box.closest("section").addEventListener("contentvisibilityautostatechange", ({ skipped }) => { this.skipped = skipped; });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.key = ""; });
  }

  size() {
    return { width: widthIn(this.box), height: this.height };
  }

  /** What is in view, before the newest value [s]; a zoom lasts as long as what it shows is kept. */
  span() {
    const zoom = this.zoom?.map((at) => at + this.data.start);
    if (zoom?.[1] > -BACK_S) return zoom;
    this.zoom = null;
    return [-BACK_S, 0];
  }

  unit({ name }) {
    return this.series.get(name).unit;
  }

  /**
   * Draw series over the time before the newest value, a line in each piece; the chart shows them all at once at the end.
   * `data`: names, t, columns and marks of the live series, `start` is added to t; earlier: the same without marks of each run that is
   * laid over it, and its label.
   */
  *draw(data, cursors) {
    this.data = data;
    const width = data.names.length > COLOURS.length ? 1 : 2; // of many, broad ones hide one another and take long to draw
    this.lines = [
      ...data.names.map((name, i) => (
        { label: name, text: labelOf(name), name, i, width, dash: DASHES[Math.floor(i / COLOURS.length) % DASHES.length], t: data.t, start: data.start, column: data.columns[i] })),
      ...data.earlier.flatMap(({ label, names, t, start, columns }) => names.map((name, k) => (
        { label: `${name}, ${label}`, text: `${labelOf(name)}, ${label}`, name, i: data.names.indexOf(name), width, dash: EARLIER, t, start, column: columns[k] }))),
    ].map((line, k) => ({ ...line, place: k + 1 })); // among the chart's series, whose first is the time
    const key = this.lines.map((line) => line.label).join();
    if (key !== this.key || !this.chart) {
      this.key = key;
      this.build();
      return; // the chart lays itself out first
    }
    if (this.skipped) return;
    const [span, extents, paths] = [this.span(), new Map(), []];
    const shown = this.lines.filter(({ place }) => this.chart.series[place].show);
    for (const line of shown) {
      const { least, most } = this.extent(line, span);
      const [lowest, highest] = extents.get(this.unit(line)) ?? [Infinity, -Infinity];
      extents.set(this.unit(line), [Math.min(lowest, least), Math.max(highest, most)]);
      yield;
    }
    const ranges = new Map([...extents].map(([unit, [least, most]]) => [unit, least <= most ? uPlot.rangeNum(least, most, 0.1, true) : EMPTY]));
    for (const line of shown) {
      paths.push([line, pathOf(line, span, ranges.get(this.unit(line)), this.chart.bbox)]);
      yield;
    }
    Object.assign(this, { ranges, paths, cursors, marks: data.marks.map(([at, text]) => [at + data.start, text]) });
    this.chart.setScale("x", { min: span[0], max: span[1] });
  }

  /** Least and largest value that have to be in view; zero is, where the limits are. */
  extent(line, span) {
    const { least, most } = summary(line, span);
    const limits = ((this.limitsInView && this.series.get(line.name).band) || []).map((one) => one ?? 0);
    return { least: Math.min(least, ...limits), most: Math.max(most, ...limits) };
  }

  build() {
    this.chart?.destroy();
    this.colours = bodyColours();
    Object.assign(this, { ranges: new Map(), paths: [], cursors: [], marks: [] });
    const axis = axisStyle(this.colours[0]);
    const units = [...new Set(this.lines.map((line) => this.unit(line)))];
    this.chart = new uPlot({
      ...this.size(),
      legend: { live: false },
      scales: { x: { time: false }, ...Object.fromEntries(units.map((unit) => [unit, { range: () => this.ranges.get(unit) ?? EMPTY }])) },
      cursor: { drag: { setScale: false, x: true, y: false }, points: { show: false } },
      axes: [{ ...axis, label: "time before the newest value [s]" },
        ...units.slice(0, 2).map((one, i) => ({ ...axis, scale: one, label: `[${one}]`, side: i ? 1 : 3 }))],
      // the chart makes axes and legend; the lines are made piece by piece, and drawn over it
      series: [{}, ...this.lines.map((line) => (
        { label: line.text, scale: this.unit(line), stroke: colourOf(line), width: line.width, dash: line.dash, paths: () => null, points: { show: false } }))],
      hooks: {
        draw: [(chart) => this.drawOver(chart)],
        setCursor: [(chart) => { this.reader = chart.cursor.left >= 0 ? chart.posToVal(chart.cursor.left, "x") : null; }],
        setSelect: [(chart) => {
          const { left, width } = chart.select;
          if (width < 5) return;
          this.zoom = [left, left + width].map((at) => chart.posToVal(at, "x") - this.data.start);
          chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    }, [[-BACK_S, 0], ...this.lines.map(() => [null, null])], this.box);
  }

  /** Lines, what lies beyond the limits, what the state changed to, and cursors. */
  drawOver(chart) {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const [line, path] of this.paths) {
      if (!chart.series[line.place].show) continue; // it was taken out in the legend just now
      ctx.strokeStyle = colourOf(line);
      ctx.lineWidth = line.width * devicePixelRatio;
      ctx.lineJoin = "bevel";
      ctx.setLineDash(line.dash.map((one) => one * devicePixelRatio));
      ctx.stroke(path);
    }
    ctx.restore();
    for (const [line] of this.paths) {
      const { unit, band } = this.series.get(line.name);
      if (band) shadeBeyond(chart, unit, band, colourOf(line));
    }
    drawMarks(chart, [
      ...this.marks.map(([at, text]) => [at, text.replaceAll("_", " "), [4, 4]]),
      ...this.cursors.map((at, i) => [at, "AB"[i], []]),
    ], this.colours);
  }

  /** What is in view: labels, times and columns. */
  inView() {
    const [from, to] = this.span();
    const parts = [this.data, ...this.data.earlier].map(({ t, start, columns }) => [t.map((at) => at + start), ...columns]);
    const [t, ...columns] = parts.length > 1 ? uPlot.join(parts) : parts[0];
    const rows = t.map((_, i) => i).filter((i) => t[i] >= from && t[i] <= to);
    return { lines: this.lines, t: rows.map((i) => t[i]), columns: columns.map((column) => rows.map((i) => column[i] ?? null)) };
  }
}

const colourOf = (line) => COLOURS[line.i % COLOURS.length];

/** The first index whose time is not before that one. */
export function indexAt(times, time) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Least, largest and mean value of a line in a span of time; not finite: there is none. */
export function summary({ t, start, column }, [from, to]) {
  let [least, most, sum, count] = [Infinity, -Infinity, 0, 0];
  for (let i = indexAt(t, from - start); i < t.length && t[i] <= to - start; i++) {
    const value = column[i] ?? null;
    if (value === null) continue;
    if (value < least) least = value;
    if (value > most) most = value;
    sum += value;
    count += 1;
  }
  return { least, most, mean: sum / count };
}

/** A line in pixels, from the point before a span of time to the one after it; points less than a pixel apart are one. */
function pathOf({ t, start, column }, [from, to], [lowest, highest], { left, top, width, height }) {
  const path = new Path2D();
  const [across, up] = [width / (to - from), height / (highest - lowest)];
  let [beforeX, beforeY, down] = [0, 0, false];
  for (let i = Math.max(0, indexAt(t, from - start) - 1); i < t.length; i++) {
    const value = column[i] ?? null;
    const x = left + (t[i] + start - from) * across;
    const y = top + (highest - value) * up;
    if (value === null) down = false;
    else if (!down || Math.abs(x - beforeX) >= 1 || Math.abs(y - beforeY) >= 1) {
      if (down) path.lineTo(x, y);
      else path.moveTo(x, y);
      [beforeX, beforeY, down] = [x, y, true];
    }
    if (t[i] + start > to) break;
  }
  return path;
}

/** Shade what a limit does not allow, as far as it is in view, and draw the limit. */
function shadeBeyond(chart, scale, [lowest, highest], colour) {
  const { ctx, bbox } = chart;
  const [top, bottom] = [bbox.top, bbox.top + bbox.height];
  const place = (value) => Math.min(bottom, Math.max(top, chart.valToPos(value, scale, true)));
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.setLineDash([10, 4]);
  for (const [value, edge] of [[highest, top], [lowest, bottom]]) {
    if (value === null) continue;
    const y = place(value);
    if (y === edge) continue;
    ctx.globalAlpha = 0.15;
    ctx.fillRect(bbox.left, Math.min(y, edge), bbox.width, Math.abs(y - edge));
    ctx.globalAlpha = 1;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}
