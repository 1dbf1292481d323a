/** A trial that waits for its verdict: its force, each quality rule with its number, and the trials before it at that angle. */

import { axisStyle, bodyColours, COLOURS, widthIn } from "./chart.js";
import { digits, make, read, recordOf, row, runOf } from "./dom.js";
import { counts } from "./runs.js";

const SERIES = "force_sum_N";
const [BEFORE_S, AFTER_S, HIGH] = [0.05, 0.5, 220];
const MOST_BEFORE = 6;
const NUMBERS = [["peak_force_N", "Peak force [N]"], ["impact_speed_mps", "Impact speed [m/s]"], ["effective_kinetic_energy_J", "T_c [J]"]];

export class VerdictPanel {
  constructor() {
    this.element = make("div", { id: "verdict" });
    [this.runs, this.run, this.shown] = [[], "", ""];
  }

  /** `run`: folder of the trial that is asked about; empty: none is. */
  ask(run) {
    this.run = run;
    this.show();
  }

  /** The runs that are there now, newest first. */
  offer(runs) {
    this.runs = runs;
    this.show();
  }

  async show() {
    const name = this.run.split("/").slice(-2).join("/");
    const trial = this.run && this.runs.find((one) => one.name === name && one.state === "done");
    const key = trial ? name : "";
    if (key === this.shown) return;
    this.shown = key;
    this.element.replaceChildren();
    if (!trial) return;
    const before = alike(trial, this.runs);
    const [summary, ...traces] = await Promise.all([
      read(`${runOf(name)}/summary.json`),
      ...[trial, ...before.slice(0, MOST_BEFORE)].map((one) => read(`${recordOf(one.name)}/traces?series=${SERIES}`)),
    ]);
    if (this.shown !== key) return;
    this.element.replaceChildren(make("h3", {}, `Trial ${name} at ${trial.angle_deg} deg`));
    drawForces(this.element, [trial, ...before], traces);
    this.element.append(rules(summary?.quality ?? []), comparison(trial, before));
  }
}

/** Trials of the same campaign at the same angle, made before it, newest first. */
function alike(trial, runs) {
  const campaign = trial.name.split("/")[0];
  return runs.filter((one) => one.name !== trial.name && one.name.startsWith(`${campaign}/`) && one.state === "done"
    && one.angle_deg === trial.angle_deg && one.name < trial.name);
}

function drawForces(place, trials, traces) {
  const curves = traces.map(around).filter((curve) => curve[0].length);
  if (!curves.length) {
    place.append(make("p", {}, "There was no impact."));
    return;
  }
  const t = [...new Set(curves.flatMap(([times]) => times))].sort((a, b) => a - b);
  const columns = curves.map(([times, forces]) => {
    const at = new Map(times.map((time, i) => [time, forces[i]]));
    return t.map((time) => at.get(time));
  });
  const peak = Math.max(...curves[0][1]);
  const box = make("div", { class: "forces", role: "img", "aria-label": `Force on the obstacle around the impact, peak ${peak.toFixed(1)} N` });
  place.append(box);
  const axis = axisStyle(bodyColours()[0]);
  new uPlot({
    width: widthIn(box), height: HIGH, legend: { live: false }, scales: { x: { time: false } },
    axes: [{ ...axis, label: "time from the impact [ms]" }, { ...axis, label: "force [N]" }],
    series: [{}, ...columns.map((_, i) => ({
      label: i ? trials[i].name.split("/").pop() : "this trial", stroke: i ? "#8886" : COLOURS[0], width: i ? 1 : 3, spanGaps: true,
    }))],
  }, [t, ...columns], box);
}

/** Times from the impact [ms] and forces [N] of a record. */
function around(found) {
  const forces = found?.columns[SERIES];
  if (!forces || found.impact_s === null) return [[], []];
  const near = found.t_s.map((t, i) => [t - found.impact_s, forces[i]]).filter(([t, force]) => t >= -BEFORE_S && t <= AFTER_S && force !== null);
  return [near.map(([t]) => Math.round(1e3 * t)), near.map(([, force]) => force)];
}

function rules(quality) {
  const failing = (one) => Number(one.ok !== false);
  const rows = [...quality].sort((a, b) => failing(a) - failing(b)).map(({ rule, value, limit, ok }) => row(
    rule.replaceAll("_", " "),
    make("span", { class: ok === false ? "bad" : ok ? "good" : "" }, ok === false ? "FAILS" : ok ? "passes" : "not judged"),
    digits(value), digits(limit)));
  return table("Quality rules", ["Rule", "Result", "Found", "Limit"], rows);
}

/** Mean and standard deviation of the trials before it that count, and how far this one is from them. */
function comparison(trial, before) {
  const counted = before.filter(counts);
  const rows = NUMBERS.map(([key, label]) => {
    const values = counted.map((one) => one.numbers[key]).filter((value) => typeof value === "number");
    const [mean, spread] = spreadOf(values);
    const found = trial.numbers[key];
    const off = values.length > 1 && spread > 0 && typeof found === "number" ? ((found - mean) / spread).toFixed(1) : "-";
    return row(label, digits(found), values.length ? digits(mean) : "-", values.length > 1 ? digits(spread) : "-", off);
  });
  const words = `Beside the ${counted.length} that count of ${before.length} trials before it at this angle`;
  return table(words, ["Number", "This trial", "Mean", "Standard deviation", "Off by so many of it"], rows);
}

function spreadOf(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return [mean, Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1))];
}

function table(title, heads, rows) {
  return make("div", {}, make("h4", {}, title), make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
    make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", {}, head)))), make("tbody", {}, ...rows))));
}
