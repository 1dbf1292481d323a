/** Devices: the newest values of their links, and motions that last as long as a button is held. */

import { byId, digits, make, row, setText } from "./dom.js";

const LONGEST_S = 10;
const FIELDS = ["daq_age_ns", "load_age_ns", "drives_t_ns", "valves_t_ns", "pressure_Pa", "regulator_Pa", "wheel_speed_radps", "set_speed_radps", "clamped", "cut"];

/** The series that are shown. */
export const deviceSeries = (config) => config.series.map((one) => one.name)
  .filter((name) => FIELDS.includes(name.split("/")[0])).slice(0, 30);

export function startDevices(connection, config, newest) {
  const said = make("p", { role: "status" });
  const speed = make("input", { type: "number", id: "jog-speed", value: 0.02, step: 0.01 });
  const wheels = make("select", { id: "jog-wheel" },
    ...["all", ...config.rover.wheels.map((wheel) => wheel.name)].map((name) => make("option", { value: name }, name)));
  byId("hold").append(
    make("p", {}, "Hold a button to move; the motion stops when it is released. Wheels off the ground."),
    make("p", { class: "row" }, make("label", { for: "jog-wheel" }, "Wheel"), wheels,
      make("label", { for: "jog-speed" }, "Speed of the rim [m/s]"), speed,
      holdButton(connection, said, "Hold to turn", () => ({ type: "jog", wheels: [wheels.value], speed_mps: speed.valueAsNumber, seconds: LONGEST_S }))),
    make("p", { class: "row" }, ...config.cylinders.flatMap(({ name, ways }) => ways.map((way) => holdButton(
      connection, said, `Hold: ${name.replaceAll("_", " ")} ${way}`, () => ({ type: "valve", cylinder: name, way, seconds: LONGEST_S }))))),
    said,
  );
  const units = new Map(config.series.map((one) => [one.name, one.unit]));
  const shown = deviceSeries(config).map((name) => [name, make("td", {})]);
  byId("values").append(...shown.map(([name, cell]) => {
    const line = row(name, "", units.get(name));
    line.children[1].replaceWith(cell);
    return line;
  }));
  setInterval(() => {
    for (const [name, cell] of shown) setText(cell, digits(newest.of(name)));
  }, 500);
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
    button.classList.remove("asking");
    connection.command({ type: "stop", reason: "button released" }).then((reply) => setText(said, reply.ok ? "stopped" : reply.error));
  };
  button.addEventListener("pointerdown", (event) => { button.setPointerCapture(event.pointerId); press(); });
  button.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); press(); } });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture", "keyup", "blur", "contextmenu"]) button.addEventListener(name, release);
  addEventListener("blur", release);
  document.addEventListener("visibilitychange", release);
  return button;
}
