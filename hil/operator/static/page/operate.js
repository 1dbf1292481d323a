/** Lease, who asks for it, arming with its check-list, start, faults, set-points and modes. */

import { byId, confirmTwice, make, read, row, setText } from "./dom.js";

// A request for the lease is shown to its holder for 5 s; it is repeated while this page waits.
const ASK_AGAIN_MS = 2000;

export function startOperate(connection, config) {
  const complain = (reply) => { if (!reply.ok) setText(byId("asked"), reply.error); };
  const order = (command) => connection.command(command).then(complain);
  const change = (act) => connection.ask({ type: "lease", do: act }).then(complain);
  let status = null;
  let asking = null; // whom

  byId("lease").addEventListener("click", () => {
    const lease = status?.lease;
    asking = lease?.holder && !lease.yours && asking !== lease.holder ? lease.holder : null;
    if (asking) change("ask");
    else if (lease?.yours) change("release");
    else if (!lease?.holder) change("take");
    if (status) showLease(status.lease, asking);
  });
  setInterval(() => asking && change("ask"), ASK_AGAIN_MS);
  byId("give").addEventListener("click", () => change("give"));
  confirmTwice(byId("arm"), () => order({ type: "arm" }));
  confirmTwice(byId("start"), () => order({ type: "start" }));
  byId("safe").addEventListener("click", () => order({ type: "e_stop", reason: "page" }));
  byId("check").addEventListener("click", showChecks);
  showSetPoints(config, order);
  showChecks();

  connection.on("closed", () => {
    status = null;
    for (const name of ["lease", "arm", "start"]) byId(name).disabled = true;
  });
  let before = "";
  connection.on("status", (now) => {
    status = now;
    const { lease } = now;
    if (lease.yours || lease.holder !== asking) asking = null;
    showLease(lease, asking);
    byId("lease").disabled = false;
    for (const name of ["arm", "start"]) byId(name).disabled = !lease.yours;
    if (now.state !== before) showChecks();
    before = now.state;
    showFaults(now, config, order);
  });
}

function showLease(lease, asking) {
  setText(byId("lease"), lease.yours ? "Release the lease"
    : asking ? `Waiting for ${asking}: cancel`
      : lease.holder ? `Ask ${lease.holder} for the lease` : "Take the lease");
  setText(byId("asker"), lease.asked_by ? `${lease.asked_by} asks ${lease.yours ? "you" : lease.holder} for the lease.` : "");
  byId("request").hidden = !lease.asked_by;
  byId("give").hidden = !lease.yours;
}

async function showChecks() {
  const answer = await read("/api/check");
  if (!answer) return;
  byId("checks").replaceChildren(...answer.checks.map((check) => row(
    check.item,
    make("span", { class: check.ok ? "good" : "bad" }, check.ok ? "passes" : "FAILS"),
    check.found,
    make("span", {}, check.allowed, ...(check.to_do ? [make("strong", { class: "to-do" }, `What to do: ${check.to_do}`)] : [])),
  )));
}

let shown = "";

function showFaults(status, config, order) {
  const faults = [...status.faults.map((one) => [one, true]), ...status.warnings.map((one) => [one, false])];
  const key = JSON.stringify([faults, status.lease.yours]);
  if (key === shown) return;
  shown = key;
  byId("faults").replaceChildren(...faults.map(([fault, latched]) => {
    const about = config.faults[fault.number] ?? {};
    const card = make("div", { class: "fault" },
      make("p", {}, make("strong", {}, `Fault ${fault.number}: ${fault.name}`), latched ? " (latched)" : " (recorded only)"),
      make("p", {}, `What was found: ${fault.detail}`),
      make("p", {}, `What to do: ${about.operator ?? "see the fault table"}`));
    if (latched) {
      card.append(make("button", {
        type: "button", disabled: !status.lease.yours, onclick: () => order({ type: "clear", fault: fault.number }),
      }, `Clear fault ${fault.number}`));
    }
    return card;
  }));
}

function showSetPoints(config, order) {
  const place = byId("set-points");
  if (!config.set_points.length && !config.modes.length) return;
  place.append(make("h3", {}, "Set-points"));
  for (const one of config.set_points) {
    const input = make("input", {
      type: "number", id: `set-${one.name}`, min: one.lowest, max: one.highest, step: "any", value: one.now ?? "",
    });
    const button = make("button", { type: "button" }, `Set ${one.name}`);
    button.addEventListener("click", () => order({ type: "set_point", name: one.name, value: input.valueAsNumber }));
    place.append(make("p", { class: "row" }, make("label", { for: input.id }, `${one.name} [${one.unit}]`), input, button));
  }
  if (config.modes.length) place.append(...loadControls(config, order));
}

/** Choice of the load distribution, with what its mode needs: shares of all wheels, or the wheel to unload. */
function loadControls(config, order) {
  const names = config.rover.wheels.map((one) => one.name);
  const choice = make("select", { id: "mode" }, ...config.modes.map((mode) => make("option", { value: mode.name }, mode.name.replaceAll("_", " "))));
  const wheel = make("select", { id: "unload" }, ...names.map((name) => make("option", { value: name }, name.replaceAll("_", " "))));
  const shares = names.map((name) => make("input", { type: "number", id: `share-${name}`, min: 0, max: 1, step: 0.01, value: (1 / names.length).toFixed(3) }));
  const unload = make("p", { class: "row", hidden: true }, make("label", { for: "unload" }, "Wheel to unload"), wheel);
  const share = make("p", { class: "row", hidden: true }, ...names.flatMap((name, i) => [make("label", { for: `share-${name}` }, name.replaceAll("_", " ")), shares[i]]));
  choice.addEventListener("change", () => {
    unload.hidden = choice.value !== "unload";
    share.hidden = choice.value !== "share";
  });
  const button = make("button", { type: "button" }, "Set the mode");
  confirmTwice(button, () => order({
    type: "set_loads", mode: choice.value,
    ...(choice.value === "unload" && { wheel: wheel.value }), ...(choice.value === "share" && { share: shares.map((one) => one.valueAsNumber) }),
  }));
  return [make("p", { class: "row" }, make("label", { for: "mode" }, "Wheel loads"), choice, button), unload, share];
}
