/** Devices: their links, the pneumatics, and motions that last as long as a button is held. */

import { byId, digits, make, quantity, row, setAttributes, setText } from "./dom.js";
import { OLD_S } from "./display.js";
import { drawEvery } from "./draw.js";
import { jointSeries, startJoints } from "./joints.js";
import { labelOf } from "./labels.js";
import { startPneumatics } from "./pneumatics.js";

const LONGEST_S = 10;
const FIELDS = ["daq_age_ns", "load_age_ns", "drives_t_ns", "valves_t_ns", "power_t_ns", "valves", "pressure_Pa", "regulator_Pa",
  "wheel_speed_radps", "set_speed_radps", "current_A", "supply_V", "clamped", "cut", "motion_t_ns", "imu_t_ns", "joints_t_ns", "servos_t_ns", "camera_trigger", "camera_triggers", "joints_reading"];
// By link: the series that tells its age, whether that is a time instead, the limit that is its longest age, and its name in telemetry.
const LINKS = [
  ["force sensors", "daq_age_ns", false, "daq_age_ms", "daq"], ["wheel drives", "drives_t_ns", true, "drives_age_ms", "drives"],
  ["bogie valves", "valves_t_ns", true, "valves_age_ms", "valves"], ["load channels", "load_age_ns", false, "loads_age_ms", "loads"],
  ["joint servos", "servos_t_ns", true, "servos_age_ms", "servos"],
  ["motor power", "power_t_ns", true, null, null],
  ["motion from outside", "motion_t_ns", true, "motion", "motion"], ["inertial unit", "imu_t_ns", true, "imu", "imu"],
  ["joint encoders", "joints_t_ns", true, "joints", "joints"],
];
const VALUES = ["set_speed_radps", "wheel_speed_radps", "current_A", "supply_V", "clamped", "camera_trigger", "camera_triggers", "joints_reading"];

/** The series that are shown. */
export const deviceSeries = (config) => [...config.series.map((one) => one.name).filter((name) => FIELDS.includes(name.split("/")[0])), ...jointSeries(config)];

export function startDevices(connection, config, newest) {
  startHolding(connection, config);
  const shows = [startLinks(connection, config, newest), startPneumatics(config, newest), startJoints(config, newest), startValues(config, newest)];
  drawEvery(2, function* () {
    for (const show of shows) yield* show();
  });
}

function startHolding(connection, config) {
  const said = make("p", { role: "status" });
  const speed = make("input", { type: "number", id: "jog-speed", value: 0.02, step: 0.01 });
  const wheels = make("select", { id: "jog-wheel" },
    ...["all", ...config.rover.wheels.map((wheel) => wheel.name)].map((name) => make("option", { value: name }, name.replaceAll("_", " "))));
  if (!config.rover.wheels.length) return;
  byId("hold").append(
    make("p", {}, "Hold a button to move; the motion stops when it is released. Wheels off the ground."),
    make("p", { class: "row" }, make("label", { for: "jog-wheel" }, "Wheel"), wheels,
      make("label", { for: "jog-speed" }, "Speed of the rim [m/s]"), speed,
      holdButton(connection, said, "Hold to turn", () => ({ type: "jog", wheels: [wheels.value], speed_mps: speed.valueAsNumber, seconds: LONGEST_S }))),
    make("p", { class: "row" }, ...config.cylinders.flatMap(({ name, ways }) => ways.map((way) => holdButton(
      connection, said, `Hold: ${name.replaceAll("_", " ")} ${way}`, () => ({ type: "valve", cylinder: name, way, seconds: LONGEST_S }))))),
    said,
  );
}

/** Age of what each link last sent, its rate and errors as its process counts them, and what the lines and workers carry by calculation. */
function startLinks(connection, config, newest) {
  const series = new Set(config.series.map((one) => one.name));
  const links = LINKS.filter(([, name]) => series.has(name)).map(([link, name, isTime, limit, counted]) => {
    const [age, rate, errors, state] = [1, 2, 3, 4].map(() => make("td", {}, "-"));
    const allowed = config.limits[limit] ?? config.instruments?.find(({ role }) => role === limit)?.stale_ms ?? null;
    byId("links").append(make("tr", {}, make("td", {}, link), age, make("td", {}, allowed === null ? "-" : `at most ${digits(allowed)} ms`), state, rate, errors));
    return { name, isTime, allowed, age, state, rate, errors, counted };
  });
  byId("line-loads").append(...config.line_loads.map((one) => row(one.item, one.found, one.allowed, one.ok ? "good" : "TOO MUCH")));
  byId("line-load").hidden = !config.line_loads.length;
  connection.on("status", (status) => {
    for (const { rate, errors, counted } of links) {
      const found = status.links?.[counted] ?? {};
      setText(rate, found.rate_hz === undefined ? "-" : `${digits(found.rate_hz)} Hz`);
      setText(errors, found.errors === undefined ? "-" : `${found.errors}, ${found.retries} sent again`);
    }
  });
  return function* () {
    for (const { name, isTime, allowed, age, state } of links) {
      const [value, now] = [newest.of(name), newest.of("t_ns")];
      const over = (newest.age_s() ?? Infinity) > OLD_S; // no run is on: then there is no age
      const ms = over || value === null || (isTime && (now === null || value < 0)) ? null : (isTime ? now - value : value) * 1e-6;
      const old = ms !== null && allowed !== null && ms > allowed;
      setText(age, ms === null ? "-" : `${ms.toFixed(1)} ms`);
      setText(state, ms === null ? "no data" : old ? "TOO OLD" : "good");
      setAttributes(state, { class: ms === null ? "" : old ? "bad" : "good" });
      yield;
    }
  };
}

function startValues(config, newest) {
  const units = new Map(config.series.map((one) => [one.name, one.unit]));
  const shown = deviceSeries(config).filter((name) => VALUES.includes(name.split("/")[0])).map((name) => [name, make("td", {})]);
  byId("values").append(...shown.map(([name, cell]) => make("tr", {}, make("td", {}, labelOf(name)), cell, make("td", {}, units.get(name)))));
  return function* () {
    for (const [name, cell] of shown) {
      setText(cell, quantity(newest.of(name), units.get(name)));
      yield;
    }
  };
}

/** A button that sends a command when it is pressed, and a stop when it is released or lost. */
function holdButton(connection, said, text, command) {
  const button = make("button", { type: "button" }, text);
  let held = false;
  const press = () => {
    if (held) return;
    held = true;
    button.classList.add("asking");
    connection.command(command()).then((reply) => setText(said, reply.ok ? "moving" : reply.error));
  };
  const release = () => {
    if (!held) return;
    held = false;
    connection.command({ type: "stop", reason: "button released" }).then((reply) => setText(said, reply.ok ? "stopped" : reply.error));
    button.classList.remove("asking");
  };
  button.addEventListener("pointerdown", (event) => { button.setPointerCapture(event.pointerId); press(); });
  button.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); press(); } });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture", "keyup", "blur", "contextmenu"]) button.addEventListener(name, release);
  addEventListener("blur", release);
  document.addEventListener("visibilitychange", release);
  return button;
}
