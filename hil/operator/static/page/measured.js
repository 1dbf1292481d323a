/** What the instruments of motion read, in the rig's axes: readings come in each instrument's own. */

import { minus, ofQuaternion, plus, times, turned } from "./skeleton.js";

/** States of an instrument as a source, by the number that telemetry has (hil/messages/stages.py). */
export const STATES = ["none", "used", "rejected", "left out", "stale"];
/** Series that the mark of the measured point needs. */
export const MARK = /^(motion_reading\/|motion_t_ns$|t_ns$|source\/motion$)/;
const transposed = (axes) => axes.map((_, i) => axes.map((row) => row[i]));
const inside = (one, other) => one.reduce((sum, value, i) => sum + value * other[i], 0);
const deg = (rad) => rad * 180 / Math.PI;
const instrument = (config, role) => (config.instruments ?? []).find((one) => one.role === role);

/** Values of an instrument's newest reading, in the order of its channels; null: none yet. */
function reading(one, of) {
  if (!one || (of(`${one.role}_t_ns`) ?? -1) < 0) return null;
  const values = one.channels.map((channel) => of(`${one.role}_reading/${channel}`));
  return values.every((value) => typeof value === "number") ? values : null;
}

/** Whether the measured point has a place in the drawings; the distance along a line has none. */
export const hasMark = (config) => ["pose", "position"].includes(instrument(config, "motion")?.measures);

/** The measured point in the rig's axes, and whether that is not of now; null: there is none. */
export function markOf(config, of) {
  const one = instrument(config, "motion");
  const values = hasMark(config) ? reading(one, of) : null;
  if (!values) return null;
  return { at: plus(one.origin_m, turned(one.axes, values.slice(0, 3))), old: isOld(one, of) };
}

/** Whether an instrument's newest reading is older than its setting stale_ms. */
export function isOld(one, of) {
  const age = ageOf(one, of);
  return STATES[of(`source/${one.role}`)] === "stale" || age === null || age > one.stale_ms * 1e-3;
}

/** Age of an instrument's newest reading [s]; null: none yet. */
export function ageOf(one, of) {
  const [taken, now] = [of(`${one.role}_t_ns`), of("t_ns")];
  return typeof taken !== "number" || taken < 0 || typeof now !== "number" ? null : (now - taken) * 1e-9;
}

/** Place [m] of the base, and roll, pitch, yaw [deg], by the instrument outside; what it does not measure is null. */
export function measuredBase(config, of) {
  const none = { place: [null, null, null], turns: [null, null, null] };
  const one = instrument(config, "motion");
  const values = reading(one, of);
  if (!values) return none;
  if (one.measures === "distance") {
    const ahead = (values[0] + inside(minus(one.origin_m, one.point_m), one.direction)) / one.direction[0];
    return { ...none, place: [Number.isFinite(ahead) ? ahead : null, null, null] };
  }
  const point = plus(one.origin_m, turned(one.axes, values.slice(0, 3)));
  if (one.measures === "position") return { ...none, place: minus(point, one.point_m) };
  const axes = times(times(one.axes, ofQuaternion(values.slice(3))), transposed(one.body_axes));
  return { place: minus(point, turned(axes, one.point_m)), turns: turnsOf(axes) };
}

/** Roll and pitch [deg] by the inertial unit, as if the rover did not accelerate; null: there is none. */
export function measuredLevel(config, of) {
  const one = instrument(config, "imu");
  const values = reading(one, of);
  if (!values) return [null, null];
  const [x, y, z] = turned(one.axes, values.slice(0, 3));
  return levelOf([-x, -y, -z]);
}

/** Roll and pitch [deg] of axes in which gravity has this direction. */
export const levelOf = ([x, y, z]) => [deg(Math.atan2(-y, -z)), deg(Math.atan2(x, Math.hypot(y, z)))];

/** Angle of a joint [deg] by its encoder; null: it has none. */
export function measuredJoint(config, of, joint) {
  const one = instrument(config, "joints");
  const encoder = one?.encoders.find((each) => each.joint === joint);
  const value = encoder && (of("joints_t_ns") ?? -1) >= 0 ? of(`joints_reading/${joint}`) : null;
  return typeof value === "number" ? (encoder.reversed ? -1 : 1) * (deg(value) - encoder.zero_deg) : null;
}

/** Roll, pitch, yaw [deg] of axes, and those of a quaternion. */
export const turnsOf = (axes) => [deg(Math.atan2(axes[2][1], axes[2][2])), deg(-Math.asin(Math.max(-1, Math.min(1, axes[2][0])))), deg(Math.atan2(axes[1][0], axes[0][0]))];
export const turnsOfPose = (quaternion) => turnsOf(ofQuaternion(quaternion));
