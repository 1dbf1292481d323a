/** Frames of the camera that filmed a run, beside its replay: the newest one at the cursor. */

import { make, read, runOf, setText } from "./dom.js";

export class Frames {
  /** Of a run; its place stays empty if nothing has filmed it. */
  constructor(name) {
    Object.assign(this, { address: `${runOf(name)}/camera`, times: [], files: [], shown: null, time: 0 });
    this.place = make("figure", { class: "camera", hidden: true });
    this.read();
  }

  async read() {
    const rows = await read(`${this.address}/frames`) ?? [];
    if (!rows.length) return;
    this.times = rows.map(([t]) => t);
    this.files = rows.map(([, file]) => file);
    this.image = make("img", { alt: "Frame of the camera" });
    this.words = make("figcaption");
    this.place.replaceChildren(this.image, this.words);
    this.place.hidden = false;
    this.show(this.time);
  }

  /** Show the newest frame that was taken by then [s]; before the first one, that one. */
  show(time) {
    this.time = time;
    if (!this.files.length) return;
    let [low, high] = [0, this.times.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.times[middle] <= time + 1e-9) low = middle;
      else high = middle - 1;
    }
    if (low === this.shown) return;
    this.shown = low;
    this.image.src = `${this.address}/${this.files[low]}`;
    setText(this.words, `Camera, frame ${low + 1} of ${this.times.length}, taken at ${this.times[low].toFixed(3)} s`);
  }
}
