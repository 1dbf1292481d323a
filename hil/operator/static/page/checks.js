/** The arming checks, folded to their number once they pass; what fails stands first. */

import { byId, make, read, row, setText, timeOf } from "./dom.js";

const LATCH = "fault latch";

export function startChecks(display) {
  let [answer, faults, before, asked] = [null, [], "", 0];
  const show = () => {
    if (!answer) return;
    const checks = withLatch(answer.checks, faults).sort((a, b) => a.ok - b.ok);
    const failing = checks.filter((check) => !check.ok).length;
    const passing = `${checks.length - failing} pass`;
    const summary = failing ? `${failing} ${failing > 1 ? "FAIL" : "FAILS"}, ${passing}` : passing;
    if (byId("passed").textContent !== summary) byId("check-list").open = failing > 0;
    setText(byId("passed"), summary);
    byId("passed").className = failing ? "bad" : "good";
    setText(byId("checked"), answer.source === "arming" ? `of the arming at ${timeOf(answer.t, "a time that is not known")}` : "that follow from the config; arming makes the others");
    byId("checks").replaceChildren(...checks.map((check) => row(
      check.item,
      make("span", { class: check.ok ? "good" : "bad" }, check.ok ? "passes" : "FAILS"),
      check.found,
      make("span", {}, check.allowed, ...(check.to_do ? [make("strong", { class: "to-do" }, `What to do: ${check.to_do}`)] : [])),
    )));
  };
  const ask = async () => {
    const number = ++asked;
    const found = await read("/api/check");
    if (number !== asked) return; // a newer answer is on its way
    answer = found;
    show();
  };
  byId("check").addEventListener("click", ask);
  ask();
  display.on((shown, status) => {
    if (!shown.known) return;
    const now = JSON.stringify([status.state, status.faults]);
    if (now === before) return;
    before = now;
    faults = status.faults;
    show();
    ask();
  });
}

/** The fault latch as it is now: the arming that the other checks are of may have been before the fault, or before it was cleared. */
function withLatch(checks, faults) {
  const found = faults.map((fault) => `${fault.number} ${fault.name}`).join(", ");
  const latch = { item: LATCH, ok: !found, found: `${found || "none"}, now`, allowed: "none", to_do: found && "clear each fault by its number" };
  return checks.map((check) => (check.item === LATCH ? latch : check));
}
