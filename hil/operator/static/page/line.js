/** Hard ground that is a line in (x, z), the same at every y: steps, ledges and slopes of a config's profile. */

const AROUND_M = 0.6; // half of the way over which a view takes the mean height, so that it does not jump at an edge
const SAMPLES = 24;

export class Line {
  /** `points`: corners [x, z] [m], from behind the rover to ahead of it. */
  constructor(points) {
    this.points = points;
    [this.begins, this.ends] = [points[0][0], points.at(-1)[0]];
    this.edges = points.slice(1, -1).map(([x]) => x);
  }

  /** Height [m] at a place; beyond an end that of the end, at an upright face that of its far side. */
  at(x) {
    const next = this.points.findIndex(([corner]) => corner > x);
    if (next === 0) return this.points[0][1];
    if (next < 0) return this.points.at(-1)[1];
    const [[x1, z1], [x2, z2]] = [this.points[next - 1], this.points[next]];
    return z1 + (z2 - z1) * (x - x1) / (x2 - x1);
  }

  /** Mean height [m] around a place. */
  mean(x) {
    const heights = Array.from({ length: SAMPLES }, (_, i) => this.at(x + AROUND_M * (2 * i / (SAMPLES - 1) - 1)));
    return heights.reduce((sum, one) => sum + one, 0) / SAMPLES;
  }

  /** Largest difference between the mean height and that so far behind or ahead [m]. */
  rise(reach) {
    const middles = this.points.slice(1, -1).flatMap(([x]) => [x - reach, x, x + reach]);
    return Math.max(0, ...middles.flatMap((x) => [x - reach, x + reach].map((end) => Math.abs(this.at(end) - this.mean(x)))));
  }

  /** Corners with places at most `apart` [m] from each other between them, from one place to another. */
  places(apart, from, to) {
    const found = [];
    this.points.slice(1).forEach(([x2, z2], i) => {
      const [x1, z1] = this.points[i];
      const [low, high] = [x1, x2].map((x) => Math.min(Math.max(x, from), to));
      if (x2 > x1 && high <= low) return; // outside
      const share = (x) => (x2 > x1 ? (x - x1) / (x2 - x1) : 0);
      const ends = x2 > x1 ? [share(low), share(high)] : [0, 1];
      const count = Math.max(1, Math.ceil(Math.hypot(x2 - x1, z2 - z1) * (ends[1] - ends[0]) / apart));
      for (let k = found.length ? 1 : 0; k <= count; k += 1) {
        const at = ends[0] + (ends[1] - ends[0]) * k / count;
        found.push([x1 + at * (x2 - x1), z1 + at * (z2 - z1)]);
      }
    });
    return found;
  }
}
