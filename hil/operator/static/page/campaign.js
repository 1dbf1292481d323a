/** The plan of a campaign, what to set next, and the operator's verdict. */

import { byId, confirmTwice, make, setText } from "./dom.js";

export function startCampaign(connection, config) {
  const place = byId("plan");
  if (!config.plan) {
    place.append(make("p", {}, "There is no plan. Start hil operate with --plan PLAN for a campaign."));
    return;
  }
  const answer = make("p", { role: "status" });
  const order = (command) => connection.command(command).then((reply) => setText(answer, reply.ok ? "" : reply.error));
  const button = (text, command, twice) => {
    const one = make("button", { type: "button" }, text);
    if (twice) confirmTwice(one, () => order(command));
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
  const judge = make("p", { class: "row" }, make("label", { for: "word" }, "A word on it"), word, verdict("keep"), verdict("repeat"));
  place.append(
    make("p", { class: "row" }, button("Begin or resume", { type: "campaign", do: "start" }, true),
      button("Pause after this trial", { type: "campaign", do: "pause" }), button("End", { type: "campaign", do: "end" }, true)),
    question, ready, judge, answer,
    make("h3", {}, `Plan ${config.plan.name}, ${config.plan.trials.length} trials`),
    make("ol", {}, ...config.plan.trials.map((trial) => make("li", {}, Object.entries(trial)
      .filter(([key]) => key !== "number").map(([key, value]) => `${key.replaceAll("_", " ")} ${value}`).join(", ")))),
  );
  connection.on("status", ({ question: asked }) => {
    setText(question, asked?.text ?? "");
    ready.hidden = asked?.key !== "ready";
    judge.hidden = asked?.key !== "verdict";
  });
}
