/** The driven joints: angles or ways, set and measured, and the torque or force that each motion takes, by the rover twin. */

import { byId, make, quantity, setAttributes, setText } from "./dom.js";

const KINDS = ["set_servo_angle_rad", "servo_angle_rad", "servo_torque_Nm"];
const SCALES = { deg: 180 / Math.PI, mm: 1e3 };

/** The series that are shown. */
export const jointSeries = (config) => config.series.map((one) => one.name).filter((name) => KINDS.includes(name.split("/")[0]));

export function startJoints(config, newest) {
  const rows = config.servos.map(({ name, unit, lowest, highest, limit, limit_unit }) => {
    const [set, measured, off, torque] = [0, 1, 2, 3].map(() => make("td", {}, "-"));
    byId("joints").append(make("tr", {}, make("td", {}, name.replaceAll("_", " ")), set, measured,
      make("td", {}, `${quantity(lowest, unit)} to ${quantity(highest, unit)}`), off, torque, make("td", {}, quantity(limit, limit_unit)),
      make("td", {}, `${unit}, ${limit_unit}`)));
    return { name, unit, limit, set, measured, off, torque };
  });
  byId("driven-joints").hidden = !rows.length;
  return function* () {
    for (const { name, unit, limit, set, measured, off, torque } of rows) {
      const [asked, found] = KINDS.slice(0, 2).map((kind) => newest.of(`${kind}/${name}`)).map((value) => (value === null ? null : SCALES[unit] * value));
      const taken = newest.of(`servo_torque_Nm/${name}`);
      setText(set, quantity(asked, unit));
      setText(measured, quantity(found, unit));
      setText(off, asked === null || found === null ? "-" : quantity(asked - found, unit));
      setText(torque, quantity(taken, "N m"));
      setAttributes(torque, { class: taken !== null && Math.abs(taken) >= limit ? "bad" : "" });
      yield;
    }
  };
}
