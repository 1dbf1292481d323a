/** Side and top view of the rover in SVG, drawn from its own geometry. */

import { make, setAttributes } from "./dom.js";

const EDGE_M = 0.25;
export const PLATE_M = 0.6;

/** x of the foremost point of the wheels [m]: the obstacle's distance is counted from there. */
export const frontOf = (rover) => Math.max(...rover.wheels.map((wheel) => wheel.x_m + wheel.radius_m));

export class View {
  /** `which`: side looks from starboard, x to the right and z up; top has x to the right and y up. */
  constructor(config, which) {
    const { wheels, bodies, links } = config.rover;
    this.which = which;
    [this.obstacle, this.ground] = [config.obstacle, config.ground];
    this.front = frontOf(config.rover);
    const flat = ([x, y, z]) => (which === "side" ? [x, -z] : [x, -y]);
    const [back, far] = [Math.min(...wheels.map((wheel) => wheel.x_m - wheel.radius_m)),
      this.front + (this.obstacle ? Math.max(this.obstacle.distance_m, 0) + PLATE_M : EDGE_M)];
    const [upper, lower] = which === "side"
      ? [-Math.max(...bodies.map((body) => body.z_m + body.size_m[2] / 2), ...wheels.map((wheel) => wheel.z_m + wheel.radius_m)), 0]
      : [Math.min(...wheels.map((wheel) => -wheel.y_m - wheel.width_m)), Math.max(...wheels.map((wheel) => -wheel.y_m + wheel.width_m))];
    const pitch = which === "side" ? config.ground?.pitch_deg ?? 0 : 0;
    const rise = Math.max(Math.abs(back), far) * Math.abs(Math.sin(pitch * Math.PI / 180));
    const box = [back - EDGE_M, upper - EDGE_M - rise, far - back + 2 * EDGE_M, lower - upper + 2 * EDGE_M + 2 * rise];
    this.scene = make("g", { transform: `rotate(${-pitch})` });
    this.svg = make("svg", { viewBox: box.join(" "), role: "img", "aria-label": `The rover, ${which} view` }, this.scene);
    if (which === "side") this.scene.append(make("line", { class: "ground", x1: 2 * back, x2: 2 * far, y1: 0, y2: 0 }));
    for (const body of bodies) {
      const [x, up] = flat([body.x_m, body.y_m, body.z_m]);
      const [length, height] = which === "side" ? [body.size_m[0], body.size_m[2]] : [body.size_m[0], body.size_m[1]];
      this.scene.append(make("rect", { class: "body", x: x - length / 2, y: up - height / 2, width: length, height }));
    }
    for (const link of links) {
      const [[x1, y1], [x2, y2]] = [flat(link.from), flat(link.to)];
      this.scene.append(make("line", { class: "link", x1, y1, x2, y2 }));
    }
    this.spokes = wheels.map((wheel) => [wheel, this.addWheel(wheel, flat)]);
    this.plate = this.obstacle && make("line", { class: "plate" });
    if (this.plate) this.scene.append(this.plate);
  }

  addWheel(wheel, flat) {
    const [x, up] = flat([wheel.x_m, wheel.y_m, wheel.z_m]);
    const r = wheel.radius_m;
    if (this.which === "top") {
      this.scene.append(make("rect", { class: "wheel", x: x - r, y: up - wheel.width_m / 2, width: 2 * r, height: wheel.width_m }));
      return null;
    }
    const spoke = make("line", { class: "spoke" });
    this.scene.append(make("circle", { class: "wheel", cx: x, cy: up, r }), spoke);
    return spoke;
  }

  /** `turn`: angle of each wheel by name [rad]; `distance`: from the front wheels to the obstacle [m], null: not known. */
  move(turn, distance) {
    if (this.which === "side") setAttributes(this.scene, { transform: `rotate(${-(this.ground?.pitch_deg ?? 0)})` });
    for (const [wheel, spoke] of this.spokes) {
      if (!spoke) continue;
      const angle = turn.get(wheel.name) ?? 0;
      const [dx, dy] = [wheel.radius_m * Math.sin(angle), -wheel.radius_m * Math.cos(angle)];
      setAttributes(spoke, { x1: wheel.x_m, y1: -wheel.z_m, x2: wheel.x_m + dx, y2: -wheel.z_m + dy });
    }
    if (!this.plate || distance === null) return;
    const angle = this.obstacle.angle_deg * Math.PI / 180;
    const foot = this.front + Math.max(distance, 0);
    setAttributes(this.plate, this.which === "side"
      ? { x1: foot, y1: 0, x2: foot + PLATE_M * Math.cos(angle), y2: -PLATE_M * Math.sin(angle) }
      : { x1: foot, x2: foot, y1: -PLATE_M, y2: PLATE_M });
  }
}
