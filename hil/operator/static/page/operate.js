/** Lease, who asks for it, arming and start, faults with what to do, set-points and modes. */

import { startChecks } from "./checks.js";
import { STEPS } from "./display.js";
import { byId, make, row, setText, timeOf } from "./dom.js";
import { onHold } from "./hold.js";

// A request for the lease is shown to its holder for 5 s; it is repeated while this page waits.
const ASK_AGAIN_MS = 2000;
const BUTTONS = ["lease", "arm", "start"];

export function startOperate(connection, config, display) {
  const complain = (reply) => setText(byId("asked"), reply.ok ? "" : reply.error);
  const order = (command) => connection.command(command).then(complain);
  const change = (act) => connection.ask({ type: "lease", do: act }).then(complain);
  let [lease, last] = [null, null]; // null: not known; the newest status
  let asking = null; // whom

  byId("lease").addEventListener("click", () => {
    asking = lease?.holder && !lease.yours && asking !== lease.holder ? lease.holder : null;
    if (asking) change("ask");
    else if (lease?.yours) change("release");
    else if (!lease?.holder) change("take");
    if (lease) showLease(lease, asking);
  });
  setInterval(() => asking && change("ask"), ASK_AGAIN_MS);
  byId("give").addEventListener("click", () => change("give"));
  onHold(byId("arm"), () => order({ type: "arm" }));
  onHold(byId("start"), () => order({ type: "start" }));
  byId("safe").addEventListener("click", () => order({ type: "e_stop", reason: "page" }));
  showSetPoints(config, order);
  const showFaults = startFaults(config, order);
  startChecks(display);

  display.on((shown, status) => {
    lease = shown.known ? status.lease : null;
    const next = nextStep(shown.kind, status, lease);
    byId("lease").disabled = !lease;
    byId("arm").disabled = !lease?.yours || isBusy(shown.kind, status);
    byId("start").disabled = !lease?.yours || shown.kind !== "armed";
    for (const name of BUTTONS) byId(name).classList.toggle("primary", name === next);
    if (lease) {
      if (lease.yours || lease.holder !== asking) asking = null;
      showLease(lease, asking);
    }
    last = status?.faults ? status : last;
    if (last) showFaults(shown, last);
  });
}

/** Whether hil operate would refuse an arming, or a run goes on that hears none. */
const isBusy = (kind, status) => ["armed", "running"].includes(kind) || status?.state in STEPS;

/** The step that comes next: its button is the large one. None: only a stop makes sense, the rig is busy, or a campaign asks. */
function nextStep(kind, status, lease) {
  if (lease && !lease.yours) return "lease";
  if (kind === "idle") return ["idle", "closed"].includes(status.state) && !status.running ? "arm" : null;
  return kind === "armed" && !status.question ? "start" : null;
}

function showLease(lease, asking) {
  setText(byId("lease"), lease.yours ? "Release the lease"
    : asking ? `Waiting for ${asking}: cancel`
      : lease.holder ? `Ask ${lease.holder} for the lease` : "Take the lease");
  setText(byId("asker"), lease.asked_by ? `${lease.asked_by} asks ${lease.yours ? "you" : lease.holder} for the lease.` : "");
  byId("request").hidden = !lease.asked_by;
  byId("give").hidden = !lease.yours;
}

/** The faults as a list of alarms: time, number, cause, what to look at, and their end. Returns what shows those of a status. */
function startFaults(config, order) {
  let before = "";
  return (shown, { faults, warnings, fault_times: times, lease }) => {
    const all = [...faults.map((one) => [one, true]), ...warnings.map((one) => [one, false])];
    const reason = !shown.known ? "not possible: the state is not known" : lease.yours ? "" : "not possible: take the lease first";
    const key = JSON.stringify([all, times, reason]);
    if (key === before) return;
    before = key;
    byId("alarms").hidden = !all.length;
    byId("faults").replaceChildren(...all.map(([fault, latched]) => {
      const about = config.faults[fault.number] ?? {};
      const clear = make("button", { type: "button", disabled: Boolean(reason), onclick: () => order({ type: "clear", fault: fault.number }) }, `Clear fault ${fault.number}`);
      const line = row(
        timeOf(times?.[fault.number], "earlier"), // of a fault that was there before the page server nobody knows
        make("strong", {}, `Fault ${fault.number}`),
        make("span", {}, make("strong", {}, fault.name), ` ${fault.detail}`),
        about.operator ?? "see the fault table",
        latched ? make("span", {}, clear, reason && make("small", {}, ` ${reason}`)) : "recorded only: nothing to clear",
      );
      line.className = latched ? "latched" : "";
      return line;
    }));
  };
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
  onHold(button, () => order({
    type: "set_loads", mode: choice.value,
    ...(choice.value === "unload" && { wheel: wheel.value }), ...(choice.value === "share" && { share: shares.map((one) => one.valueAsNumber) }),
  }));
  return [make("p", { class: "row" }, make("label", { for: "mode" }, "Wheel loads"), choice, button), unload, share];
}
