/** The newest telemetry and the last 30 s of it, by series. */

const KEEP_S = 30;

export class Newest {
  constructor(connection) {
    this.t = [];
    this.columns = new Map();
    this.marks = [];
    let state = null;
    connection.on("ticks", (message) => this.add(message));
    connection.on("status", (status) => {
      if (state !== null && status.state !== state && this.t.length) this.marks.push([this.t.at(-1), status.state]);
      state = status.state;
    });
  }

  add({ names, t, values }) {
    for (const name of names) {
      if (!this.columns.has(name)) this.columns.set(name, new Array(this.t.length).fill(null));
    }
    this.t.push(...t);
    for (const [name, column] of this.columns) {
      const i = names.indexOf(name);
      column.push(...(i < 0 ? new Array(t.length).fill(null) : values[i]));
    }
    const old = this.t.findIndex((one) => one >= this.t.at(-1) - KEEP_S);
    if (old > 0) {
      this.t.splice(0, old);
      for (const column of this.columns.values()) column.splice(0, old);
      this.marks = this.marks.filter(([at]) => at >= this.t[0]);
    }
  }

  /** The newest value of a series; null: none. */
  of(name) {
    return this.columns.get(name)?.at(-1) ?? null;
  }
}
