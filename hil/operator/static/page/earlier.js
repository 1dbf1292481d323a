/** Earlier runs whose traces are laid over the live ones, from their records. */

import { byId, make, read, recordOf } from "./dom.js";
import { BACK_S } from "./plot.js";

const MOST = 3;
const NO_IMPACT_AT = -BACK_S / 2;

export class Earlier {
  constructor(chosen) {
    this.chosen = chosen;
    this.runs = new Map();
    byId("lay-over").addEventListener("click", () => this.add(byId("earlier-run").value));
  }

  /** Offer these runs. */
  offer(runs) {
    const before = byId("earlier-run").value;
    byId("earlier-run").replaceChildren(...runs.filter((run) => run.state === "done").map((run) => make("option", { value: run.name }, run.name)));
    if (before) byId("earlier-run").value = before;
  }

  async add(name) {
    if (!name || this.runs.has(name) || this.runs.size >= MOST) return;
    this.runs.set(name, { asked: new Set(), t_s: [], columns: {}, impact_s: null });
    await this.update();
  }

  /** Read the series that are not there yet, and list the runs. */
  async update() {
    byId("laid-over").replaceChildren(...[...this.runs.keys()].map((name) => make("li", {}, `${name} `, make("button", {
      type: "button", "aria-label": `Remove ${name}`, onclick: () => { this.runs.delete(name); this.update(); },
    }, "Remove"))));
    await Promise.all([...this.runs].map(async ([name, run]) => {
      const missing = [...this.chosen].filter((one) => !run.asked.has(one));
      if (!missing.length) return;
      missing.forEach((one) => run.asked.add(one));
      const found = await read(`${recordOf(name)}/traces?${missing.map((one) => `series=${encodeURIComponent(one)}`).join("&")}`);
      if (found) Object.assign(run, { t_s: found.t_s, impact_s: found.impact_s, columns: { ...run.columns, ...found.columns } });
    }));
  }

  /** The runs over the time before the newest live value, which is `run_s` in its run; its impact is at `impact`; null: not known. */
  over(names, run_s, impact) {
    const atImpact = byId("align").value === "impact";
    const zero = atImpact ? impact ?? NO_IMPACT_AT : run_s === null ? -BACK_S : -run_s;
    return [...this.runs].filter(([, run]) => run.t_s.length && !(atImpact && run.impact_s === null)).map(([label, run]) => {
      const there = names.filter((name) => run.columns[name]);
      const start = zero - (atImpact ? run.impact_s : 0);
      return { label, names: there, t: run.t_s, start, columns: there.map((name) => run.columns[name]) };
    });
  }
}
