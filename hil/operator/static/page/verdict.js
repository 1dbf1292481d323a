/** What a verdict on a trial is made of: its force, each quality rule with its number, and the trials before it at that angle. */

import { digits, make, quantity, row } from "./dom.js";
import { curveOf, drawForce } from "./trials.js";

const PEAK = "peak_force_N";

export class Judging {
  constructor() {
    this.element = make("div", { id: "judging", hidden: true });
    this.shown = "";
  }

  /** Show the newest trial of the newest campaign. */
  async show(runs) {
    const trials = runs.filter((run) => run.state === "done" && run.name.includes("/"));
    const trial = trials[0];
    const before = trials.slice(1).filter((run) => run.name.split("/")[0] === trial.name.split("/")[0] && run.angle_deg === trial.angle_deg);
    const key = `${trial?.name} ${before.length}`;
    if (!trial || key === this.shown) return;
    this.shown = key;
    const points = await curveOf(trial);
    if (key !== this.shown) return; // another one is over meanwhile
    this.element.replaceChildren(
      make("h3", {}, `${trial.name}: ${trial.accepted ? "accepted" : `not accepted: ${trial.reasons.join("; ")}`}`),
      drawForce(trial, points, Math.max(1, ...points.map(([, force]) => force))),
      make("p", {}, `Peak ${quantity(trial.numbers[PEAK], "N")} N. ${inWords(before)}`),
      make("table", {},
        make("thead", {}, make("tr", {}, ...["Quality rule", "Found", "Limit", "Result"].map((head) => make("th", {}, head)))),
        make("tbody", {}, ...(trial.quality ?? []).map(({ rule, value, limit, ok }) => row(
          rule.replaceAll("_", " "), digits(value), digits(limit),
          make("span", { class: ok === null ? "" : ok ? "good" : "bad" }, ok === null ? "not judged" : ok ? "passes" : "FAILS"))))));
  }
}

/** The peaks of the trials before, with their spread. */
function inWords(before) {
  const peaks = before.map((run) => run.numbers[PEAK]).filter((one) => typeof one === "number");
  if (!peaks.length) return "No trial before it at this angle.";
  const mean = peaks.reduce((sum, one) => sum + one, 0) / peaks.length;
  const spread = Math.sqrt(peaks.reduce((sum, one) => sum + (one - mean) ** 2, 0) / Math.max(1, peaks.length - 1));
  const trials = peaks.length > 1 ? `${peaks.length} trials before it at this angle: mean` : "One trial before it at this angle:";
  return `${trials} ${mean.toFixed(1)} N${peaks.length > 1 ? `, standard deviation ${spread.toFixed(1)} N` : ""}.`;
}
