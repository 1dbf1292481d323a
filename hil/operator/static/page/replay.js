/** Replays a run that is over: its record drives the drawings, and its traces have the same cursor. */

import { axisStyle, bodyColours, COLOURS, drawMarks, HEIGHT, widthIn } from "./chart.js";
import { Frames } from "./camera.js";
import { byId, make, read, recordOf, setText } from "./dom.js";

const SPEEDS = [["1", "as it was"], ["0.1", "1/10"], ["0.01", "1/100"]];
const AROUND_S = [0.1, 0.4]; // before and after the impact

export class Replay {
  /** `build` is called with what the drawings show from now on: rover, obstacle and ground of a run; null: the rig itself. */
  constructor(connection, build) {
    Object.assign(this, { build, on: false, playing: false, time: 0, data: null, chart: null });
    let running = false;
    connection.on("status", (status) => {
      if (status.running && !running) this.end(); // what moves is shown live
      running = status.running;
    });
    this.place = byId("replay");
  }

  /** Show a run; `span`: from and to [s], null: all of it. */
  async show(name, span = null) {
    const data = await read(`${recordOf(name)}/replay${span ? `?from_s=${span[0]}&to_s=${span[1]}` : ""}`);
    if (!data) {
      this.place.replaceChildren(make("p", { role: "status" }, `${name} cannot be replayed: its record has no motion of the rover.`));
      return;
    }
    const [first, another] = [this.name !== name || !this.on, data.t_s[0]];
    Object.assign(this, { name, data, on: true, playing: false, time: another });
    if (first) {
      this.build(data);
      this.frames = new Frames(name);
    }
    this.list();
    this.place.scrollIntoView({ block: "nearest" });
  }

  /** Back to the rig itself. */
  end() {
    if (!this.on) return;
    Object.assign(this, { on: false, playing: false, data: null });
    this.chart?.destroy();
    this.chart = null;
    this.place.replaceChildren();
    this.build(null);
  }

  list() {
    const { t_s: t, impact_s: hit, columns } = this.data;
    const button = (text, act) => make("button", { type: "button", onclick: act }, text);
    this.play = button("Play", () => { this.playing = !this.playing; });
    this.slider = make("input", { type: "range", id: "replay-time", min: t[0], max: t.at(-1), step: "any", value: t[0] });
    this.slider.addEventListener("input", () => { this.time = this.slider.valueAsNumber; this.playing = false; });
    this.slider.addEventListener("keydown", (event) => { // a tick at a time
      const steps = { ArrowLeft: -1, ArrowRight: 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      this.time = t[Math.min(t.length - 1, Math.max(0, this.index() + steps[event.key]))];
    });
    this.speed = make("select", { id: "replay-speed" }, ...SPEEDS.map(([value, text]) => make("option", { value }, text)));
    this.series = make("select", { id: "replay-series" }, ...Object.keys(columns).filter((one) => !one.includes("/")).map((one) => make("option", {}, one)));
    this.series.value = "force_sum_N" in columns ? "force_sum_N" : "speed_mps";
    this.series.addEventListener("change", () => this.drawChart());
    this.words = make("output", { for: "replay-time" });
    this.box = make("div", { class: "plot", role: "img", "aria-label": `Trace of ${this.name}` });
    this.place.replaceChildren(
      make("p", { class: "replayed", role: "status" }, make("strong", {}, "REPLAY"), ` of ${this.name}: the drawings are not live.`),
      make("div", { class: "row" }, this.play, button("Back to live", () => this.end()), button("Whole run", () => this.show(this.name)),
        ...(hit === null ? [] : [button("Around the impact", () => this.show(this.name, [Math.max(0, hit - AROUND_S[0]), hit + AROUND_S[1]]))]),
        make("label", {}, "Speed ", this.speed), make("label", {}, "Trace ", this.series)),
      make("label", { class: "wide" }, "Time ", this.slider), this.words, this.box, this.frames.place,
    );
    this.drawChart();
  }

  drawChart() {
    this.chart?.destroy();
    const colours = bodyColours();
    const axis = axisStyle(colours[0]);
    const name = this.series.value;
    this.chart = new uPlot({
      width: widthIn(this.box), height: HEIGHT, scales: { x: { time: false } }, legend: { show: false },
      axes: [{ ...axis, label: "time [s]" }, { ...axis, label: name }],
      series: [{}, { label: name, stroke: COLOURS[0], width: 2 }],
      hooks: { draw: [(chart) => drawMarks(chart, this.marks(), colours)] },
    }, [this.data.t_s, this.data.columns[name]], this.box);
    this.chart.over.addEventListener("click", ({ offsetX }) => {
      const { t_s: t } = this.data;
      this.time = Math.min(t.at(-1), Math.max(t[0], this.chart.posToVal(offsetX, "x")));
    });
  }

  marks() {
    const { impact_s: hit } = this.data;
    return [[this.time, "", [], 14], ...(hit === null ? [] : [[hit, "impact", [4, 4], 14]])];
  }

  /** So much time has passed [s]. */
  advance(dt) {
    if (!this.on) return;
    const { t_s: t, impact_s: hit } = this.data;
    if (this.playing) this.time += dt * Number(this.speed.value);
    if (this.time >= t.at(-1)) [this.time, this.playing] = [t.at(-1), false];
    if (this.drawn === this.time && this.chart === this.drawnIn) return setText(this.play, this.playing ? "Pause" : "Play");
    [this.drawn, this.drawnIn] = [this.time, this.chart];
    this.slider.value = this.time;
    const from = hit === null ? "" : `, impact ${this.time < hit ? "-" : "+"}${Math.abs((this.time - hit) * 1e3).toFixed(1)} ms`;
    const value = this.data.columns[this.series.value][this.index()];
    setText(this.words, `t = ${this.time.toFixed(4)} s${from}; ${this.series.value} ${value === null ? "-" : value.toFixed(4)}`);
    setText(this.play, this.playing ? "Pause" : "Play");
    this.chart.redraw(false);
    this.frames.show(this.time);
  }

  /** Number of the tick at the cursor, or the last before it. */
  index() {
    const { t_s: t } = this.data;
    let [low, high] = [0, t.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (t[middle] <= this.time + 1e-9) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Value of a series at the cursor; null: the run does not have it. */
  of(name) {
    return this.data.columns[name]?.[this.index()] ?? null;
  }

  /** Angle by which each wheel has turned there [rad]. */
  turn() {
    return new Map(this.data.rover.wheels.map(({ name }) => [name, this.of(`turned_rad/${name}`) ?? 0]));
  }
}
