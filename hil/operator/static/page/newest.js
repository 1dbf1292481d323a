/** The newest telemetry of one run and the last 30 s of it, by series. */

const KEEP_S = 30;

export class Newest {
  constructor(connection) {
    this.begin();
    this.over = true; // no run is on
    let [state, run] = [null, ""];
    connection.on("ticks", (message) => this.add(message));
    connection.on("status", (status) => {
      if (status.run && run && status.run !== run) {
        if (!this.ahead) this.begin();
        this.ahead = false;
      }
      run = status.run || run;
      this.over = !status.running && !status.armed;
      if (state && status.state && status.state !== state && this.t.length) this.marks.push([this.t.at(-1), status.state]);
      state = status.state ?? state;
    });
  }

  /** A run begins: nothing of the run before it is kept, because its time may lie before or after that of this one. */
  begin() {
    [this.t, this.columns, this.marks] = [[], new Map(), []];
    this.came = null; // when the newest tick came, on the page's own clock [ms]
    this.ahead = false; // whether ticks of a run came before the status that names it
  }

  /** Age of the newest values [s]; null: there are none. */
  age_s() {
    return this.came === null ? null : (performance.now() - this.came) * 1e-3;
  }

  add({ names, t, values }) {
    const clock = values[names.indexOf("t_ns")] ?? []; // of the run: it goes back only where another run begins
    const first = clock.findLastIndex((now, i) => now !== null && now < (i ? clock[i - 1] : this.of("t_ns") ?? now));
    if (first >= 0) {
      this.begin();
      this.ahead = true;
      [t, values] = [t.slice(first), values.map((column) => column.slice(first))];
    }
    this.came = performance.now();
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

  /** Series as a chart draws them: times [s], columns, and marks, with what makes the newest time zero. */
  lines(names) {
    const { t, marks } = this;
    return { names, t, start: -(t.at(-1) ?? 0), columns: names.map((name) => this.columns.get(name) ?? []), marks };
  }

  /** The newest value of a series; null: none. */
  of(name) {
    return this.columns.get(name)?.at(-1) ?? null;
  }
}
