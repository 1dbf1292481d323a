/** The rover in three dimensions, from the same geometry as the drawings. */

import {
  BoxGeometry, BufferGeometry, CylinderGeometry, DirectionalLight, GridHelper, Group, HemisphereLight, LineBasicMaterial, LineSegments,
  Mesh, MeshLambertMaterial, PerspectiveCamera, PlaneGeometry, Scene as Root, Vector3, WebGLRenderer,
} from "../three/three.module.min.js";
import { make } from "./dom.js";
import { frontOf, PLATE_M } from "./views.js";

const HEIGHT = 320;
const GROUND_M = 8;
const STEP_RAD = 0.1;
const THICK_M = 0.02;
const rad = (deg) => (deg ?? 0) * Math.PI / 180;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export class Scene {
  constructor(config, box) {
    if (!document.createElement("canvas").getContext("webgl2")) throw new Error("this browser has no WebGL");
    this.canvas = make("canvas", {
      tabindex: 0, role: "img", "aria-label": "The rover in three dimensions; drag or press the arrow keys to turn the view",
    });
    box.append(this.canvas);
    this.renderer = new WebGLRenderer({ canvas: this.canvas, antialias: true, alpha: true });
    this.camera = new PerspectiveCamera(40, 1, 0.1, 50);
    this.camera.up.set(0, 0, 1);
    [this.round, this.above] = [-0.9, 0.4];
    this.root = new Root();
    this.root.add(new HemisphereLight(0xffffff, 0x888888, 2));
    const sun = new DirectionalLight(0xffffff, 1.5);
    sun.position.set(2, -3, 5);
    this.root.add(sun);
    this.rig = new Group();
    this.ground = config.ground;
    this.root.add(this.rig);
    this.front = frontOf(config.rover);
    this.addGround();
    this.addRover(config.rover);
    if (config.obstacle) this.addObstacle(config.obstacle);
    const tall = Math.max(...config.rover.bodies.map((body) => body.z_m), ...config.rover.wheels.map((wheel) => wheel.z_m));
    this.middle = new Vector3(this.front / 4, 0, tall / 2);
    this.away = 2.2 * (this.front + tall);
    this.listen();
    new ResizeObserver(() => this.fit()).observe(box);
    this.fit();
  }

  add(geometry, name, x, y, z, opacity = 1) {
    const mesh = new Mesh(geometry, new MeshLambertMaterial({ color: colour(name), transparent: opacity < 1, opacity }));
    mesh.position.set(x, y, z);
    this.rig.add(mesh);
    return mesh;
  }

  addGround() {
    this.add(new PlaneGeometry(GROUND_M, GROUND_M), "line", 0, 0, -0.003, 0.4);
    const grid = new GridHelper(GROUND_M, 4 * GROUND_M, colour("soft"), colour("line"));
    grid.rotation.x = Math.PI / 2;
    this.rig.add(grid);
  }

  addRover({ wheels, bodies, links }) {
    for (const body of bodies) this.add(new BoxGeometry(...body.size_m), "orange", body.x_m, body.y_m, body.z_m, 0.75);
    const ends = links.flatMap((link) => [new Vector3(...link.from), new Vector3(...link.to)]);
    this.rig.add(new LineSegments(new BufferGeometry().setFromPoints(ends), new LineBasicMaterial({ color: colour("text") })));
    this.wheels = wheels.map((wheel) => {
      const r = wheel.radius_m;
      const mesh = this.add(new CylinderGeometry(r, r, wheel.width_m, 32), "blue", wheel.x_m, wheel.y_m, wheel.z_m);
      const spoke = new Mesh(new BoxGeometry(0.02, wheel.width_m * 1.04, r), new MeshLambertMaterial({ color: colour("back") }));
      spoke.position.z = r / 2;
      mesh.add(spoke);
      return [wheel.name, mesh];
    });
  }

  addObstacle(set) {
    [this.obstacle, this.set] = [new Group(), set];
    const plate = new Mesh(new BoxGeometry(PLATE_M, 2 * PLATE_M, THICK_M), new MeshLambertMaterial({ color: colour("red") }));
    plate.position.x = PLATE_M / 2;
    this.obstacle.add(plate);
    this.obstacle.visible = false;
    this.rig.add(this.obstacle);
  }

  /** See `View.move`. */
  move(turn, distance) {
    this.rig.rotation.set(rad(this.ground?.roll_deg), -rad(this.ground?.pitch_deg), 0);
    for (const [name, mesh] of this.wheels) mesh.rotation.y = turn.get(name) ?? 0;
    if (this.obstacle && distance !== null) {
      this.obstacle.visible = true;
      this.obstacle.rotation.y = -rad(this.set.angle_deg);
      this.obstacle.position.x = this.front + Math.max(distance, 0);
    }
    this.draw();
  }

  draw() {
    const [flat, up] = [Math.cos(this.above) * this.away, Math.sin(this.above) * this.away];
    this.camera.position.set(this.middle.x + flat * Math.cos(this.round), flat * Math.sin(this.round), this.middle.z + up);
    this.camera.lookAt(this.middle);
    this.renderer.render(this.root, this.camera);
  }

  fit() {
    const width = Math.max(200, this.canvas.parentElement.clientWidth);
    this.camera.aspect = width / HEIGHT;
    this.camera.updateProjectionMatrix();
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, HEIGHT);
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
