/** The rover: its views, live or of a run that is over, and the loads of its wheels. */

import { byId, make } from "./dom.js";
import { drawEvery } from "./draw.js";
import { startLoads } from "./loads.js";
import { MARK, markOf } from "./measured.js";
import { Replay } from "./replay.js";
import { groundOf, momentOf, POSE, Skeleton } from "./skeleton.js";
import { View } from "./views.js";

/** The series that the views need. */
export function roverSeries(config) {
  const all = config.series.map((one) => one.name);
  const wanted = ["normal_force_N", "slip", "sinkage_m", "wheel_speed_radps", "wheel_load_N", "load_wanted_N", "joint_angle_rad"];
  const single = ["gap_m", "force_sum_N", ...POSE];
  return all.filter((name) => single.includes(name) || wanted.includes(name.split("/")[0]) || MARK.test(name));
}

/** Returns what replays a run. */
export function startRover(connection, config, newest) {
  const views = new Views(config);
  const live = config.series.map((one) => one.name);
  let loads = startLoads(config.rover.wheels, live);
  const replay = new Replay(connection, (shown) => {
    views.build(shown ?? config);
    loads = shown ? startLoads(shown.rover.wheels, Object.keys(shown.columns)) : startLoads(config.rover.wheels, live);
    document.body.classList.toggle("replays", shown !== null);
  });
  let last = performance.now();
  const turn = new Map();
  connection.on("config", () => replay.on || views.build(config));

  function* draw() {
    const now = performance.now();
    const dt = Math.min(0.2, (now - last) * 1e-3);
    last = now;
    for (const wheel of config.rover.wheels) {
      turn.set(wheel.name, (turn.get(wheel.name) ?? 0) + dt * (newest.of(`wheel_speed_radps/${wheel.name}`) ?? 0));
    }
    replay.advance(dt);
    const of = replay.on ? (name) => replay.of(name) : (name) => newest.of(name);
    yield* views.move(of, replay.on ? replay.turn() : turn);
    yield* loads(of);
  }
  drawEvery(1, draw);
  return replay;
}

/** The drawings of one rover; the view in three dimensions is loaded when somebody asks for it, and then it is one of them. */
class Views {
  constructor(config) {
    this.Scene = null;
    this.build(config);
    const button = byId("solid");
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        ({ Scene: this.Scene } = await import("./scene.js"));
        this.addScene();
        button.hidden = true;
      } catch (error) {
        byId("scene").append(make("p", { role: "status" }, `No view in three dimensions: ${error.message}`));
      }
    });
  }

  /** Draw the rover, obstacle and ground of a config from now on. */
  build(config) {
    this.config = config;
    this.skeleton = new Skeleton(config.rover);
    this.ground = groundOf(config);
    this.scene?.end();
    this.scene = null;
    this.all = ["side", "top"].map((which) => new View(config, this.ground, which));
    this.all.forEach((view) => byId(view.which).replaceChildren(view.svg));
    if (this.Scene) this.addScene();
  }

  addScene() {
    this.scene = new this.Scene(this.config, this.ground, byId("scene"));
    this.all.push(this.scene);
  }

  *move(of, turn) {
    const moment = { ...momentOf(this.config, this.skeleton, this.ground, of, turn), mark: markOf(this.config, of) };
    for (const view of this.all) {
      view.move(moment);
      yield;
    }
  }
}
