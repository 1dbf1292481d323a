/** Side and top view of the rover, drawn from its own geometry, and the loads of its wheels. */

import { byId, digits, make, setText } from "./dom.js";

const EDGE_M = 0.25;
const PLATE_M = 0.6;

/** The series that the views need. */
export function roverSeries(config) {
  const all = config.series.map((one) => one.name);
  const wanted = ["normal_force_N", "slip", "sinkage_m", "wheel_speed_radps", "wheel_load_N", "load_wanted_N"];
  const single = ["effective_kinetic_energy_J", "time_to_impact_s", "speed_mps"];
  return all.filter((name) => single.includes(name) || wanted.includes(name.split("/")[0]));
}

export function startRover(config, newest) {
  const side = new View(config, "side");
  const top = new View(config, "top");
  byId("side").append(side.svg);
  byId("top").append(top.svg);
  const loads = startLoads(config, newest);
  let last = performance.now();
  const turn = new Map();

  function draw() {
    const now = performance.now();
    const dt = Math.min(0.2, (now - last) * 1e-3);
    last = now;
    for (const wheel of config.rover.wheels) {
      turn.set(wheel.name, (turn.get(wheel.name) ?? 0) + dt * (newest.of(`wheel_speed_radps/${wheel.name}`) ?? 0));
    }
    const left = newest.of("time_to_impact_s");
    const speed = newest.of("speed_mps");
    const distance = left !== null && speed !== null ? left * speed : config.obstacle?.distance_m ?? null;
    side.move(turn, distance);
    top.move(turn, distance);
    setText(byId("energy"), digits(newest.of("effective_kinetic_energy_J")));
    setText(byId("left"), digits(left));
    setText(byId("speed"), digits(speed));
    loads();
  }
  setInterval(draw, 100);
  draw();
}

class View {
  /** `which`: side looks from starboard, x to the right and z up; top has x to the right and y up. */
  constructor(config, which) {
    const { wheels, bodies, links } = config.rover;
    this.which = which;
    this.obstacle = config.obstacle;
    const flat = ([x, y, z]) => (which === "side" ? [x, -z] : [x, -y]);
    const xs = wheels.flatMap((wheel) => [wheel.x_m - wheel.radius_m, wheel.x_m + wheel.radius_m]);
    this.front = Math.max(...xs);
    const far = this.obstacle ? Math.max(this.obstacle.distance_m, 0) + PLATE_M : EDGE_M;
    const span = which === "side"
      ? [-Math.max(...bodies.map((body) => body.z_m + body.size_m[2] / 2), ...wheels.map((wheel) => wheel.z_m + wheel.radius_m)), 0]
      : [Math.min(...wheels.map((wheel) => -wheel.y_m - wheel.width_m)), Math.max(...wheels.map((wheel) => -wheel.y_m + wheel.width_m))];
    const box = [Math.min(...xs) - EDGE_M, span[0] - EDGE_M, this.front + far + EDGE_M, span[1] + EDGE_M];
    this.svg = make("svg", {
      viewBox: `${box[0]} ${box[1]} ${box[2] - box[0]} ${box[3] - box[1]}`, role: "img", "aria-label": `The rover, ${which} view`,
    });
    if (which === "side") this.svg.append(make("line", { class: "ground", x1: box[0], x2: box[2], y1: 0, y2: 0 }));
    for (const body of bodies) {
      const [x, up] = flat([body.x_m, body.y_m, body.z_m]);
      const [length, height] = which === "side" ? [body.size_m[0], body.size_m[2]] : [body.size_m[0], body.size_m[1]];
      this.svg.append(make("rect", { class: "body", x: x - length / 2, y: up - height / 2, width: length, height }));
    }
    for (const link of links) {
      const [[x1, y1], [x2, y2]] = [flat(link.from), flat(link.to)];
      this.svg.append(make("line", { class: "link", x1, y1, x2, y2 }));
    }
    this.spokes = wheels.map((wheel) => [wheel, this.addWheel(wheel, flat)]);
    this.plate = this.obstacle && make("line", { class: "plate" });
    if (this.plate) this.svg.append(this.plate);
  }

  addWheel(wheel, flat) {
    const [x, up] = flat([wheel.x_m, wheel.y_m, wheel.z_m]);
    const r = wheel.radius_m;
    if (this.which === "top") {
      this.svg.append(make("rect", { class: "wheel", x: x - r, y: up - wheel.width_m / 2, width: 2 * r, height: wheel.width_m }));
      return null;
    }
    const spoke = make("line", { class: "spoke" });
    this.svg.append(make("circle", { class: "wheel", cx: x, cy: up, r }), spoke);
    return spoke;
  }

  move(turn, distance) {
    for (const [wheel, spoke] of this.spokes) {
      if (!spoke) continue;
      const angle = turn.get(wheel.name) ?? 0;
      const [dx, dy] = [wheel.radius_m * Math.sin(angle), -wheel.radius_m * Math.cos(angle)];
      for (const [name, value] of Object.entries({ x1: wheel.x_m, y1: -wheel.z_m, x2: wheel.x_m + dx, y2: -wheel.z_m + dy })) {
        spoke.setAttribute(name, value);
      }
    }
    if (!this.plate || distance === null) return;
    const angle = this.obstacle.angle_deg * Math.PI / 180;
    const foot = this.front + Math.max(distance, 0);
    const ends = this.which === "side"
      ? { x1: foot, y1: 0, x2: foot + PLATE_M * Math.cos(angle), y2: -PLATE_M * Math.sin(angle) }
      : { x1: foot, x2: foot, y1: -PLATE_M, y2: PLATE_M };
    for (const [name, value] of Object.entries(ends)) this.plate.setAttribute(name, value);
  }
}

function startLoads(config, newest) {
  const series = config.series.map((one) => one.name);
  const kinds = [["wanted", "load_wanted_N"], ["estimated", "normal_force_N"], ["measured", "wheel_load_N"]];
  const bars = config.rover.wheels.map((wheel, i) => {
    const names = kinds.flatMap(([word, field]) => {
      const found = [`${field}/${wheel.name}`, `${field}/${i}`].find((name) => series.includes(name));
      return found ? [[word, found]] : [];
    });
    const label = wheel.name.replaceAll("_", " ");
    const meter = make("meter", { min: 0, max: 300, "aria-label": `Load of the wheel ${label}` });
    const text = make("span", {});
    byId("loads").append(make("div", { class: "load" }, make("span", {}, label), meter, text));
    return { wheel, names, meter, text };
  });
  return () => {
    for (const { wheel, names, meter, text } of bars) {
      const values = names.map(([word, name]) => [word, newest.of(name)]).filter(([, value]) => value !== null);
      const load = newest.of(`normal_force_N/${wheel.name}`);
      if (load !== null) meter.value = load;
      const slip = newest.of(`slip/${wheel.name}`);
      const sinkage = newest.of(`sinkage_m/${wheel.name}`);
      setText(text, [
        ...values.map(([word, value]) => `${word} ${value.toFixed(0)} N`),
        slip === null ? "" : `slip ${(100 * slip).toFixed(0)} %`,
        sinkage === null ? "" : `${(1000 * sinkage).toFixed(0)} mm deep`,
      ].filter(Boolean).join(", "));
    }
  };
}
