/** Loads of the wheels: wanted, estimated and measured, the share of the weight, slip and sinkage. */

import { byId, make, setAttributes, setText } from "./dom.js";

const KINDS = [["estimated", "normal_force_N"], ["wanted", "load_wanted_N"], ["measured", "wheel_load_N"]];
const STEP_N = 50;
const [LONG, HIGH] = [100, 14];

/** Draws those of a rig, or of a run that is over: its wheels and the names of its series. Returns what shows a moment: `of` is a series' value. */
export function startLoads(wheels, series) {
  const has = (field) => wheels.some((wheel) => series.includes(`${field}/${wheel.name}`));
  const kinds = KINDS.filter(([, field]) => has(field));
  const others = [["slip", "slip", "%", 100], ["sinkage", "sinkage_m", "mm", 1000]].filter(([, field]) => has(field));
  if (!kinds.length) {
    byId("loads").replaceChildren(make("p", {}, "This rig has no wheel loads."));
    return function* () {};
  }
  const heads = ["Wheel", "Load", ...kinds.map(([word]) => `${word} [N]`), "share [%]", ...others.map(([word, , unit]) => `${word} [${unit}]`)];
  const bars = wheels.map(({ name }) => new Bar(name, kinds, others));
  byId("loads").replaceChildren(make("table", { class: "loads" },
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", {}, head)))),
    make("tbody", {}, ...bars.map((bar) => bar.line))), make("p", { class: "note" },
    ["bar: estimated", kinds.some(([word]) => word === "wanted") && "line: wanted", kinds.some(([word]) => word === "measured") && "circle: measured"]
      .filter(Boolean).join("; ")));
  let scale = STEP_N;
  return function* (of) {
    const loads = bars.map((bar) => bar.loads(of));
    scale = Math.max(scale, STEP_N * Math.ceil(1.1 * Math.max(0, ...loads.flatMap((one) => Object.values(one))) / STEP_N));
    const sum = loads.reduce((total, one) => total + (one.estimated ?? NaN), 0); // no share where a load is not known
    for (const [i, bar] of bars.entries()) {
      bar.draw(loads[i], sum, scale, of);
      yield;
    }
  };
}

class Bar {
  constructor(name, kinds, others) {
    this.name = name;
    this.kinds = kinds;
    this.others = others;
    this.marks = {
      estimated: make("rect", { class: "estimated", height: HIGH, width: 0 }),
      wanted: make("line", { class: "wanted", y1: -2, y2: HIGH + 2 }),
      measured: make("circle", { class: "measured", r: 4, cy: HIGH / 2 }),
    };
    const label = name.replaceAll("_", " ");
    const shown = kinds.map(([word]) => this.marks[word]);
    this.svg = make("svg", { viewBox: `0 -3 ${LONG} ${HIGH + 6}`, preserveAspectRatio: "none", role: "img", "aria-label": `Load of the wheel ${label}` },
      make("rect", { class: "full", width: LONG, height: HIGH }), ...shown);
    this.cells = [...kinds, "share", ...others].map(() => make("td", {}));
    this.line = make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, this.svg), ...this.cells);
  }

  /** The newest loads by kind [N]. */
  loads(of) {
    return Object.fromEntries(this.kinds.map(([word, field]) => [word, of(`${field}/${this.name}`)]).filter(([, load]) => load !== null));
  }

  /** Draw the loads of the wheel, of all wheels' sum [N], on a bar that is so long [N]. */
  draw(loads, sum, scale, of) {
    for (const [word, mark] of Object.entries(this.marks)) mark.classList.toggle("none", loads[word] === undefined);
    const along = (load) => LONG * Math.max(0, load ?? 0) / scale;
    const wanted = along(loads.wanted);
    setAttributes(this.marks.estimated, { width: along(loads.estimated) });
    setAttributes(this.marks.wanted, { x1: wanted, x2: wanted });
    setAttributes(this.marks.measured, { cx: along(loads.measured) });
    const share = sum > 0 ? 100 * loads.estimated / sum : null;
    const values = [...this.kinds.map(([word]) => loads[word] ?? null), share, ...this.others.map(([, field, , times]) => {
      const value = of(`${field}/${this.name}`);
      return value === null ? null : times * value;
    })];
    values.forEach((value, i) => setText(this.cells[i], value === null ? "-" : (Math.round(value) + 0).toFixed(0)));
  }
}
