/** Where a rover's bodies, legs and wheels are, by the pose and the joint angles of a tick. */

import { Line } from "./line.js";
import { Relief } from "./relief.js";

export const POSE = ["pose/x", "pose/y", "pose/z", "pose/qx", "pose/qy", "pose/qz", "pose/qw"];
const HITTING = 2; // the first wheels of a rover hit the obstacle
const LEVEL = { at_m: [0, 0, 0], axes: [[1, 0, 0], [0, 1, 0], [0, 0, 1]] };
const rad = (deg) => (deg ?? 0) * Math.PI / 180;

/** A vector turned by axes, three rows. */
export const turned = (axes, [x, y, z]) => axes.map(([a, b, c]) => a * x + b * y + c * z);
export const minus = (one, other) => one.map((value, i) => value - other[i]);
export const plus = (one, other) => one.map((value, i) => value + other[i]);
export const times = (one, other) => one.map((row) => [0, 1, 2].map((k) => row[0] * other[0][k] + row[1] * other[1][k] + row[2] * other[2][k]));

/** Axes of a turn by an angle [rad] about a unit axis. */
function about([x, y, z], angle) {
  const [s, c] = [Math.sin(angle), 1 - Math.cos(angle)];
  return [
    [1 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y],
    [c * x * y + s * z, 1 - c * (x * x + z * z), c * y * z - s * x],
    [c * x * z - s * y, c * y * z + s * x, 1 - c * (x * x + y * y)],
  ];
}

/**
 * The ground of a config: a plane through the world's origin with its axes, or over the level plane uneven ground (`relief`, null: none) or
 * a line of hard ground (`line`, null: none), on which loads are upright; the height that a view follows and its normal at a place.
 */
export function groundOf(config) {
  if (config.ground?.map) {
    const relief = new Relief(config.ground.map);
    return { axes: about([0, 0, 1], 0), relief, line: null, normal: (x, y) => relief.normal(x, y), height: (x, y) => relief.at(x, y) };
  }
  if (config.ground?.profile_m) {
    const line = new Line(config.ground.profile_m);
    return { axes: about([0, 0, 1], 0), relief: null, line, normal: () => [0, 0, 1], height: (x) => line.mean(x) };
  }
  const axes = times(about([0, 1, 0], -rad(config.ground?.pitch_deg)), about([1, 0, 0], rad(config.ground?.roll_deg)));
  const normal = axes.map((row) => row[2]);
  return { axes, relief: null, line: null, normal: () => normal, height: (x, y) => -(normal[0] * x + normal[1] * y) / normal[2] };
}

/** Axes of a quaternion, whose length does not matter. */
export function ofQuaternion([x, y, z, w]) {
  const length = Math.hypot(x, y, z);
  return about(length ? [x / length, y / length, z / length] : [0, 0, 1], 2 * Math.atan2(length, w));
}

export class Skeleton {
  constructor(rover) {
    this.rover = rover;
    this.wheelOf = new Map(rover.wheels.map((wheel) => [wheel.body, wheel.name]));
  }

  /** Of each body by its name: `at`, its origin in the world [m], and `axes`. `base`: both of the base; `turn`: of each wheel by its name [rad]. */
  place(base, angleOf, turn) {
    const placed = new Map([[this.rover.base, base]]);
    for (const joint of this.rover.joints) {
      const carrier = placed.get(joint.parent);
      const wheel = this.wheelOf.get(joint.child);
      const angle = wheel ? turn.get(wheel) ?? 0 : joint.locked_rad ?? angleOf(joint.name) ?? 0; // of a slide: its way [m]
      const origin = joint.slides ? plus(joint.origin_m, joint.axis.map((part) => angle * part)) : joint.origin_m;
      const axes = joint.slides ? carrier.axes : times(carrier.axes, about(joint.axis, angle));
      placed.set(joint.child, { at: plus(carrier.at, turned(carrier.axes, origin)), axes });
    }
    return placed;
  }
}

/**
 * The rover of a tick, for the views. `ground`: `groundOf` the config; `of`: value of a series, null: not known; `turn`: of each wheel by
 * its name [rad].
 */
export function momentOf(config, skeleton, ground, of, turn) {
  const pose = POSE.map(of);
  const known = pose.every((value) => typeof value === "number");
  const base = known ? { at: pose.slice(0, 3), axes: ofQuaternion(pose.slice(3)) } : { at: [0, 0, 0], axes: ground.axes };
  const placed = skeleton.place(base, (joint) => (known ? of(`joint_angle_rad/${joint}`) : null), turn);
  const loads = new Map(config.rover.wheels.map(({ name }) => [name, of(`normal_force_N/${name}`) ?? 0]));
  return { placed, base, ground, loads, force_N: Math.max(of("force_sum_N") ?? 0, 0), obstacle: obstacleOf(config, placed, known ? of("gap_m") : null) };
}

/** A vector of the axes of a stand (`ahead`, `left`, `up` as rows), in the world's. */
export const outOf = ({ axes }, vector) => turned([0, 1, 2].map((k) => axes.map((row) => row[k])), vector);

/** Where the plate is: as far from the nearer front wheel as the twin says, or else as the config says that the rover starts. */
function obstacleOf({ rover, obstacle }, placed, gap_m) {
  if (!obstacle) return null;
  const angle = rad(obstacle.angle_deg);
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const gap = typeof gap_m === "number" ? gap_m : obstacle.distance_m * sine;
  // where the ground is not level the plate stands on the ground before its wheel, in whose axes angle and foot are
  const stands = obstacle.stands ?? Array.from({ length: HITTING }, () => LEVEL);
  // the circle of the wheel touches the inclined plate where the gap is 0
  const feet = rover.wheels.slice(0, HITTING).map(({ body, radius_m: r }, i) => {
    const [x, , z] = turned(stands[i].axes, minus(placed.get(body).at, stands[i].at_m));
    return x + (gap + r - cosine * z) / sine;
  });
  return { angle, gap, foot: Math.max(...feet), stands, known: typeof gap_m === "number" };
}
