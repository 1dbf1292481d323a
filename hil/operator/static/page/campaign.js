/** The plan of a campaign, what to set next, and the operator's verdict. */

import { byId, make, setText } from "./dom.js";
import { onHold } from "./hold.js";
import { drawSetting, inWords } from "./setting.js";
import { LastTrials } from "./trials.js";
import { VerdictPanel } from "./verdict.js";

/** Returns what shows the last trials among the runs. */
export function startCampaign(connection, config) {
  const place = byId("plan");
  const answer = make("p", { role: "status" });
  const order = (command) => connection.command(command).then((reply) => setText(answer, reply.ok ? "" : reply.error));
  let [trials, items, drawn, next] = [[], [], null, null];
  const drawing = make("div", { id: "set-next" });
  const button = (text, command, held) => {
    const one = make("button", { type: "button" }, text);
    if (held) onHold(one, () => order(command));
    else one.addEventListener("click", () => order(command));
    return one;
  };
  const question = make("p", { class: "question", role: "status" });
  const word = make("input", { type: "text", id: "word", maxlength: 80, autocomplete: "off" });
  const verdict = (what) => {
    const one = make("button", { type: "button" }, what === "keep" ? "Keep the trial" : "Repeat the trial");
    one.addEventListener("click", () => {
      order({ type: "verdict", verdict: what, word: word.value });
      word.value = "";
    });
    return one;
  };
  const ready = button("Everybody is clear: go", { type: "start" }, true);
  ready.classList.add("primary");
  const panel = new VerdictPanel();
  const judge = make("p", { class: "row" }, make("label", { for: "word" }, "A word on it"), word, verdict("keep"), verdict("repeat"));
  const lead = make("p", { class: "row" }, button("Begin or resume", { type: "campaign", do: "start" }, true),
    button("Pause after this trial", { type: "campaign", do: "pause" }), button("End", { type: "campaign", do: "end" }, true));
  const choice = make("select", { id: "plan-choice" });
  const choose = make("button", { type: "button" }, "Choose the plan");
  const [title, list] = [make("h3", {}), make("ol", {})];
  const progress = new Progress();
  let answered = null; // changes that had been answered when a plan was chosen
  choose.addEventListener("click", () => {
    answered = connection.status?.settings?.answered ?? null;
    order({ type: "plan", name: choice.value });
  });
  place.append(
    make("p", { class: "row" }, make("label", { for: "plan-choice" }, "Plan"), choice, choose),
    lead, progress.element, question, drawing, ready, panel.element, judge, answer,
    make("h3", { id: "last-trials-title", hidden: true }, "Last trials"),
    make("div", { id: "last-trials" }),
    title, make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Plan" }, list),
  );
  const mark = () => items.forEach((item, i) => (trials[i] === (next ?? trials[0]) ? item.setAttribute("aria-current", "step") : item.removeAttribute("aria-current")));
  const showPlan = () => {
    trials = config.plan?.trials ?? [];
    items = trials.map((trial) => make("li", {}, inWords(trial)));
    const chosen = config.plan?.choice ?? "";
    const names = [...new Set([...(chosen ? [chosen] : []), ...(config.plans ?? [])])];
    choice.replaceChildren(...names.map((name) => make("option", { value: name, selected: name === chosen }, name)));
    setText(title, config.plan ? `Plan ${config.plan.name}, ${trials.length} trials` : "No plan is chosen");
    list.replaceChildren(...items);
    lead.hidden = !config.plan;
    progress.of(trials.length);
    next = null;
    mark();
  };
  showPlan();
  let shown = JSON.stringify(config.plan);
  connection.on("config", () => {
    const now = JSON.stringify(config.plan);
    if (now !== shown) showPlan();
    shown = now;
  });
  connection.on("status", (status) => {
    const { question: asked, settings } = status;
    if (settings && answered !== null && settings.answered > answered) {
      answered = null;
      setText(answer, settings.refused.join("; "));
    }
    choose.disabled = !status.lease.yours || status.state !== "idle";
    setText(question, asked?.text ?? "");
    next = trials.find((trial) => trial.number === asked?.trial) ?? next;
    if (asked && next) progress.at(trials.indexOf(next));
    mark();
    const toSet = asked?.key === "ready" ? next : null;
    if (toSet !== drawn) drawing.replaceChildren(...[toSet && drawSetting(toSet)].filter(Boolean));
    drawn = toSet;
    ready.hidden = asked?.key !== "ready";
    judge.hidden = asked?.key !== "verdict";
    panel.ask(asked?.key === "verdict" ? status.run : "");
  });
  const last = new LastTrials();
  return (runs) => {
    panel.offer(runs);
    last.show(runs);
  };
}

/** How many trials are done, and how long the others take if they go on as since this page was opened. */
class Progress {
  constructor() {
    this.bar = make("progress", { value: 0, "aria-label": "Trials done" });
    this.words = make("span", {});
    this.element = make("p", { class: "row", hidden: true }, this.bar, this.words);
  }

  /** A plan with so many trials. */
  of(count) {
    [this.count, this.began, this.bar.max, this.element.hidden] = [count, null, Math.max(1, count), true];
  }

  at(place) {
    this.began ??= { place, t: Date.now() };
    const [done, minutes] = [place - this.began.place, (Date.now() - this.began.t) / 60_000];
    const left = done > 0 ? `, about ${Math.ceil(minutes / done * (this.count - place))} min left` : "";
    this.bar.value = place;
    this.element.hidden = false;
    setText(this.words, `trial ${place + 1} of ${this.count}${left}`);
  }
}
