/** The rover: its views, and the loads of its wheels. */

import { byId, make } from "./dom.js";
import { drawEvery } from "./draw.js";
import { startLoads } from "./loads.js";
import { View } from "./views.js";

/** The series that the views need. */
export function roverSeries(config) {
  const all = config.series.map((one) => one.name);
  const wanted = ["normal_force_N", "slip", "sinkage_m", "wheel_speed_radps", "wheel_load_N", "load_wanted_N"];
  const single = ["effective_kinetic_energy_J", "time_to_impact_s", "speed_mps"];
  return all.filter((name) => single.includes(name) || wanted.includes(name.split("/")[0]));
}

export function startRover(config, newest) {
  const views = ["side", "top"].map((which) => new View(config, which));
  views.forEach((view) => byId(view.which).append(view.svg));
  startScene(config, views);
  const loads = startLoads(config, newest);
  let last = performance.now();
  const turn = new Map();

  function* draw() {
    const now = performance.now();
    const dt = Math.min(0.2, (now - last) * 1e-3);
    last = now;
    for (const wheel of config.rover.wheels) {
      turn.set(wheel.name, (turn.get(wheel.name) ?? 0) + dt * (newest.of(`wheel_speed_radps/${wheel.name}`) ?? 0));
    }
    const left = newest.of("time_to_impact_s");
    const speed = newest.of("speed_mps");
    const distance = left !== null && speed !== null ? left * speed : config.obstacle?.distance_m ?? null;
    for (const view of views) {
      view.move(turn, distance);
      yield;
    }
    yield* loads();
  }
  drawEvery(1, draw);
}

/** The view in three dimensions is loaded when somebody asks for it; then it is one of the views. */
function startScene(config, views) {
  const button = byId("solid");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const { Scene } = await import("./scene.js");
      views.push(new Scene(config, byId("scene")));
      button.hidden = true;
    } catch (error) {
      byId("scene").append(make("p", { role: "status" }, `No view in three dimensions: ${error.message}`));
    }
  });
}
