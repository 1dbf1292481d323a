/** Traces of any telemetry series: 30 s back, freeze, zoom, two cursors, earlier runs, statistics, export. */

import { byId, make, quantity, setText } from "./dom.js";
import { drawEvery } from "./draw.js";
import { Earlier } from "./earlier.js";
import { labelOf, questionsFor } from "./labels.js";
import { indexAt, Plot, summary } from "./plot.js";

const MOST = 20;
const MOST_SUBSCRIBED = 192;
const CHOSEN = ["speed_mps", "force_sum_N"];

/** The series that tell where in its run the newest value is. */
export const traceSeries = (config) => config.series.map((one) => one.name).filter((name) => ["t_ns", "impact"].includes(name));

/** Returns what offers runs to be laid over. */
export function startTraces(connection, config, newest, always) {
  const series = new Map(config.series.map((one) => [one.name, one]));
  const chosen = new Set(CHOSEN.filter((name) => series.has(name)));
  const plot = new Plot(series, byId("plot"));
  const earlier = new Earlier(chosen);
  let frozen = null;

  const subscribe = () => connection.subscribe([...new Set([...chosen, ...always])].slice(0, MOST_SUBSCRIBED));
  const choose = (names) => {
    chosen.clear();
    names.forEach((name) => chosen.add(name));
    for (const [name, box] of boxes) box.checked = chosen.has(name);
    subscribe();
    earlier.update();
  };
  const boxes = new Map(config.series.map((one) => {
    const box = make("input", { type: "checkbox", checked: chosen.has(one.name) });
    box.addEventListener("change", () => choose(box.checked ? [...chosen, one.name].slice(0, MOST) : [...chosen].filter((name) => name !== one.name)));
    byId("series").append(make("label", { title: `${one.name}: ${one.description}`, "data-name": one.name }, box, ` ${labelOf(one.name)}${one.unit === "1" ? "" : ` [${one.unit}]`}`));
    return [one.name, box];
  }));
  const questions = questionsFor([...series.keys()], MOST);
  byId("question").append(make("option", { value: "" }, "series of your own"), ...questions.map(([question], i) => make("option", { value: i }, question)));
  byId("question").addEventListener("change", ({ target }) => target.value && choose(questions[target.value][1]));
  byId("find-series").addEventListener("input", ({ target }) => {
    const wanted = target.value.toLowerCase();
    for (const label of byId("series").children) label.hidden = !`${label.dataset.name} ${label.textContent}`.toLowerCase().includes(wanted);
  });
  byId("freeze").addEventListener("click", (event) => {
    frozen = frozen ? null : structuredClone(live()); // the live columns go on
    event.target.setAttribute("aria-pressed", String(frozen !== null));
    event.target.textContent = frozen ? "Go on" : "Freeze";
  });
  byId("all-time").addEventListener("click", () => { plot.zoom = null; });
  byId("csv").addEventListener("click", () => save(plot.inView()));

  const live = () => ({
    ...newest.lines([...chosen]),
    run_s: newest.of("t_ns") === null ? null : newest.of("t_ns") * 1e-9,
    impact: impactOf(newest),
  });
  const cursors = () => ["mark-a", "mark-b"].map((id) => byId(id).valueAsNumber);
  drawEvery(2, function* () {
    const data = frozen ?? live();
    yield* plot.draw({ ...data, earlier: earlier.over(data.names, data.run_s, data.impact) }, cursors());
  });
  drawEvery(2, () => showReader(plot, series));
  const statistics = new Statistics(series);
  drawEvery(10, () => statistics.show(plot.lines, plot.span(), cursors()));
  subscribe();
  return earlier;
}

/** The values of the lines where the reader's line is, in words: it follows the pointer. */
function* showReader({ reader, lines }, series) {
  const values = reader === null ? [] : lines.map((line) => [line, valueAt(line, reader)]).filter(([, value]) => value !== null);
  const words = values.map(([{ text, name }, value]) => {
    const { unit } = series.get(name);
    return `${text} ${quantity(value, unit)}${unit === "1" ? "" : ` ${unit}`}`;
  });
  setText(byId("reader"), reader === null ? "Point at the chart to read its values; drag to zoom." : [`at ${reader.toFixed(2)} s`, ...words].join("; "));
  yield;
}

/** When the newest impact was detected, before the newest value [s]; null: there was none. */
function impactOf(newest) {
  const column = newest.columns.get("impact") ?? [];
  const hit = column.findLastIndex((value, i) => value === 1 && column[i - 1] === 0);
  return hit < 0 ? null : newest.t[hit] - newest.t.at(-1);
}

/** The value of a line that is nearest to a time; null: there is none. */
function valueAt({ t, start, column }, time) {
  let [before, after] = [indexAt(t, time - start) - 1, indexAt(t, time - start)];
  while (before >= 0 && (column[before] ?? null) === null) before -= 1;
  while (after < t.length && (column[after] ?? null) === null) after += 1;
  const away = (i) => (i in t ? Math.abs(t[i] + start - time) : Infinity);
  return column[away(before) <= away(after) ? before : after] ?? null;
}

/** The table of the statistics; its rows stay as long as the lines are the same. */
class Statistics {
  constructor(series) {
    this.series = series;
    this.rows = new Map();
  }

  *show(lines, span, [a, b]) {
    if (lines.length !== this.rows.size || !lines.every(({ label }) => this.rows.has(label))) this.build(lines);
    for (const line of lines) {
      const { least, most, mean } = summary(line, span);
      const [first, second] = [valueAt(line, a), valueAt(line, b)];
      const difference = first === null || second === null ? null : second - first;
      [first, second, difference, least, mean, most].forEach((value, i) => setText(this.rows.get(line.label)[i], quantity(value, this.series.get(line.name).unit)));
      yield;
    }
  }

  build(lines) {
    this.rows = new Map(lines.map(({ label }) => [label, Array.from({ length: 6 }, () => make("td", {}))]));
    byId("statistics").replaceChildren(...lines.map(({ label, text, name }) => (
      make("tr", {}, make("td", {}, text), make("td", {}, this.series.get(name).unit), ...this.rows.get(label)))));
  }
}

function save({ lines, t, columns }) {
  const quoted = lines.map(({ label }) => `"${label}"`);
  const text = [["t_s", ...quoted].join(), ...t.map((time, i) => [time, ...columns.map((column) => column[i] ?? "")].join())];
  const link = make("a", { href: URL.createObjectURL(new Blob([`${text.join("\n")}\n`], { type: "text/csv" })), download: "traces.csv" });
  link.click();
  URL.revokeObjectURL(link.href);
}
