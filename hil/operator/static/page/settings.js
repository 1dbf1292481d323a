/** Settings of the config, changed between two runs: a form made from the schema, whose values hil operate checks as it checks its command line. */

import { byId, make, read, setText } from "./dom.js";

const idOf = (key) => `setting-${key.replaceAll(".", "-")}`;
const shown = (value) => (value === null ? "null" : String(value));
const sectionOf = (key) => key.split(".").slice(0, -1).join(".") || "run";
const ordered = (values) => JSON.stringify(Object.entries(values).sort());

/** Changed settings and the chosen plan, as a config and as a status tell them. */
const changesOf = (config) => ordered(Object.fromEntries([["", config.plan?.choice ?? ""],
  ...(config.settings ?? []).filter((one) => one.now !== one.given).map((one) => [one.key, one.now])]));
const changesIn = ({ changed, plan }) => ordered({ "": plan, ...changed });

/** Keep `config` as the rig is: other parts of the page hear "config" when something in it is another. */
export function startSettings(connection, config) {
  const form = new SettingsForm(connection, config);
  let [reading, tried] = [false, ""];
  connection.on("status", async (status) => {
    form.follow(status);
    const now = status.settings && changesIn(status.settings);
    if (!now || reading || now === changesOf(config) || now === tried) return;
    reading = true;
    const fresh = await read("/api/config");
    [reading, tried] = [false, now];
    if (!fresh) return;
    for (const [key, value] of Object.entries(fresh)) { // what is drawn from a part of it keeps that part
      if (value && config[key] && !Array.isArray(value) && typeof value === "object") Object.assign(config[key], value);
      else config[key] = value;
    }
    form.renew();
    connection.tell("config", config);
  });
}

class SettingsForm {
  constructor(connection, config) {
    [this.connection, this.config] = [connection, config];
    [this.status, this.asked, this.before] = [null, null, 0];
    this.fields = new Map();
    this.why = make("p", { class: "note", id: "settings-why" });
    this.answer = make("p", { role: "status" });
    this.apply = make("button", { type: "submit", "aria-describedby": "settings-why" }, "Apply");
    const undo = make("button", { type: "button", onclick: () => this.fill((one) => one.now) }, "Undo");
    const start = make("button", { type: "button", onclick: () => this.fill((one) => one.given) }, "As at the start");
    const sections = grouped(config.settings ?? []);
    const open = [...sections.keys()].slice(0, 2);
    byId("settings-form").append(
      ...[...sections].map(([name, settings]) => make("details", { open: open.includes(name) },
        make("summary", {}, name.replaceAll("_", " ")), ...settings.map((one) => this.field(one)))),
      make("p", { class: "row" }, this.apply, undo, start), this.why, this.answer);
    byId("settings-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    connection.on("closed", () => this.follow(null));
    this.renew();
  }

  /** The line of a setting: what it is, its input, what is allowed, and why a value was refused. */
  field(one) {
    const id = idOf(one.key);
    const unit = one.unit === "1" || !["number", "integer"].includes(one.kind) ? "" : ` [${one.unit}]`;
    const input = inputOf(one, id);
    const [mark, problem] = [make("strong", { class: "changed" }), make("p", { class: "bad", id: `${id}-problem` })];
    const about = make("small", { id: `${id}-about` });
    input.addEventListener("input", () => this.mark());
    this.fields.set(one.key, { input, mark, problem, about });
    return make("div", { class: "one-setting" }, make("label", { for: id }, `${one.name}${unit}`), input, mark, about, problem);
  }

  setting(key) {
    return this.config.settings.find((one) => one.key === key);
  }

  fill(valueOf) {
    for (const [key, { input }] of this.fields) input.value = text(valueOf(this.setting(key)));
    this.refuse([]);
    this.mark();
  }

  /** The config is another: inputs that nobody has edited follow it. */
  renew() {
    for (const [key, { input, about }] of this.fields) {
      const one = this.setting(key);
      if (!one) continue;
      if (input.dataset.now === undefined || input.value === input.dataset.now) input.value = text(one.now);
      input.dataset.now = text(one.now);
      setText(about, `${one.key}: ${one.words}. Allowed: ${one.allowed}; default ${shown(one.default)}; at the start ${shown(one.given)}.`);
    }
    this.mark();
  }

  edited() {
    return [...this.fields].filter(([, { input }]) => input.value !== input.dataset.now);
  }

  mark() {
    for (const [key, { input, mark }] of this.fields) {
      const one = this.setting(key);
      setText(mark, input.value !== input.dataset.now ? "edited" : one && one.now !== one.given ? "changed" : "");
    }
    const [edited, status] = [this.edited().length, this.status];
    const why = !status?.settings ? "There is no connection." : !status.lease.yours ? "Take the lease to change settings."
      : status.running || status.state !== "idle" ? "Settings are changed between two runs, when the rig is idle."
        : edited ? `${edited} edited; in force with Apply, for the next runs.` : "Nothing is edited.";
    setText(this.why, why);
    this.apply.disabled = !edited || !status?.settings || !status.lease.yours || status.running || status.state !== "idle" || this.asked !== null;
  }

  /** All that is edited is one change: all of it, or none. */
  async send() {
    const edited = this.edited();
    if (this.apply.disabled) return;
    [this.asked, this.before] = [edited.map(([key]) => key), this.status.settings.answered];
    this.refuse([]);
    setText(this.answer, "Checked, and the rig is opened again ...");
    this.mark();
    for (const [i, [key, { input }]] of edited.entries()) {
      const command = { type: "set", key, value: valueOf(this.setting(key), input.value), more: i < edited.length - 1 };
      const reply = await this.connection.command(command);
      if (!reply.ok) return this.end([reply.error]);
    }
    return null;
  }

  follow(status) {
    this.status = status;
    if (!status && this.asked) this.end(["no answer: the connection was lost"]);
    else if (this.asked && status.settings && status.settings.answered > this.before) this.end(status.settings.refused);
    this.mark();
  }

  end(refused) {
    this.asked = null;
    this.refuse(refused);
    setText(this.answer, refused.length ? "Refused; nothing was changed." : "Done. The next runs have these settings.");
    this.mark();
  }

  /** Each problem beside its key; one of no key that is shown, below the form. */
  refuse(problems) {
    const rest = problems.filter((line) => !this.fields.has(keyOf(line)));
    for (const [key, { input, problem }] of this.fields) {
      const own = problems.filter((line) => keyOf(line) === key);
      setText(problem, own.map((line) => line.slice(line.indexOf(": ") + 2)).join("; "));
      input.setAttribute("aria-invalid", String(own.length > 0));
      if (own.length) input.closest("details").open = true;
    }
    setText(byId("settings-problems"), rest.join("; "));
    if (problems.length) this.fields.get(keyOf(problems[0]))?.input.focus();
  }
}

const text = (value) => (value === null || value === undefined ? "" : String(value));
const keyOf = (line) => line.slice(0, line.indexOf(": ")).replace("--seed", "seed");

function grouped(settings) {
  const groups = new Map();
  for (const one of settings) groups.set(sectionOf(one.key), [...(groups.get(sectionOf(one.key)) ?? []), one]);
  return groups;
}

/** An input of the setting's kind. The space bar is stop, so none is a box that it ticks. */
function inputOf(one, id) {
  const about = { id, "aria-describedby": `${id}-about ${id}-problem` };
  if (one.kind === "choice" || one.kind === "flag") {
    const choices = [...(one.kind === "flag" ? ["true", "false"] : one.choices), ...(one.nullable ? [""] : [])];
    return make("select", about, ...choices.map((value) => make("option", { value }, value === "" ? "null" : String(value))));
  }
  if (one.kind === "text") return make("input", { ...about, type: "text", autocomplete: "off" });
  const step = one.kind === "integer" ? 1 : "any";
  return make("input", { ...about, type: "number", min: one.lowest, max: one.highest, step, placeholder: one.nullable ? "null" : "" });
}

/** What an input holds, as the rig takes it; an empty one is null. */
function valueOf(one, value) {
  if (value === "") return one.kind === "text" && !one.nullable ? "" : null;
  if (one.kind === "flag") return value === "true";
  return one.kind === "number" || one.kind === "integer" ? Number(value) : value;
}
