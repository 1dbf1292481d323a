/** Uneven ground, from the heights of a config's map: height and normal at a place, its profile under a line, and its contours. */

/**
 * The surface of a map, as models.terrain.height_map has it: bicubic patches between the nodes (Catmull-Rom), and beyond the outermost
 * ones the height at the edge.
 */
export class Relief {
  /** `map`: `x_m`, `y_m` of the first node, `spacing_m`, and `height_m`, a list along y for each x. */
  constructor({ x_m: x, y_m: y, spacing_m: spacing, height_m: height }) {
    Object.assign(this, { x, y, spacing, height, columns: height.length, rows: height[0].length });
  }

  /** Height [m] at a place. */
  at(x, y) {
    const [i, s] = place((x - this.x) / this.spacing, this.columns);
    const [j, t] = place((y - this.y) / this.spacing, this.rows);
    return cubic([-1, 0, 1, 2].map((k) => cubic(this.height[i + k].slice(j - 1, j + 3), t)), s);
  }

  /** Unit vector, upwards, at a place. */
  normal(x, y) {
    const step = 0.01 * this.spacing;
    const [p, q] = [[step, 0], [0, step]].map(([a, b]) => (this.at(x + a, y + b) - this.at(x - a, y - b)) / (2 * step));
    const size = Math.hypot(p, q, 1);
    return [-p / size, -q / size, 1 / size];
  }

  /** Lines of equal height, `apart` [m]: pairs of places [x1, y1, x2, y2] [m], straight in each triangle between nodes. */
  contours(apart) {
    const lines = [];
    const node = (i, j) => [this.x + i * this.spacing, this.y + j * this.spacing, this.height[i][j]];
    for (let i = 1; i < this.columns - 2; i += 1) {
      for (let j = 1; j < this.rows - 2; j += 1) {
        const [a, b, c, d] = [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)];
        for (const corners of [[a, b, c], [a, c, d]]) lines.push(...crossings(corners, apart));
      }
    }
    return lines;
  }
}

/** The lines of equal height in a triangle. */
function crossings(corners, apart) {
  const heights = corners.map(([, , z]) => z);
  const lines = [];
  for (let k = Math.ceil(Math.min(...heights) / apart); k * apart < Math.max(...heights); k += 1) {
    const ends = [];
    corners.forEach(([x1, y1, z1], i) => {
      const [x2, y2, z2] = corners[(i + 1) % 3];
      if ((z1 < k * apart) === (z2 < k * apart)) return;
      const share = (k * apart - z1) / (z2 - z1);
      ends.push(x1 + share * (x2 - x1), y1 + share * (y2 - y1));
    });
    if (ends.length === 4) lines.push(ends);
  }
  return lines;
}

/** The patch of a coordinate in spacings, its second node, and the share of the way to the third. */
function place(u, count) {
  const inside = Math.min(Math.max(u, 1), count - 2);
  const i = Math.min(Math.floor(inside), count - 3);
  return [i, inside - i];
}

function cubic([a, b, c, d], s) {
  return b + 0.5 * s * (c - a + s * (2 * a - 5 * b + 4 * c - d + s * (3 * (b - c) + d - a)));
}
