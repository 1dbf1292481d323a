/** The run as it is now: force with its threshold, energy, gap, speed, time to the impact; and how old that is. */

import { byId, quantity, setText } from "./dom.js";
import { drawEvery } from "./draw.js";
import { OLD_S } from "./display.js";
import { Plot } from "./plot.js";

const FORCE = "force_sum_N";
const NUMBERS = [["energy", "effective_kinetic_energy_J", "J"], ["gap", "gap_m", "m"], ["speed", "speed_mps", "m/s"]];
const LEFT = "time_to_impact_s";
// A longer time to the impact says only that the rover hardly moves [s].
const LONGEST_LEFT_S = 600;

/** The series that are shown. */
export function liveSeries(config) {
  const wanted = [FORCE, LEFT, ...NUMBERS.map(([, name]) => name)];
  return config.series.map((one) => one.name).filter((name) => wanted.includes(name));
}

export function startLive(config, newest) {
  const there = new Set(liveSeries(config));
  for (const [id, name] of [...NUMBERS, ["left", LEFT]]) byId(id).closest("p").hidden = !there.has(name);
  if (config.captures) setText(byId("gap").closest("p").querySelector("small"), "payload before the seat");
  const chart = there.has(FORCE) ? forceChart(config) : null;
  byId("force").hidden = byId("force-note").hidden = !chart;
  drawEvery(1, function* () {
    showAge(newest.age_s());
    for (const [id, name, unit] of NUMBERS) setText(byId(id), quantity(newest.of(name), unit));
    setText(byId("left"), timeLeft(newest));
    yield;
  });
  if (chart) drawEvery(2, () => chart.draw({ ...newest.lines([FORCE]), earlier: [] }, []));
}

/** What is not of now is grey, with its age in words. */
function showAge(age) {
  const old = age !== null && age > OLD_S;
  document.body.classList.toggle("old", old);
  setText(byId("live-age"), !old ? "" : age < 60 ? `as it was ${age.toFixed(0)} s ago` : `as it was ${Math.floor(age / 60)} min ago`);
}

/** A time only in a run, and while the rover approaches the obstacle: else telemetry has no number, or an old one. */
function timeLeft(newest) {
  const left = newest.of(LEFT);
  if (newest.of("impact") === 1) return "over";
  if (newest.over) return "-";
  if (left !== null && left <= LONGEST_LEFT_S) return `${quantity(left, "s")} s`;
  return newest.of("speed_mps") === null && left === null ? "-" : "not approaching";
}

function forceChart(config) {
  const about = config.series.find((one) => one.name === FORCE);
  const threshold = config.detector?.threshold_N ?? null;
  setText(byId("force-note"), `Sum of the force sensors${threshold === null ? "" : `; dashed: the detector's threshold, ${threshold} N`}`);
  const band = threshold === null ? about.band : [null, threshold];
  return new Plot(new Map([[FORCE, { ...about, band }]]), byId("force"), { height: 260, limitsInView: true });
}
