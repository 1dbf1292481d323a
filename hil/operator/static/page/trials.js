/** The last trials of a campaign as small multiples: the sum of the force sensors around the impact, all to the same scales. */

import { byId, make, read, recordOf } from "./dom.js";

const MOST = 6;
const SERIES = "force_sum_N";
const [BEFORE_S, AFTER_S] = [0.05, 0.3];
const [WIDE, HIGH] = [120, 60];

const known = new Map(); // the curve of each trial, by its name: a record is read once

/** The force of a trial around its impact: times from it [s], and the sum of the sensors [N]; empty: it has none. */
export function curveOf(run) {
  if (!known.has(run.name)) known.set(run.name, read(`${recordOf(run.name)}/traces?series=${SERIES}`).then(curve));
  return known.get(run.name);
}

/** Draw the newest trials of the newest campaign. */
export async function showLastTrials(runs) {
  const campaign = runs.find((run) => run.name.includes("/"))?.name.split("/")[0];
  const trials = runs.filter((run) => run.state === "done" && run.name.startsWith(`${campaign}/`)).slice(0, MOST);
  const curves = await Promise.all(trials.map(curveOf));
  const top = Math.max(1, ...curves.flat().map(([, force]) => force));
  byId("last-trials").replaceChildren(...trials.map((run, i) => multiple(run, curves[i], top)));
  byId("last-trials-title").hidden = !trials.length;
}

function curve(found) {
  const forces = found?.columns[SERIES];
  if (!forces || found.impact_s === null) return [];
  return found.t_s.map((t, i) => [t - found.impact_s, forces[i]]).filter(([t, force]) => t >= -BEFORE_S && t <= AFTER_S && force !== null);
}

/** A trial's curve to a scale of forces that ends at `top`. */
export function drawForce(run, points, top) {
  const x = (t) => (WIDE * (t + BEFORE_S) / (BEFORE_S + AFTER_S)).toFixed(1);
  const y = (force) => (HIGH * (1 - force / top)).toFixed(1);
  return make("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `Force around the impact of ${run.name}: ${peakOf(points)}` },
    make("line", { class: "pipe", x1: x(0), x2: x(0), y1: 0, y2: HIGH }),
    make("polyline", { class: "force", points: points.map(([t, force]) => `${x(t)},${y(force)}`).join(" ") }));
}

const peakOf = (points) => (points.length ? `peak ${Math.max(...points.map(([, force]) => force)).toFixed(0)} N` : "no impact");

const multiple = (run, points, top) => make("figure", {}, drawForce(run, points, top),
  make("figcaption", {}, `${run.angle_deg ?? "-"} deg, ${peakOf(points)}, ${run.accepted ? "accepted" : "not accepted"}`));
