/** Side and top view of the rover in SVG, drawn from its own geometry; the views go with the rover, and the ground passes. */

import { make, setAttributes } from "./dom.js";
import { hasMark } from "./measured.js";
import { minus, outOf, plus, turned } from "./skeleton.js";

const EDGE_M = 0.25;
const MARK_M = 0.1;
export const PLATE_M = 0.6;
// Arrows: length of that of the mean wheel load, and of a force of the impact.
const LOAD_M = 0.2;
export const M_PER_N = 1.25e-3;
const DISC_M = 0.05;
const MEASURED_M = 0.025;
// Of uneven ground: between lines of equal height, between points under a track, and the part of its largest rise for which there is room.
const CONTOUR_M = 0.05;
const PROFILE_M = 0.04;
const SHOWN_RISE = 0.5;
const WIDE_M = 100; // of a line of hard ground, to each side
const deg = (rad) => rad * 180 / Math.PI;

/** What a drawing has room for, each with half its length, width and height [m]: the wheels; of a vehicle without any, its bodies. */
export const partsOf = ({ wheels, bodies }) => (wheels.length
  ? wheels.map((wheel) => ({ ...wheel, half: [wheel.radius_m, wheel.width_m, wheel.radius_m] }))
  : bodies.map((body) => ({ ...body, half: body.size_m.map((size) => size / 2) })));

export class View {
  /** `which`: side looks from starboard, x to the right and z up; top has x to the right and y up. `ground`: `groundOf` the config. */
  constructor(config, ground, which) {
    const { wheels, bodies } = config.rover;
    Object.assign(this, { config, which, up: which === "side" ? 2 : 1, relief: ground.relief, line: ground.line });
    const parts = partsOf(config.rover);
    const [back, front] = [Math.min(...parts.map(({ x_m: x, half }) => x - half[0])), Math.max(...parts.map(({ x_m: x, half }) => x + half[0]))];
    [this.back, this.far] = [back - EDGE_M, front + (config.obstacle ? PLATE_M : EDGE_M)];
    const [upper, lower] = which === "side"
      ? [-Math.max(...bodies.map((body) => body.z_m + body.size_m[2] / 2), ...parts.map(({ z_m: z, half }) => z + half[2])),
        Math.max(EDGE_M / 2, ...parts.map(({ z_m: z, half }) => half[2] - z))]
      : [Math.min(...parts.map(({ y_m: y, half }) => -y - half[1])), Math.max(...parts.map(({ y_m: y, half }) => half[1] - y))];
    this.pitch = which === "side" ? config.ground?.pitch_deg ?? 0 : 0;
    const steep = this.relief && which === "side" ? SHOWN_RISE * this.config.ground.map.steepest : Math.abs(Math.sin(this.pitch * Math.PI / 180));
    const reach = Math.max(Math.abs(this.back), this.far);
    const rise = this.line && which === "side" ? SHOWN_RISE * this.line.rise(reach) : reach * steep;
    const box = [this.back, upper - EDGE_M - rise, this.far - this.back, lower - upper + 2 * EDGE_M + 2 * rise];
    [this.least, this.most] = [upper - EDGE_M, lower + EDGE_M];
    this.scene = make("g", {}, this.plane = make("g", { transform: `rotate(${-this.pitch})` }));
    this.box = box;
    this.svg = make("svg", { viewBox: box.join(" "), role: "img", "aria-label": `The rover, ${which} view` }, this.scene);
    this.addGround();
    this.bodies = bodies.map((body) => {
      const [length, height] = [body.size_m[0], body.size_m[this.up]];
      return this.add("rect", { class: "body", x: -length / 2, y: -height / 2, width: length, height });
    });
    this.links = config.rover.joints.map(() => this.add("line", { class: "link" }));
    this.wheels = wheels.map((wheel) => this.addWheel(wheel));
    this.plate = config.obstacle && this.add("line", { class: "plate" });
    this.loads = wheels.map(() => this.add(which === "side" ? "polyline" : "circle", { class: "load-arrow" }));
    this.force = this.add("polyline", { class: "force-arrow" });
    this.measured = hasMark(config) && this.add("circle", { class: "measured-mark", r: MEASURED_M });
  }

  add(tag, attributes) {
    return this.scene.appendChild(make(tag, attributes));
  }

  addGround() {
    const side = this.which === "side";
    if (this.relief) {
      // the profiles under the wheels of both sides, the far one first; from above, lines of equal height
      const ys = this.config.rover.wheels.map((wheel) => wheel.y_m);
      this.tracks = side ? [Math.max(...ys), Math.min(...ys)] : [];
      this.profiles = this.tracks.map((_, i) => this.plane.appendChild(make("polyline", { class: i ? "ground" : "far-ground" })));
      const lines = side ? [] : this.relief.contours(CONTOUR_M).map((ends) => ends.map((value) => value.toFixed(3)));
      this.plane.append(make("path", { class: "mark", d: lines.map(([x1, y1, x2, y2]) => `M${x1} ${-y1}L${x2} ${-y2}`).join("") }));
    } else if (this.line) this.addLine(this.line);
    else if (side && this.config.rover.wheels.length) this.ground = this.plane.appendChild(make("line", { class: "ground", y1: 0, y2: 0 }));
    this.marks = Array.from({ length: Math.ceil((this.far - this.back) / MARK_M) + 1 }, () => this.plane.appendChild(make("line", { class: "mark" })));
  }

  /** The line itself; from above, where it has its corners. */
  addLine({ points, edges }) {
    this.plane.append(this.which === "side"
      ? make("polyline", { class: "ground", points: points.map(([x, z]) => `${x},${-z}`).join(" ") })
      : make("path", { class: "ground", d: edges.map((x) => `M${x} ${-WIDE_M}V${WIDE_M}`).join("") }));
  }

  addWheel(wheel) {
    const [r, width, { count, height_m: height }] = [wheel.radius_m, wheel.width_m, wheel.grousers];
    const group = this.add("g", {});
    if (this.which === "top") group.append(make("rect", { class: "wheel", x: -r, y: -width / 2, width: 2 * r, height: width }));
    else {
      group.append(make("circle", { class: "wheel", cx: 0, cy: 0, r: r - height }), make("line", { class: "spoke", x1: 0, y1: 0, x2: 0, y2: -r + height }));
      for (let i = 0; i < (count || 12); i += 1) { // a smooth rim has marks inside, so that it is seen to turn
        const [from, to] = count ? [r - height, r] : [0.88 * r, r];
        group.append(make("line", { class: "grouser", x1: 0, x2: 0, y1: -from, y2: -to, transform: `rotate(${360 * i / (count || 12)})` }));
      }
    }
    return group;
  }

  /** Show a moment (`momentOf`). */
  move({ placed, base, ground, loads, force_N: force, obstacle, mark }) {
    const { rover } = this.config;
    const side = this.which === "side";
    const flat = (at) => [at[0], -at[this.up]];
    const height = side ? ground.height(base.at[0], base.at[1]) : base.at[1];
    setAttributes(this.scene, { transform: `translate(${(-base.at[0]).toFixed(5)} ${height.toFixed(5)})` });
    if (side && this.relief) this.moveProfiles(base.at);
    else this.moveGround(side ? base.at[0] / Math.cos(this.pitch * Math.PI / 180) : base.at[0], side ? 0 : -height);
    rover.bodies.forEach((body, i) => {
      const { at, axes } = placed.get(body.name);
      const [x, y] = flat(turned(axes, body.com_m).map((value, k) => value + at[k]));
      const angle = angleIn(axes, this.up);
      setAttributes(this.bodies[i], { transform: `translate(${x.toFixed(5)} ${y.toFixed(5)}) rotate(${angle.toFixed(3)})` });
      if (!rover.wheels.length) this.makeRoom([x - base.at[0], y + height], angle * Math.PI / 180, [body.size_m[0] / 2, body.size_m[this.up] / 2]);
    });
    rover.joints.forEach(({ parent, child }, i) => {
      const carrier = placed.get(parent);
      const com = parent === rover.base ? rover.bodies.find((body) => body.name === parent)?.com_m ?? [0, 0, 0] : [0, 0, 0];
      const [[x1, y1], [x2, y2]] = [flat(turned(carrier.axes, com).map((value, k) => value + carrier.at[k])), flat(placed.get(child).at)];
      setAttributes(this.links[i], { x1, y1, x2, y2 });
    });
    const mean = [...loads.values()].reduce((sum, one) => sum + one, 0) / loads.size || 1;
    rover.wheels.forEach((wheel, i) => {
      const { at, axes } = placed.get(wheel.body);
      const [x, y] = flat(at);
      const angle = side ? angleIn(axes, 2) : -deg(Math.atan2(-axes[0][1], axes[1][1]));
      setAttributes(this.wheels[i], { transform: `translate(${x.toFixed(5)} ${y.toFixed(5)}) rotate(${angle.toFixed(3)})` });
      const share = Math.max(loads.get(wheel.name), 0) / mean;
      const normal = ground.normal(at[0], at[1]);
      setAttributes(this.loads[i], side
        ? { points: arrow(under([x, y], wheel.radius_m + LOAD_M * share, normal), along(normal, LOAD_M * share)) }
        : { cx: x, cy: y, r: DISC_M * Math.sqrt(share) });
    });
    if (obstacle) this.moveObstacle(obstacle, placed, force);
    if (!this.measured) return;
    this.measured.classList.toggle("none", !mark);
    this.measured.classList.toggle("stale", mark?.old ?? false);
    if (mark) {
      const [cx, cy] = flat(mark.at);
      setAttributes(this.measured, { cx, cy });
    }
  }

  /** Widen the view for a body of a vehicle without wheels: an arm moves out of where it stands at angles of zero. */
  makeRoom(at, angle, half) {
    const [cos, sin] = [Math.abs(Math.cos(angle)), Math.abs(Math.sin(angle))];
    const reach = [cos * half[0] + sin * half[1] + EDGE_M, sin * half[0] + cos * half[1] + EDGE_M];
    const low = at.map((place, i) => Math.min(this.box[i], place - reach[i]));
    const high = at.map((place, i) => Math.max(this.box[i] + this.box[i + 2], place + reach[i]));
    const box = [...low, high[0] - low[0], high[1] - low[1]];
    if (box.every((value, i) => value === this.box[i])) return;
    this.box = box;
    setAttributes(this.svg, { viewBox: box.join(" ") });
  }

  /** The ground along both tracks, from behind the rover to before it, and marks under the near one. */
  moveProfiles([x, y]) {
    const count = Math.ceil((2 * this.far - 2 * this.back) / PROFILE_M);
    this.tracks.forEach((track, side) => {
      const points = Array.from({ length: count + 1 }, (_, i) => {
        const along = x + 2 * this.back + i * PROFILE_M;
        return `${along.toFixed(3)},${(-this.relief.at(along, y + track)).toFixed(4)}`;
      });
      setAttributes(this.profiles[side], { points: points.join(" ") });
    });
    const first = Math.ceil((x + this.back) / MARK_M);
    this.marks.forEach((mark, i) => {
      const along = (first + i) * MARK_M;
      const top = -this.relief.at(along, y + this.tracks[1]);
      setAttributes(mark, { x1: along, x2: along, y1: top, y2: top + ((first + i) % 5 ? 0.03 : 0.06) });
    });
  }

  moveGround(shift, middle) {
    const side = this.which === "side";
    if (this.ground) setAttributes(this.ground, { x1: shift + 2 * this.back, x2: shift + 2 * this.far });
    const first = Math.ceil((shift + this.back) / MARK_M);
    this.marks.forEach((mark, i) => {
      const x = (first + i) * MARK_M;
      const top = this.line ? -this.line.at(x) : 0;
      const deep = this.line && (x < this.line.begins || x > this.line.ends) ? 0 : (first + i) % 5 ? 0.03 : 0.06;
      setAttributes(mark, { x1: x, x2: x, ...(side ? { y1: top, y2: top + deep } : { y1: middle + this.least, y2: middle + this.most }) });
    });
  }

  moveObstacle({ angle, foot, stands }, placed, force) {
    const [sine, cosine, length] = [Math.sin(angle), Math.cos(angle), M_PER_N * force];
    const [first, second] = this.config.rover.wheels.map((wheel, i) => ({ at: placed.get(wheel.body).at, r: wheel.radius_m, stand: stands[i] }));
    const { at, r, stand } = first.at[1] < second.at[1] ? first : second; // the instrumented obstacle is to starboard
    const towards = outOf(stand, [sine, 0, -cosine]);
    const touched = plus(at, towards.map((value) => r * value));
    const low = this.edge(foot, 0, stand, at, angle);
    if (this.which === "side") {
      const high = this.edge(foot, PLATE_M, stand, at, angle);
      setAttributes(this.plate, { x1: low[0], y1: -low[2], x2: high[0], y2: -high[2] });
      setAttributes(this.force, { points: arrow([touched[0], -touched[2]], [length * towards[0], -length * towards[2]]) });
    } else {
      setAttributes(this.plate, { x1: low[0], x2: low[0], y1: this.least + EDGE_M / 2, y2: this.most - EDGE_M / 2 });
      setAttributes(this.force, { points: arrow([touched[0], -at[1]], [length * towards[0], 0]) });
    }
  }

  /** A point of the plate before a wheel, `up` from its foot [m]. */
  edge(foot, up, stand, at, angle) {
    const left = turned(stand.axes, minus(at, stand.at_m))[1];
    return plus(stand.at_m, outOf(stand, [foot + up * Math.cos(angle), left, up * Math.sin(angle)]));
  }
}

/** A vector along the ground's normal as the side view has it, and the place so far under another. */
const along = (normal, length) => [normal[0] * length, -normal[2] * length];
const under = ([x, y], depth, normal) => [x - normal[0] * depth, y + normal[2] * depth];

/** Angle of a body's x axis in the plane of a view [degrees], clockwise as SVG has it. */
const angleIn = (axes, up) => (up === 2 ? deg(Math.atan2(axes[0][2], axes[2][2])) : -deg(Math.atan2(axes[1][0], axes[0][0])));

/** Points of an arrow with its head, from a place along a vector. */
function arrow([x, y], [dx, dy]) {
  const length = Math.hypot(dx, dy);
  if (length < 1e-4) return "";
  const [ux, uy, head] = [dx / length, dy / length, Math.min(0.05, length / 2)];
  const end = [x + dx, y + dy];
  const side = (sign) => [end[0] - head * ux - sign * 0.4 * head * uy, end[1] - head * uy + sign * 0.4 * head * ux];
  return [[x, y], end, side(1), end, side(-1)].map((point) => point.map((value) => value.toFixed(4)).join()).join(" ");
}
