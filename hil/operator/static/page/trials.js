/** The last trials of a campaign as small multiples: the sum of the force sensors around the impact, all to the same scales. */

import { byId, make, read, recordOf } from "./dom.js";
import { counts } from "./runs.js";

const MOST = 6;
const SERIES = "force_sum_N";
const [BEFORE_S, AFTER_S] = [0.05, 0.3];
const [WIDE, HIGH] = [120, 60];

export class LastTrials {
  constructor() {
    [this.known, this.runs] = [new Map(), null];
  }

  /** Draw the newest trials of the newest campaign; a record is read once. */
  async show(runs) {
    const campaign = runs.find((run) => run.name.includes("/"))?.name.split("/")[0];
    const trials = runs.filter((run) => run.state === "done" && run.name.startsWith(`${campaign}/`)).slice(0, MOST);
    this.runs = runs;
    for (const { name } of trials) {
      if (!this.known.has(name)) this.known.set(name, read(`${recordOf(name)}/traces?series=${SERIES}`));
    }
    const curves = (await Promise.all(trials.map((run) => this.known.get(run.name)))).map(curve);
    if (this.runs !== runs) return; // newer ones are shown, or will be
    const top = Math.max(1, ...curves.flat().map(([, force]) => force));
    byId("last-trials").replaceChildren(...trials.map((run, i) => multiple(run, curves[i], top)));
    byId("last-trials-title").hidden = !trials.length;
  }
}

function curve(found) {
  const forces = found?.columns[SERIES];
  if (!forces || found.impact_s === null) return [];
  return found.t_s.map((t, i) => [t - found.impact_s, forces[i]]).filter(([t, force]) => t >= -BEFORE_S && t <= AFTER_S && force !== null);
}

function multiple(run, points, top) {
  const x = (t) => (WIDE * (t + BEFORE_S) / (BEFORE_S + AFTER_S)).toFixed(1);
  const y = (force) => (HIGH * (1 - force / top)).toFixed(1);
  const verdict = counts(run) ? "accepted" : run.accepted ? "rejected by the operator" : "not accepted";
  const peak = points.length ? `peak ${Math.max(...points.map(([, force]) => force)).toFixed(0)} N` : "no impact";
  return make("figure", {},
    make("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `Force around the impact of ${run.name}: ${peak}` },
      make("line", { class: "pipe", x1: x(0), x2: x(0), y1: 0, y2: HIGH }),
      make("polyline", { class: "force", points: points.map(([t, force]) => `${x(t)},${y(force)}`).join(" ") })),
    make("figcaption", {}, `${run.angle_deg ?? "-"} deg, ${peak}, ${verdict}`));
}
