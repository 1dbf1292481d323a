/** Traces of any telemetry series: 30 s back, freeze, zoom, two cursors, earlier runs, statistics, export. */

import { byId, digits, make, row } from "./dom.js";
import { Earlier } from "./earlier.js";
import { Plot } from "./plot.js";

const MOST = 20;
const MOST_SUBSCRIBED = 128;
const DRAW_MS = 200;
const CHOSEN = ["speed_mps", "force_sum_N"];

/** The series that tell where in its run the newest value is. */
export const traceSeries = (config) => config.series.map((one) => one.name).filter((name) => ["t_ns", "impact"].includes(name));

/** Returns what offers runs to be laid over. */
export function startTraces(connection, config, newest, always) {
  const series = new Map(config.series.map((one) => [one.name, one]));
  const chosen = new Set(CHOSEN.filter((name) => series.has(name)));
  const plot = new Plot(series);
  const earlier = new Earlier(chosen);
  let frozen = null;

  const subscribe = () => connection.subscribe([...new Set([...chosen, ...always])].slice(0, MOST_SUBSCRIBED));
  for (const one of config.series) {
    const box = make("input", { type: "checkbox", checked: chosen.has(one.name) });
    box.addEventListener("change", () => {
      if (box.checked && chosen.size >= MOST) box.checked = false;
      else if (box.checked) chosen.add(one.name);
      else chosen.delete(one.name);
      subscribe();
      earlier.update();
    });
    byId("series").append(make("label", { title: one.description, "data-name": one.name }, box, ` ${one.name} [${one.unit}]`));
  }
  byId("find-series").addEventListener("input", (event) => {
    for (const label of byId("series").querySelectorAll("label")) label.hidden = !label.dataset.name.includes(event.target.value);
  });
  byId("freeze").addEventListener("click", (event) => {
    frozen = frozen ? null : live();
    event.target.setAttribute("aria-pressed", String(frozen !== null));
    event.target.textContent = frozen ? "Go on" : "Freeze";
  });
  byId("all-time").addEventListener("click", () => { plot.zoom = null; draw(); });
  byId("csv").addEventListener("click", () => save(plot.inView()));

  const live = () => {
    const now = newest.t.at(-1) ?? 0;
    const [names, t_ns] = [[...chosen], newest.of("t_ns")];
    return {
      names,
      t: newest.t.map((t) => t - now),
      columns: names.map((name) => [...(newest.columns.get(name) ?? new Array(newest.t.length).fill(null))]),
      marks: newest.marks.map(([at, text]) => [at - now, text]),
      run_s: t_ns === null ? null : t_ns * 1e-9,
      impact: impactOf(newest, now),
    };
  };
  function draw() {
    const data = frozen ?? live();
    const cursors = ["mark-a", "mark-b"].map((id) => byId(id).valueAsNumber);
    plot.draw({ ...data, earlier: earlier.over(data.names, data.run_s, data.impact) }, cursors);
    showStatistics(plot.inView(), plot.table, cursors, series);
  }
  setInterval(draw, DRAW_MS);
  subscribe();
  return earlier;
}

/** When the newest impact was detected, before the newest value [s]; null: there was none. */
function impactOf(newest, now) {
  const column = newest.columns.get("impact") ?? [];
  const hit = column.findLastIndex((value, i) => value === 1 && column[i - 1] === 0);
  return hit < 0 ? null : newest.t[hit] - now;
}

function at(times, column, time) {
  let best = null;
  for (let i = 0; i < times.length; i++) {
    if ((column[i] ?? null) !== null && (best === null || Math.abs(times[i] - time) < Math.abs(times[best] - time))) best = i;
  }
  return best === null ? null : column[best];
}

function showStatistics({ lines, columns }, [times, ...whole], [a, b], series) {
  byId("statistics").replaceChildren(...lines.map(({ label, name }, i) => {
    const values = columns[i].filter((value) => value !== null);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const [first, second] = [at(times, whole[i], a), at(times, whole[i], b)];
    const difference = first === null || second === null ? null : second - first;
    const [least, most] = values.length ? [Math.min(...values), Math.max(...values)] : [null, null];
    return row(label, series.get(name).unit, ...[first, second, difference, least, mean, most].map(digits));
  }));
}

function save({ lines, t, columns }) {
  const quoted = lines.map(({ label }) => `"${label}"`);
  const text = [["t_s", ...quoted].join(), ...t.map((time, i) => [time, ...columns.map((column) => column[i] ?? "")].join())];
  const link = make("a", { href: URL.createObjectURL(new Blob([`${text.join("\n")}\n`], { type: "text/csv" })), download: "traces.csv" });
  link.click();
  URL.revokeObjectURL(link.href);
}
