/** The rover in three dimensions, from the same moments as the drawings; the camera goes with it. */

import {
  BoxGeometry, BufferGeometry, ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide, Float32BufferAttribute, GridHelper, Group, HemisphereLight,
  LineBasicMaterial, LineSegments, Mesh, MeshLambertMaterial, PerspectiveCamera, PlaneGeometry, Scene as Root, Vector3, WebGLRenderer,
} from "../three/three.module.min.js";
import { make } from "./dom.js";
import { minus, outOf, plus, turned } from "./skeleton.js";
import { M_PER_N, partsOf, PLATE_M } from "./views.js";

const HEIGHT = 320;
const GROUND_M = 8;
const GRID_M = 0.25;
const STEP_RAD = 0.1;
const THICK_M = 0.02;
const LEG_M = 0.015;
const LOAD_M = 0.25; // length of the arrow of the mean wheel load
const HEAD_M = 0.025; // half the width of an arrow's head
const UP = new Vector3(0, 1, 0); // axis of three's cylinders
// Where the camera stands: round the rover, above the ground [rad], and how far, as a part of the usual distance.
const PRESETS = {
  Oblique: [-2.1, 0.4, 1], Side: [-Math.PI / 2, 0.05, 0.9], Front: [0, 0.15, 0.9], Top: [-Math.PI / 2, 1.5, 1], Plate: [-1.3, 0.12, 0.45],
};
const rad = (deg) => (deg ?? 0) * Math.PI / 180;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export class Scene {
  /** `ground`: `groundOf` the config. */
  constructor(config, ground, box, height = HEIGHT) {
    if (!document.createElement("canvas").getContext("webgl2")) throw new Error("this browser has no WebGL");
    [this.config, this.relief, this.line, this.height] = [config, ground.relief, ground.line, height];
    this.canvas = make("canvas", {
      tabindex: 0, role: "img", "aria-label": "The rover in three dimensions; drag or press the arrow keys to turn the view",
    });
    this.box = box;
    box.replaceChildren(this.canvas, make("div", { class: "row", role: "group", "aria-label": "Camera" }, ...Object.keys(PRESETS).map((name) => (
      make("button", { type: "button", onclick: () => this.look(name) }, name)))));
    this.renderer = new WebGLRenderer({ canvas: this.canvas, antialias: true, alpha: true });
    this.camera = new PerspectiveCamera(40, 1, 0.05, 50);
    this.camera.up.set(0, 0, 1);
    this.root = new Root();
    this.root.add(new HemisphereLight(0xffffff, 0x888888, 2));
    const sun = new DirectionalLight(0xffffff, 1.5);
    sun.position.set(2, -3, 5);
    this.root.add(sun);
    this.rig = new Group();
    this.root.add(this.rig);
    this.addGround();
    this.addRover(config.rover);
    if (config.obstacle) this.addObstacle();
    const parts = partsOf(config.rover);
    const front = Math.max(...parts.map(({ x_m: x, half }) => x + half[0]));
    const tall = Math.max(...config.rover.bodies.map((body) => body.z_m), ...parts.map((part) => part.z_m));
    this.front = front;
    this.centre = [front / 4, 0, tall / 2];
    this.usual = 2.2 * (front + tall);
    this.camera.far = Math.max(this.camera.far, 3 * this.usual);
    this.listen();
    this.look("Oblique");
    this.watch = new ResizeObserver(() => this.fit());
    this.watch.observe(box);
    this.fit();
  }

  mesh(geometry, name, opacity = 1) {
    return new Mesh(geometry, new MeshLambertMaterial({ color: colour(name), transparent: opacity < 1, opacity }));
  }

  add(geometry, name, opacity = 1) {
    const mesh = this.mesh(geometry, name, opacity);
    this.rig.add(mesh);
    return mesh;
  }

  addGround() {
    this.ground = new Group();
    this.rig.add(this.ground);
    if (!this.config.rover.wheels.length) return; // it stands on none
    if (this.relief) {
      this.ground.add(...this.uneven(this.relief));
      return;
    }
    if (this.line) {
      this.ground.add(...this.shaped(this.line));
      return;
    }
    const plane = this.mesh(new PlaneGeometry(GROUND_M, GROUND_M), "line", 0.4);
    plane.position.z = -0.003;
    const grid = new GridHelper(GROUND_M, GROUND_M / GRID_M, colour("soft"), colour("line"));
    grid.rotation.x = Math.PI / 2;
    this.ground.rotation.set(rad(this.config.ground?.roll_deg), -rad(this.config.ground?.pitch_deg), 0, "YXZ"); // as models.terrain.slope_of
    this.ground.add(plane, grid);
  }

  /** Uneven ground through the nodes of its map, which stays where it is, with lines GRID_M or a spacing apart. */
  uneven({ columns, rows, spacing, ...relief }) {
    const node = (i, j) => [relief.x + i * spacing, relief.y + j * spacing, relief.height[i][j]];
    const surface = new PlaneGeometry(1, 1, rows - 1, columns - 1); // its corners are counted along y, one x after the other
    for (let i = 0; i < columns; i += 1) for (let j = 0; j < rows; j += 1) surface.attributes.position.setXYZ(i * rows + j, ...node(i, j));
    surface.computeVertexNormals();
    const mesh = new Mesh(surface, this.hard());
    const every = Math.max(1, Math.round(GRID_M / spacing));
    const ends = [];
    for (let i = 0; i < columns; i += 1) {
      for (let j = 0; j < rows; j += 1) {
        if (i % every === 0 && j + 1 < rows) ends.push(...node(i, j), ...node(i, j + 1));
        if (j % every === 0 && i + 1 < columns) ends.push(...node(i, j), ...node(i + 1, j));
      }
    }
    return [mesh, segments(ends)];
  }

  /** A line of hard ground as far as the rover drives, which stays where it is, with lines GRID_M apart. */
  shaped(line) {
    const places = line.places(GRID_M, line.edges[0] - GROUND_M, line.edges.at(-1) + GROUND_M);
    const surface = new PlaneGeometry(1, 1, 1, places.length - 1);
    const half = GROUND_M / 2;
    const ends = [];
    places.forEach(([x, z], i) => {
      [half, -half].forEach((y, k) => surface.attributes.position.setXYZ(2 * i + k, x, y, z));
      ends.push(x, -half, z, x, half, z);
      for (let y = -half; i > 0 && y <= half; y += GRID_M) ends.push(places[i - 1][0], y, places[i - 1][1], x, y, z);
    });
    const faces = surface.toNonIndexed(); // so that each face has its own normal, and edges are seen
    faces.computeVertexNormals();
    return [new Mesh(faces, this.hard()), segments(ends)];
  }

  /** Ground that is seen from both sides, behind the lines on it. */
  hard() {
    return new MeshLambertMaterial({ color: colour("line"), side: DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 });
  }

  addRover({ wheels, bodies, joints }) {
    this.bodies = bodies.map((body) => this.add(new BoxGeometry(...body.size_m), "orange", 0.75));
    this.legs = joints.map(() => this.add(new CylinderGeometry(LEG_M, LEG_M, 1, 10), "text"));
    this.wheels = wheels.map((wheel) => this.addWheel(wheel));
    this.arrows = wheels.map(() => this.addArrow("green"));
    this.force = this.addArrow("red");
  }

  addWheel({ radius_m: r, width_m: width, grousers: { count, height_m: height } }) {
    const wheel = new Group();
    wheel.add(this.mesh(new CylinderGeometry(r - height, r - height, width, 40), "blue"));
    const spoke = this.mesh(new BoxGeometry(0.02, width * 1.04, r), "back");
    spoke.position.z = r / 2;
    wheel.add(spoke);
    for (let i = 0; i < (count || 12); i += 1) { // a smooth rim has marks, so that it is seen to turn
      const angle = 2 * Math.PI * i / (count || 12);
      const deep = count ? height : 0.004;
      const grouser = this.mesh(new BoxGeometry(count ? 0.006 : 0.012, width * 1.01, deep), count ? "text" : "back");
      const at = r - height + (count ? deep / 2 : 0);
      grouser.position.set(at * Math.sin(angle), 0, at * Math.cos(angle));
      grouser.rotation.y = angle;
      wheel.add(grouser);
    }
    this.rig.add(wheel);
    return wheel;
  }

  addArrow(name) {
    const arrow = new Group();
    arrow.add(this.mesh(new CylinderGeometry(0.3 * HEAD_M, 0.3 * HEAD_M, 1, 10), name), this.mesh(new ConeGeometry(HEAD_M, 2 * HEAD_M, 16), name));
    this.rig.add(arrow);
    return arrow;
  }

  addObstacle() {
    const { wheels } = this.config.rover;
    this.plates = wheels.slice(0, 2).map(() => {
      const group = new Group();
      const plate = this.mesh(new BoxGeometry(PLATE_M, 0.46, THICK_M), "red", 0.8);
      plate.position.set(PLATE_M / 2, 0, -THICK_M / 2); // its upper face is the plane that is hit
      group.add(plate);
      this.rig.add(group);
      return group;
    });
  }

  /** Show a moment (`momentOf`). */
  move({ placed, base, ground, loads, force_N: force, obstacle }) {
    const { rover } = this.config;
    rover.bodies.forEach((body, i) => {
      const { at, axes } = placed.get(body.name);
      put(this.bodies[i], turned(axes, body.com_m).map((value, k) => value + at[k]), axes);
    });
    rover.joints.forEach(({ parent, child }, i) => {
      const carrier = placed.get(parent);
      const com = parent === rover.base ? rover.bodies.find((body) => body.name === parent)?.com_m ?? [0, 0, 0] : [0, 0, 0];
      this.stretch(this.legs[i], turned(carrier.axes, com).map((value, k) => value + carrier.at[k]), placed.get(child).at);
    });
    const mean = [...loads.values()].reduce((sum, one) => sum + one, 0) / loads.size || 1;
    rover.wheels.forEach((wheel, i) => {
      const { at, axes } = placed.get(wheel.body);
      put(this.wheels[i], at, axes);
      const length = LOAD_M * Math.max(loads.get(wheel.name), 0) / mean;
      const aside = at[1] + Math.sign(at[1] - base.at[1]) * wheel.width_m; // beside the wheel, or nobody would see it
      const normal = ground.normal(at[0], at[1]);
      const foot = at.map((value, k) => value - wheel.radius_m * normal[k]);
      point(this.arrows[i], [foot[0], aside, foot[2]], normal, length);
    });
    point(this.force, base.at, [0, 0, 1], 0);
    if (obstacle) this.moveObstacle(obstacle, placed, M_PER_N * force);
    if (!this.relief && !this.line) {
      const lines = [0, 1].map((k) => Math.round(ground.axes.reduce((sum, row, i) => sum + row[k] * base.at[i], 0) / GRID_M) * GRID_M);
      this.ground.position.set(...ground.axes.map((row) => row[0] * lines[0] + row[1] * lines[1]));
    }
    const height = ground.height(base.at[0], base.at[1]);
    this.middle = new Vector3(base.at[0] + this.centre[0], base.at[1] + this.centre[1], height + this.centre[2]);
    if (this.preset === "Plate") this.middle.set(base.at[0] + this.front, base.at[1], height + this.centre[2] / 2);
    this.draw();
  }

  moveObstacle({ angle, foot, stands }, placed, length) {
    const { wheels } = this.config.rover;
    const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
    wheels.slice(0, 2).forEach(({ body }, i) => {
      const [stand, { at }] = [stands[i], placed.get(body)];
      const left = turned(stand.axes, minus(at, stand.at_m))[1];
      const columns = [[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]].map((axis) => outOf(stand, axis));
      put(this.plates[i], plus(stand.at_m, outOf(stand, [foot, left, 0])), [0, 1, 2].map((k) => columns.map((axis) => axis[k])));
    });
    const which = placed.get(wheels[0].body).at[1] < placed.get(wheels[1].body).at[1] ? 0 : 1;
    const { body, radius_m: r, width_m: width } = wheels[which];
    const towards = outOf(stands[which], [sine, 0, -cosine]);
    const touched = plus(placed.get(body).at, towards.map((value) => r * value));
    point(this.force, [touched[0], touched[1] - width, touched[2]], towards, length);
  }

  /** Lay a cylinder from one place to another. */
  stretch(mesh, from, to) {
    const [start, along] = [new Vector3(...from), new Vector3(...to).sub(new Vector3(...from))];
    const length = along.length();
    mesh.visible = length > 1e-3;
    if (!mesh.visible) return;
    mesh.position.copy(start).addScaledVector(along, 0.5);
    mesh.quaternion.setFromUnitVectors(UP, along.divideScalar(length));
    mesh.scale.y = length;
  }

  /** Another rover is drawn from now on. */
  end() {
    this.watch.disconnect();
    this.renderer.dispose();
    this.renderer.forceContextLoss();
    this.box.replaceChildren();
  }

  /** Look from one of the presets. */
  look(name) {
    this.preset = name;
    [this.round, this.above, this.away] = PRESETS[name];
    this.away *= this.usual;
    this.middle = new Vector3(...this.centre);
    this.draw();
  }

  draw() {
    const [flat, up] = [Math.cos(this.above) * this.away, Math.sin(this.above) * this.away];
    this.camera.position.set(this.middle.x + flat * Math.cos(this.round), this.middle.y + flat * Math.sin(this.round), this.middle.z + up);
    this.camera.lookAt(this.middle);
    this.renderer.render(this.root, this.camera);
  }

  fit() {
    const width = Math.max(200, this.canvas.parentElement.clientWidth);
    this.camera.aspect = width / this.height;
    this.camera.updateProjectionMatrix();
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, this.height);
    this.draw();
  }

  turn(round, above) {
    this.round += round;
    this.above = Math.min(1.5, Math.max(0.02, this.above + above));
    this.draw();
  }

  listen() {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    this.canvas.addEventListener("keydown", (event) => {
      if (!steps[event.key]) return;
      event.preventDefault();
      this.turn(...steps[event.key].map((step) => step * STEP_RAD));
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons) this.turn(-event.movementX * 0.01, event.movementY * 0.01);
    });
  }
}

/** Thin lines between pairs of places [x, y, z, x, y, z, ...]. */
function segments(ends) {
  const lines = new BufferGeometry();
  lines.setAttribute("position", new Float32BufferAttribute(ends, 3));
  return new LineSegments(lines, new LineBasicMaterial({ color: colour("soft") }));
}

/** Put an object at a place, turned as the axes are. */
function put(object, at, [[a, b, c], [d, e, f], [g, h, i]]) {
  object.matrixAutoUpdate = false;
  object.matrix.set(a, b, c, at[0], d, e, f, at[1], g, h, i, at[2], 0, 0, 0, 1);
  object.matrixWorldNeedsUpdate = true;
}

/** Have an arrow begin at a place; one without length is not seen. */
function point(arrow, at, direction, length) {
  arrow.visible = length > 1e-3;
  arrow.position.set(...at);
  arrow.quaternion.setFromUnitVectors(UP, new Vector3(...direction));
  const [shaft, head] = arrow.children;
  shaft.scale.y = Math.max(length, 1e-3);
  shaft.position.y = length / 2;
  head.position.y = length - HEAD_M;
}
