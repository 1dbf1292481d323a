/** Traces of any telemetry series: 30 s back, freeze, zoom, two cursors, statistics, export. */

import { axisStyle, COLOURS, drawMarks, HEIGHT, widthIn } from "./chart.js";
import { byId, digits, make, row } from "./dom.js";

const MOST = 20;
const DRAW_MS = 200;
const DASHES = [[], [8, 4], [2, 3]];
const CHOSEN = ["speed_mps", "force_sum_N"];

export function startTraces(connection, config, newest, always) {
  const units = new Map(config.series.map((one) => [one.name, one.unit]));
  const chosen = new Set(CHOSEN.filter((name) => units.has(name)));
  const plot = new Plot(units);
  let frozen = null;

  const subscribe = () => connection.subscribe([...new Set([...chosen, ...always])].slice(0, 128));
  for (const one of config.series) {
    const box = make("input", { type: "checkbox", checked: chosen.has(one.name) });
    box.addEventListener("change", () => {
      if (box.checked && chosen.size >= MOST) box.checked = false;
      else if (box.checked) chosen.add(one.name);
      else chosen.delete(one.name);
      subscribe();
    });
    byId("series").append(make("label", { title: one.description, "data-name": one.name }, box, ` ${one.name} [${one.unit}]`));
  }
  byId("find-series").addEventListener("input", (event) => {
    for (const label of byId("series").querySelectorAll("label")) label.hidden = !label.dataset.name.includes(event.target.value);
  });
  byId("freeze").addEventListener("click", (event) => {
    frozen = frozen ? null : current();
    event.target.setAttribute("aria-pressed", String(frozen !== null));
    event.target.textContent = frozen ? "Go on" : "Freeze";
  });
  byId("all-time").addEventListener("click", () => { plot.zoom = null; draw(); });
  byId("csv").addEventListener("click", () => save(plot.inView(frozen ?? current())));

  const current = () => ({
    names: [...chosen],
    t: newest.t.map((t) => t - (newest.t.at(-1) ?? 0)),
    columns: [...chosen].map((name) => [...(newest.columns.get(name) ?? new Array(newest.t.length).fill(null))]),
    marks: newest.marks.map(([at, text]) => [at - (newest.t.at(-1) ?? 0), text]),
  });
  function draw() {
    const data = frozen ?? current();
    const cursors = ["mark-a", "mark-b"].map((id) => byId(id).valueAsNumber);
    plot.draw(data, cursors);
    showStatistics(plot.inView(data), data, cursors, units);
  }
  setInterval(draw, DRAW_MS);
  subscribe();
}

class Plot {
  constructor(units) {
    this.units = units;
    this.zoom = null;
    this.names = "";
    this.chart = null;
    new ResizeObserver(() => this.chart?.setSize(this.size())).observe(byId("plot"));
  }

  size() {
    return { width: widthIn(byId("plot")), height: HEIGHT };
  }

  draw(data, cursors) {
    this.data = data;
    this.cursors = cursors;
    const names = data.names.join();
    if (names !== this.names || !this.chart) this.build(data.names);
    this.names = names;
    if (data.names.length) this.chart.setData([data.t, ...data.columns], false);
    const [from, to] = this.zoom ?? [-30, 0];
    this.busy = true;
    this.chart.setScale("x", { min: from, max: to });
    this.busy = false;
  }

  build(names) {
    this.chart?.destroy();
    const axis = axisStyle();
    const scales = [...new Set(names.map((name) => this.units.get(name)))];
    this.chart = new uPlot({
      ...this.size(),
      legend: { live: false },
      scales: { x: { time: false } },
      cursor: { drag: { setScale: false, x: true, y: false } },
      axes: [{ ...axis, label: "time before the newest value [s]" },
        ...scales.slice(0, 2).map((unit, i) => ({ ...axis, scale: unit, label: `[${unit}]`, side: i ? 1 : 3 }))],
      series: [{}, ...names.map((name, i) => ({
        label: name, scale: this.units.get(name), stroke: COLOURS[i % COLOURS.length], width: 2,
        dash: DASHES[Math.floor(i / COLOURS.length) % DASHES.length],
      }))],
      hooks: {
        draw: [(chart) => this.lines(chart)],
        setSelect: [(chart) => {
          const { left, width } = chart.select;
          if (width < 5) return;
          this.zoom = [chart.posToVal(left, "x"), chart.posToVal(left + width, "x")];
          chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    }, [[], ...names.map(() => [])], byId("plot"));
  }

  /** Cursors, and what the state changed to. */
  lines(chart) {
    drawMarks(chart, [
      ...this.data.marks.map(([at, text]) => [at, text, [4, 4], 12]),
      ...this.cursors.map((at, i) => [at, "AB"[i], [], 12]),
    ]);
  }

  inView(data) {
    const [from, to] = this.zoom ?? [-30, 0];
    const rows = data.t.map((t, i) => i).filter((i) => data.t[i] >= from && data.t[i] <= to);
    return { names: data.names, t: rows.map((i) => data.t[i]), columns: data.columns.map((column) => rows.map((i) => column[i])) };
  }
}

function at(data, column, time) {
  let best = null;
  for (let i = 0; i < data.t.length; i++) {
    if (column[i] !== null && (best === null || Math.abs(data.t[i] - time) < Math.abs(data.t[best] - time))) best = i;
  }
  return best === null ? null : column[best];
}

function showStatistics(view, data, [a, b], units) {
  byId("statistics").replaceChildren(...view.names.map((name, i) => {
    const values = view.columns[i].filter((value) => value !== null);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const [first, second] = [at(data, data.columns[i], a), at(data, data.columns[i], b)];
    const difference = first === null || second === null ? null : second - first;
    const [least, most] = values.length ? [Math.min(...values), Math.max(...values)] : [null, null];
    return row(name, units.get(name) ?? "", ...[first, second, difference, least, mean, most].map(digits));
  }));
}

function save({ names, t, columns }) {
  const lines = [["t_s", ...names].join(), ...t.map((time, i) => [time, ...columns.map((column) => column[i] ?? "")].join())];
  const link = make("a", { href: URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" })), download: "traces.csv" });
  link.click();
  URL.revokeObjectURL(link.href);
}
