/** The motion of the rover, measured beside estimated, and the state of each instrument that measures it. */

import { byId, digits, make, setAttributes, setText } from "./dom.js";
import { OLD_S } from "./display.js";
import { drawEvery } from "./draw.js";
import { ageOf, isOld, levelOf, measuredBase, measuredJoint, measuredLevel, STATES, turnsOfPose } from "./measured.js";
import { POSE } from "./skeleton.js";

const SPAN_S = 30;
const [LONG, HIGH] = [300, 60];
// An innovation is drawn on a logarithmic axis between these.
const [LEAST, MOST] = [0.01, 100];
// A measured speed is the change of place over this time, at least [s].
const SLOPE_S = 0.25;
const NAMES = { motion: "outside", imu: "inertial unit", joints: "joint encoders" };
const FIELDS = ["innovation", "source", "slip", "slip_sd", "speed_mps", "speed_sd_mps", "pose", "pose_sd", "gravity", "joint_angle_rad", "joint_angle_sd_rad", "t_ns"];
const READINGS = /^(motion|imu|joints)_(t_ns|reading)(\/|$)/;
const number = (value) => (typeof value === "number" ? value : null);
const deg = (rad) => (rad === null ? null : rad * 180 / Math.PI);

/** The series that are shown; none of a rig without instruments. */
export function motionSeries(config) {
  if (!config.instruments?.length) return [];
  return config.series.map((one) => one.name).filter((name) => FIELDS.includes(name.split("/")[0]) || READINGS.test(name));
}

export function startMotion(connection, config, newest) {
  if (!config.instruments?.length) return;
  byId("motion").hidden = byId("motion-link").hidden = false;
  const sources = config.instruments.map((one) => new Source(one, newest));
  byId("sources").append(...sources.map((source) => source.line));
  connection.on("status", ({ links }) => sources.forEach((source) => source.showRate(links)));
  const speeds = config.instruments.some((one) => one.role === "motion") ? new Speeds(config, newest) : null;
  byId("speeds").append(...(speeds ? [speeds.svg, speeds.range] : []));
  const compared = new Compared(config, newest, speeds);
  drawEvery(3, function* () {
    for (const source of sources) {
      source.draw();
      yield;
    }
    if (speeds) yield* speeds.draw();
    yield* compared.draw();
  });
}

/** One instrument: its state in words, its age and rate, and its innovation as a curve with its bound. */
class Source {
  constructor(one, newest) {
    Object.assign(this, { one, newest });
    [this.state, this.age, this.rate] = [0, 1, 2].map(() => make("td", {}, "-"));
    const bound = heightOf(one.bound);
    this.curve = make("polyline", { class: "curve" });
    const svg = make("svg", { viewBox: `0 0 ${LONG} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-label": `Innovation of ${NAMES[one.role]}` },
      make("line", { class: "bound", x1: 0, x2: LONG, y1: bound, y2: bound }), this.curve);
    this.line = make("tr", {}, make("th", { scope: "row" }, NAMES[one.role]), this.state, this.age, this.rate, make("td", {}, svg));
    this.leftSince = null;
  }

  showRate(links) {
    const found = links?.[this.one.role]?.rate_hz;
    setText(this.rate, found === undefined ? `set: ${digits(this.one.rate_hz)} Hz` : `${digits(found)} of ${digits(this.one.rate_hz)} Hz`);
  }

  draw() {
    const { one, newest } = this;
    const over = (newest.age_s() ?? Infinity) > OLD_S; // no run is on: then there is no state
    const of = (name) => (over ? null : newest.of(name));
    const [code, age, now] = [of(`source/${one.role}`), ageOf(one, of), of("t_ns")];
    const old = age !== null && isOld(one, of);
    const state = code === null ? "" : old ? "stale" : STATES[code] ?? "";
    if (state !== "left out") this.leftSince = null;
    else this.leftSince ??= now;
    const since = this.leftSince === null || now === null ? "" : `, since ${((now - this.leftSince) * 1e-9).toFixed(0)} s`;
    setText(this.state, state === "" ? "no data" : state === "stale" ? "STALE" : state === "left out" ? `LEFT OUT${since}` : state === "none" ? "no reading yet" : state);
    setAttributes(this.state, { class: state === "used" ? "good" : state === "" || state === "none" ? "" : "bad" });
    setText(this.age, age === null ? "-" : age < 10 ? `${(1e3 * age).toFixed(0)} ms` : `${age.toFixed(0)} s`);
    this.line.classList.toggle("gone", old || state === "left out");
    const { t, start, columns: [values] } = newest.lines([`innovation/${one.role}`]);
    const points = t.map((at, i) => [at + start, number(values[i])]).filter(([, value]) => value !== null);
    setAttributes(this.curve, { points: points.map(([at, value]) => `${across(at).toFixed(1)},${heightOf(value).toFixed(1)}`).join(" ") });
  }
}

/** Speed over the last 30 s: estimated, with a band of two standard deviations, and measured. */
class Speeds {
  constructor(config, newest) {
    Object.assign(this, { config, newest, measured: null });
    this.band = make("polygon", { class: "band" });
    this.curve = make("polyline", { class: "curve" });
    this.dots = make("g", {});
    this.zero = make("line", { class: "zero", x1: 0, x2: LONG });
    this.svg = make("svg", { viewBox: `0 0 ${LONG} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-label": "Speed of the rover over the last 30 s, measured and estimated" },
      this.zero, this.band, this.curve, this.dots);
    this.range = make("p", { class: "note" }, "");
  }

  /** Times before now [s] and speeds [m/s] by the instrument outside: the change of the place ahead over `SLOPE_S`. */
  ofReadings() {
    const { config, newest } = this;
    const names = ["motion_t_ns", "t_ns", ...config.instruments.find((one) => one.role === "motion").channels.map((name) => `motion_reading/${name}`)];
    const { columns } = newest.lines(names);
    const now = number(newest.of("t_ns"));
    const places = [];
    for (let i = 0; i < columns[0].length && now !== null; i += 1) {
      const taken = columns[0][i];
      if (typeof taken !== "number" || taken < 0 || taken === places.at(-1)?.[2]) continue;
      const [ahead] = measuredBase(config, (name) => columns[names.indexOf(name)]?.[i] ?? null).place;
      if (ahead !== null) places.push([(taken - now) * 1e-9, ahead, taken]);
    }
    const speeds = [];
    let first = 0;
    for (let i = 1; i < places.length; i += 1) {
      while (places[i][0] - places[first + 1][0] >= SLOPE_S && first + 1 < i) first += 1;
      const span = places[i][0] - places[first][0];
      if (span >= SLOPE_S && span < 2 * SLOPE_S) speeds.push([(places[i][0] + places[first][0]) / 2, (places[i][1] - places[first][1]) / span]);
    }
    return speeds;
  }

  *draw() {
    const { t, start, columns: [speed, sd] } = this.newest.lines(["speed_mps", "speed_sd_mps"]);
    const points = t.map((at, i) => [at + start, number(speed[i]), number(sd[i])]).filter(([, value]) => value !== null);
    const seen = this.ofReadings();
    this.measured = seen.at(-1)?.[0] > -1 ? seen.at(-1)[1] : null;
    yield;
    const all = [0, ...points.map(([, value]) => value), ...seen.map(([, value]) => value)];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const room = 0.1 * Math.max(high - low, 0.01);
    const up = (value) => HIGH * (1 - (Math.min(Math.max(value, low - room), high + room) - low + room) / (high - low + 2 * room));
    const text = (list) => list.map(([at, value]) => `${across(at).toFixed(1)},${up(value).toFixed(2)}`).join(" ");
    const sure = points.filter(([, , one]) => one !== null);
    setAttributes(this.zero, { y1: up(0), y2: up(0) });
    setAttributes(this.curve, { points: text(points) });
    setAttributes(this.band, { points: text([...sure.map(([at, value, one]) => [at, value + 2 * one]), ...sure.map(([at, value, one]) => [at, value - 2 * one]).reverse()]) });
    yield;
    const few = seen.filter((_, i) => i % Math.ceil(seen.length / 150 || 1) === 0);
    while (this.dots.childElementCount < few.length) this.dots.append(make("line", { class: "dot" }));
    [...this.dots.children].forEach((dot, i) => {
      dot.classList.toggle("none", i >= few.length);
      if (i < few.length) setAttributes(dot, { x1: across(few[i][0]), x2: across(few[i][0]) + 0.01, y1: up(few[i][1]), y2: up(few[i][1]) });
    });
    setText(this.range, points.length ? `From ${plain(low, 3)} to ${plain(high, 3)} m/s.` : "No speed yet.");
  }
}

/** Each value measured, estimated, and twice its standard deviation. */
class Compared {
  constructor(config, newest, speeds) {
    const of = (name) => number(newest.of(name));
    const joints = config.series.filter(({ name }) => name.startsWith("joint_angle_rad/")).map(({ name }) => name.split("/")[1]);
    const base = () => measuredBase(config, of);
    const gravity = () => {
      const direction = ["x", "y", "z"].map((axis) => of(`gravity/${axis}`));
      return direction.includes(null) ? [null, null] : levelOf(direction);
    };
    const yaw = () => {
      const pose = POSE.map(of);
      return pose.includes(null) ? null : turnsOfPose(pose.slice(3))[2];
    };
    const level = (i) => base().turns[i] ?? measuredLevel(config, of)[i];
    const [outside, inertial, encoders] = ["motion", "imu", "joints"].map((role) => config.instruments.find((one) => one.role === role));
    const levels = outside?.measures === "pose" ? outside : inertial;
    this.old = (one) => Boolean(one) && isOld(one, of);
    this.rows = [
      ["speed", "m/s", 4, outside, () => speeds?.measured ?? null, () => of("speed_mps"), () => of("speed_sd_mps")],
      ...["x, ahead", "y, to port", "z, up"].map((name, i) => [name, "m", 4, outside, () => base().place[i], () => of(POSE[i]), () => of(`pose_sd/${"xyz"[i]}`)]),
      ...["roll", "pitch"].map((name, i) => [`${name}, from gravity`, "deg", 2, levels, () => level(i), () => gravity()[i], () => deg(of(`pose_sd/${name}`))]),
      ["yaw", "deg", 2, outside, () => base().turns[2], yaw, () => deg(of("pose_sd/yaw"))],
      ...joints.map((name) => {
        const slides = config.rover.joints.some((joint) => joint.name === name && joint.slides);
        const shown = slides ? (way) => (typeof way === "number" ? 1e3 * way : null) : deg;
        return [name.replaceAll("_", " "), slides ? "mm" : "deg", 2, encoders, () => measuredJoint(config, of, name), () => shown(of(`joint_angle_rad/${name}`)), () => shown(of(`joint_angle_sd_rad/${name}`))];
      }),
      ...config.rover.wheels.map(({ name }) => [`slip, ${name.replaceAll("_", " ")}`, "%", 1, null, () => null, () => share(of(`slip/${name}`)), () => share(of(`slip_sd/${name}`))]),
    ].map(([name, unit, places, source, ...values]) => {
      const cells = values.map(() => make("td", {}, "-"));
      byId("compared").append(make("tr", {}, make("th", { scope: "row" }, name), ...cells, make("td", {}, unit)));
      return { places, source, values, cells };
    });
  }

  *draw() {
    for (const { places, source, values: [measured, estimated, sd], cells } of this.rows) {
      cells[0].classList.toggle("gone", this.old(source));
      [measured(), estimated(), twice(sd())].forEach((value, i) => setText(cells[i], value === null ? "-" : plain(value, places)));
      yield;
    }
  }
}

const share = (value) => (value === null ? null : 100 * value);
const twice = (value) => (value === null ? null : 2 * value);
const across = (at) => LONG * (1 + at / SPAN_S);
const heightOf = (value) => HIGH * (1 - Math.log(Math.min(Math.max(value, LEAST), MOST) / LEAST) / Math.log(MOST / LEAST));

/** A number with so many decimals, without the sign of a zero. */
function plain(value, places) {
  const text = value.toFixed(places);
  return Number(text) === 0 ? text.replace("-", "") : text;
}
