/** The chart of the traces: live series, those of earlier runs, limits, state marks and two cursors. */

import { axisStyle, COLOURS, drawMarks, HEIGHT, widthIn } from "./chart.js";
import { byId } from "./dom.js";

const DASHES = [[], [8, 4], [2, 3]];
const EARLIER = [5, 3];
export const BACK_S = 30;

export class Plot {
  /** `series`: by name, with unit and band. */
  constructor(series) {
    this.series = series;
    this.zoom = null;
    this.key = "";
    this.chart = null;
    new ResizeObserver(() => this.chart?.setSize(this.size())).observe(byId("plot"));
  }

  size() {
    return { width: widthIn(byId("plot")), height: HEIGHT };
  }

  /**
   * Draw series over the time before the newest value.
   * `data`: names, t, columns and marks of the live series; earlier: the same without marks of each run that is laid over it, and its label.
   */
  draw(data, cursors) {
    this.data = data;
    this.cursors = cursors;
    this.lines = [
      ...data.names.map((name, i) => ({ label: name, name, i, width: 2, dash: DASHES[Math.floor(i / COLOURS.length) % DASHES.length] })),
      ...data.earlier.flatMap(({ label, names }) => names.map((name) => (
        { label: `${name}, ${label}`, name, i: data.names.indexOf(name), width: 1.5, dash: EARLIER }))),
    ];
    const key = this.lines.map((line) => line.label).join();
    if (key !== this.key || !this.chart) this.build();
    this.key = key;
    const parts = [data, ...data.earlier].map(({ t, columns }) => [t, ...columns]);
    this.table = parts.length > 1 ? uPlot.join(parts) : parts[0];
    if (this.lines.length) this.chart.setData(this.table, false);
    const [from, to] = this.zoom ?? [-BACK_S, 0];
    this.chart.setScale("x", { min: from, max: to });
  }

  build() {
    this.chart?.destroy();
    const axis = axisStyle();
    const unit = (name) => this.series.get(name).unit;
    const units = [...new Set(this.data.names.map(unit))];
    this.chart = new uPlot({
      ...this.size(),
      legend: { live: false },
      scales: { x: { time: false } },
      cursor: { drag: { setScale: false, x: true, y: false } },
      axes: [{ ...axis, label: "time before the newest value [s]" },
        ...units.slice(0, 2).map((one, i) => ({ ...axis, scale: one, label: `[${one}]`, side: i ? 1 : 3 }))],
      series: [{}, ...this.lines.map(({ label, name, i, width, dash }) => (
        { label, scale: unit(name), stroke: COLOURS[i % COLOURS.length], width, dash }))],
      hooks: {
        draw: [(chart) => this.drawOver(chart)],
        setSelect: [(chart) => {
          const { left, width } = chart.select;
          if (width < 5) return;
          this.zoom = [chart.posToVal(left, "x"), chart.posToVal(left + width, "x")];
          chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    }, [[], ...this.lines.map(() => [])], byId("plot"));
  }

  /** Cursors, what the state changed to, and what lies beyond the limits. */
  drawOver(chart) {
    this.data.names.forEach((name, i) => {
      const { unit, band } = this.series.get(name);
      if (band) shadeBeyond(chart, unit, band, COLOURS[i % COLOURS.length]);
    });
    drawMarks(chart, [
      ...this.data.marks.map(([at, text]) => [at, text, [4, 4], 12]),
      ...this.cursors.map((at, i) => [at, "AB"[i], [], 12]),
    ]);
  }

  /** What is in view: labels, times and columns. */
  inView() {
    const [from, to] = this.zoom ?? [-BACK_S, 0];
    const [t, ...columns] = this.table;
    const rows = t.map((_, i) => i).filter((i) => t[i] >= from && t[i] <= to);
    return { lines: this.lines, t: rows.map((i) => t[i]), columns: columns.map((column) => rows.map((i) => column[i] ?? null)) };
  }
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
