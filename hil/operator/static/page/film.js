/** Pictures of a run in three dimensions, one by one, for `hil render --view 3d`. */

import { byId } from "./dom.js";
import { Scene } from "./scene.js";
import { groundOf, momentOf, Skeleton } from "./skeleton.js";

const film = await (await fetch("/film.json")).json();
const skeleton = new Skeleton(film.rover);
const ground = groundOf(film);
byId("scene").style.width = `${film.width}px`;
const scene = new Scene(film, ground, byId("scene"), film.height);

/** The picture of a moment, a PNG as data: read in the same task in which it is drawn, or it would be gone. */
window.picture = (index) => {
  const turn = new Map(film.rover.wheels.map(({ name }) => [name, film.columns[`turned_rad/${name}`][index]]));
  scene.move(momentOf(film, skeleton, ground, (name) => film.columns[name]?.[index] ?? null, turn));
  return scene.canvas.toDataURL("image/png");
};
