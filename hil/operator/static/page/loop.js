/** How the loop kept time in a run: counts, quantiles, histograms of its work and its wake-ups, and the parts of the last cut. */

import { byId, digits, make, read, recordOf, row } from "./dom.js";

const QUANTILES = ["p50", "p99", "p99_9", "max"];
const PARTS = {
  cut_latency: "in all", cut_block: "rest of the block of samples", cut_delivery: "block to the driver",
  cut_tick: "wait for the next tick", cut_wire: "stop to the last drive",
};
const [WIDE, HIGH] = [300, 90];
const EDGE = 20;
const inWords = (decade) => (decade < 3 ? `${10 ** decade} us` : decade < 6 ? `${10 ** (decade - 3)} ms` : `${10 ** (decade - 6)} s`);

/** Returns what shows a run. */
export function startLoop(config) {
  byId("cut-budget").append(...config.cut_budget.map((one) => row(one.item, one.found, one.allowed)));
  byId("budget").hidden = !config.cut_budget.length;
  let asked = null;
  return async (run) => {
    asked = run;
    const timing = run.state === "campaign" ? null : await read(`${recordOf(run.name)}/timing`);
    if (asked === run) showRun(run, timing); // else another run was opened since
  };
}

function showRun(run, timing) {
  byId("loop-run").textContent = timing ? run.name : `${run.name} has no timing`;
  if (!timing) return;
  const loop = timing.loop ?? {};
  byId("loop-counts").textContent = timing.loop
    ? `${loop.ticks} ticks at ${loop.rate_hz} Hz, ${loop.late} late, ${loop.skipped} skipped.` : "The run has no summary.";
  const stages = [["work", loop.work_us], ["wake-up", loop.wake_us], ["simulated rig", loop.plant_us],
    ...Object.entries(loop.phases_us ?? {}).map(([name, times]) => [`stage ${name}`, times])];
  byId("stages").replaceChildren(...stages.filter(([, times]) => times)
    .map(([name, times]) => row(name, ...QUANTILES.map((one) => digits(times[one])))));
  byId("histogram").replaceChildren(...[["work", timing.histogram], ["wake-up", timing.wake_histogram]]
    .filter(([, histogram]) => histogram).map(([what, histogram]) => drawHistogram(what, histogram, loop.rate_hz)));
  byId("cut-parts").replaceChildren(...(timing.cut ?? []).map(({ name, ms }) => row(PARTS[name] ?? name, `${ms.toFixed(2)} ms`)));
  byId("no-cut").hidden = timing.cut !== null;
}

/** Ticks by the time of their work or wake-up, on logarithmic axes; the period of the loop is marked. */
function drawHistogram(what, { from_us: edges, ticks }, rate) {
  const [first, last] = [Math.log10(edges[0]), Math.log10(edges.at(-1)) + 0.125];
  const along = (us) => WIDE * (Math.log10(us) - first) / (last - first);
  const up = (count) => (count ? HIGH * (0.1 + 0.9 * Math.log10(count) / Math.max(1, Math.log10(Math.max(...ticks)))) : 0);
  const svg = make("svg", {
    viewBox: `0 0 ${WIDE} ${HIGH + 16}`, class: "histogram", role: "img",
    "aria-label": `Ticks by the time of their ${what}, ${digits(edges[0])} to ${digits(edges.at(-1))} microseconds`,
  }, ...ticks.map((count, i) => make("rect", {
    class: "gas", x: along(edges[i]) + 0.5, width: WIDE / ticks.length - 1, y: HIGH - up(count), height: up(count),
  })));
  for (let decade = Math.ceil(first); decade <= last; decade++) {
    const x = along(10 ** decade);
    if (x > EDGE && x < WIDE - EDGE) svg.append(make("text", { x, y: HIGH + 12, class: "middle" }, inWords(decade)));
  }
  const period = rate ? along(1e6 / rate) : -1;
  if (period > 0 && period < WIDE) svg.append(make("line", { class: "plate", x1: period, x2: period, y1: 0, y2: HIGH }));
  return make("figure", {}, svg, make("figcaption", {}, `Ticks by the time of their ${what}, both logarithmic. Line: the period of the loop.`));
}
