/** What the page says of the rig: one state, from the connection, the newest status and the ages of what is shown. */

// A status or a tick that is older is old [s]. Where no loop runs, some steps write none for longer; no drive has power in them.
export const OLD_S = 1.0;
const LONGEST_STEP_S = 300;
export const STEPS = {
  opening: "The rig is being opened.", preparing: "The run is being prepared.", concluding: "The results are being written.",
  campaign: "The campaign goes on.",
};
const LOOK = "Use the emergency stop.";

/**
 * What the page shows, of nothing but these:
 *
 * link      "open", "silent" or "closed": the connection to the page server
 * status    the newest status; null: none since the connection was made
 * run       number of the run that the status is of, counted from the first arming that this page saw
 * stop      the newest stop of this page, {run, answer, error, cut_ms, vain}, vain: nothing was on that could be stopped; null: none
 *
 * Returns the word of the state with a detail, its kind (lost, safe, armed, running, refused or idle), a message, whether the state is known, the
 * data's age in words and whether that is old, and the stop of this run: its text, and whether it failed. A stop of an earlier run is none.
 */
export function display({ link, status, run, stop }) {
  const shown = state(link, status);
  return { ...shown, data: shown.known ? data(status) : { text: "not known", old: true }, stop: stop?.run === run ? stopped(stop) : { text: "", failed: false } };
}

function state(link, status) {
  const unknown = why(link, status);
  if (unknown) return { kind: "lost", known: false, word: "NO CONNECTION", detail: "state not known, use the emergency stop", message: unknown };
  const known = { known: true, message: step(status) ?? status.message ?? "", detail: words(status.state) };
  if (status.safe) {
    const numbers = status.faults.map((fault) => fault.number);
    return { ...known, kind: "safe", word: "SAFE", detail: numbers.length ? `fault ${numbers.join(", ")}` : known.detail };
  }
  if (!status.armed) return { ...known, kind: "idle", word: "NOT ARMED", ...refusal(status) };
  return status.state === "armed" ? { ...known, kind: "armed", word: "ARMED", detail: "start moves the rover" } : { ...known, kind: "running", word: "RUNNING" };
}

/**
 * What was asked for last and was refused, why, and what to do; nothing while a run is on, or where nothing was. A refused setting
 * is none: it changed nothing, and its form says why.
 */
function refusal({ refused, checks, running, state, settings }) {
  if (!refused?.length || running || state in STEPS) return {};
  if (settings?.refused?.some((problem) => refused[0].includes(problem))) return {};
  const [what, more] = [checks?.some((check) => !check.ok) ? "arming refused" : "refused", refused.length > 1 ? `, and ${refused.length - 1} more` : ""];
  return { kind: "refused", detail: what, message: `${refused[0]}${more}. Correct this, then arm again; Arming checks has each check.` };
}

/** Why the state is not known; "": it is. */
function why(link, status) {
  if (link === "silent") return `The page server has been silent for over 1 s. ${LOOK}`;
  if (link !== "open" || !status) return `There is no connection to the page server. ${LOOK}`;
  if (status.command_server === false) return `hil operate does not answer. ${LOOK}`;
  if (typeof status.state !== "string" || typeof status.armed !== "boolean") return `hil operate has not told its state yet. ${LOOK}`;
  const [age, most] = [status.status_age_s ?? 0, takesLonger(status) ? LONGEST_STEP_S : OLD_S];
  return age > most ? `hil operate has told no state for ${age.toFixed(0)} s. ${LOOK}` : "";
}

/** Whether hil operate does something that writes no status for a while: before its loop, or after the run in it is over. */
const takesLonger = (status) => status.state in STEPS || (status.running && !status.armed);

function step(status) {
  const age = status.status_age_s ?? 0;
  if (status.question && age <= OLD_S) return "The campaign asks: read and answer it under Campaign.";
  const text = STEPS[status.state] ?? (status.running && !status.armed && age > OLD_S ? STEPS.concluding : null);
  if (text === null || age <= OLD_S) return status.state === "concluding" ? text : null;
  return `${text} ${age.toFixed(0)} s so far.`;
}

function data(status) {
  if (!status.running || !status.armed) return { text: "no run is on", old: false };
  const age = status.telemetry_age_s ?? null;
  if (age === null) return { text: "no telemetry", old: false };
  return age > OLD_S ? { text: `${age.toFixed(0)} s OLD`, old: true } : { text: "fresh", old: false };
}

function stopped({ answer, error, cut_ms, vain }) {
  if (answer === "failed") return { failed: true, text: `STOP FAILED: ${error}. Use the emergency stop on motor power and valve supply, now.` };
  if (typeof cut_ms === "number") return { failed: false, text: `drives cut, confirmed ${cut_ms.toFixed(1)} ms after the stop arrived` };
  if (answer !== "accepted") return { failed: false, text: "stop is sent ..." };
  return { failed: false, text: vain ? "stop received: no run is on, nothing was stopped" : "stop accepted, the cut is not confirmed yet" };
}

const words = (state) => state.replaceAll("_", " ");

/** Follows the connection, and tells its listeners what is to be shown whenever that may have changed. */
export class Display {
  constructor(connection) {
    this.listeners = [];
    this.seen = { link: "closed", status: null, run: 0, stop: null };
    this.last = { folder: null, state: "", awaited: false };
    connection.on("open", () => this.see({ link: "open", status: null }));
    connection.on("silent", () => this.see({ link: "silent" }));
    connection.on("closed", () => this.see({ link: "closed", status: null }));
    connection.on("status", (status) => this.see({ link: "open", status, run: this.runOf(status) }));
    connection.on("cut", (cut_ms) => this.answerStop({ answer: "accepted", cut_ms }));
    this.see({});
  }

  /** Call `listener` with what is shown and the status that it is of, now and from now on. */
  on(listener) {
    this.listeners.push(listener);
    listener(this.shown, this.seen.status);
  }

  see(changed) {
    Object.assign(this.seen, changed);
    this.shown = display(this.seen);
    for (const listener of this.listeners) listener(this.shown, this.seen.status);
  }

  /** The run of a status: another one begins when it is prepared, or with its folder where that was not seen. */
  runOf({ state, run }) {
    const { last } = this;
    const [prepares, another] = [state === "preparing" && last.state !== state, Boolean(run && last.folder !== null && run !== last.folder)];
    const begins = prepares || (another && !last.awaited);
    this.last = { folder: run || last.folder || "", state, awaited: prepares || (last.awaited && !another) };
    return this.seen.run + Number(begins);
  }

  /** A stop was sent: its answer is of the run that is on now. */
  stopSent() {
    const { status } = this.seen;
    const vain = this.shown.known && !status.running && !(status.state in STEPS);
    const stop = { run: this.seen.run, answer: "sent", error: "", cut_ms: null, vain };
    this.see({ stop });
    return (reply) => {
      if (this.seen.stop !== stop) return; // another one was sent since, and its own answer counts
      this.see({ stop: Object.assign(stop, reply.ok ? { answer: "accepted" } : { answer: "failed", error: reply.error }) });
    };
  }

  answerStop(answer) {
    if (this.seen.stop) this.see({ stop: Object.assign(this.seen.stop, answer) });
  }
}
