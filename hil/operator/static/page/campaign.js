/** The plan of a campaign, what to set next, and the operator's verdict. */

import { byId, make, setText } from "./dom.js";
import { onHold } from "./hold.js";
import { drawSetting, inWords } from "./setting.js";
import { LastTrials } from "./trials.js";

/** Returns what shows the last trials among the runs. */
export function startCampaign(connection, config) {
  const place = byId("plan");
  if (!config.plan) {
    place.append(make("p", {}, "There is no plan. Start hil operate with --plan PLAN for a campaign."));
    return () => {};
  }
  const { name, trials } = config.plan;
  const progress = new Progress(trials.length);
  const drawing = make("div", { id: "set-next" });
  const items = trials.map((trial) => make("li", {}, inWords(trial)));
  const answer = make("p", { role: "status" });
  const order = (command) => connection.command(command).then((reply) => setText(answer, reply.ok ? "" : reply.error));
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
  const judge = make("p", { class: "row" }, make("label", { for: "word" }, "A word on it"), word, verdict("keep"), verdict("repeat"));
  place.append(
    make("p", { class: "row" }, button("Begin or resume", { type: "campaign", do: "start" }, true),
      button("Pause after this trial", { type: "campaign", do: "pause" }), button("End", { type: "campaign", do: "end" }, true)),
    progress.element, question, drawing, ready, judge, answer,
    make("h3", { id: "last-trials-title", hidden: true }, "Last trials"),
    make("div", { id: "last-trials" }),
    make("h3", {}, `Plan ${name}, ${trials.length} trials`),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Plan" }, make("ol", {}, ...items)),
  );
  let drawn = null;
  connection.on("status", ({ question: asked }) => {
    setText(question, asked?.text ?? "");
    const next = trials.find((trial) => trial.number === asked?.trial) ?? null;
    if (next) progress.at(trials.indexOf(next));
    items.forEach((item, i) => (trials[i] === next ? item.setAttribute("aria-current", "step") : item.removeAttribute("aria-current")));
    const shown = asked?.key === "ready" ? next : null;
    if (shown !== drawn) drawing.replaceChildren(...[shown && drawSetting(shown)].filter(Boolean));
    drawn = shown;
    ready.hidden = asked?.key !== "ready";
    judge.hidden = asked?.key !== "verdict";
  });
  const last = new LastTrials();
  return (runs) => last.show(runs);
}

/** How many trials are done, and how long the others take if they go on as since this page was opened. */
class Progress {
  constructor(count) {
    this.count = count;
    this.began = null;
    this.bar = make("progress", { max: count, value: 0, "aria-label": "Trials done" });
    this.words = make("span", {});
    this.element = make("p", { class: "row", hidden: true }, this.bar, this.words);
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
