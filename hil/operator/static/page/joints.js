/** The driven joints: angles set and measured, and the torque that each motion takes, by the rover twin. */

import { byId, make, quantity, setAttributes, setText } from "./dom.js";

const KINDS = ["set_servo_angle_rad", "servo_angle_rad", "servo_torque_Nm"];
const deg = (rad) => (typeof rad === "number" ? rad * 180 / Math.PI : null);

/** The series that are shown. */
export const jointSeries = (config) => config.series.map((one) => one.name).filter((name) => KINDS.includes(name.split("/")[0]));

export function startJoints(config, newest) {
  const rows = config.servos.map(({ name, low_deg, high_deg, torque_limit_Nm }) => {
    const [set, measured, off, torque] = [0, 1, 2, 3].map(() => make("td", {}, "-"));
    byId("joints").append(make("tr", {}, make("td", {}, name.replaceAll("_", " ")), set, measured,
      make("td", {}, `${quantity(low_deg, "deg")} to ${quantity(high_deg, "deg")}`), off, torque, make("td", {}, quantity(torque_limit_Nm, "Nm"))));
    return { name, limit: torque_limit_Nm, set, measured, off, torque };
  });
  byId("driven-joints").hidden = !rows.length;
  return function* () {
    for (const { name, limit, set, measured, off, torque } of rows) {
      const [asked, found] = KINDS.slice(0, 2).map((kind) => deg(newest.of(`${kind}/${name}`)));
      const taken = newest.of(`servo_torque_Nm/${name}`);
      setText(set, quantity(asked, "deg"));
      setText(measured, quantity(found, "deg"));
      setText(off, asked === null || found === null ? "-" : quantity(asked - found, "deg"));
      setText(torque, quantity(taken, "Nm"));
      setAttributes(torque, { class: taken !== null && Math.abs(taken) >= limit ? "bad" : "" });
      yield;
    }
  };
}
