/** State and stop, always in view. */

import { byId, digits, onPress, setText } from "./dom.js";

const STALE_S = 1.0;

export function startBar(connection) {
  const stop = (how) => {
    const answer = connection.command({ type: "stop", reason: how }); // before all else
    setText(byId("cut"), "stop is sent ...");
    answer.then((reply) => {
      setText(byId("cut"), reply.ok ? "stop accepted" : `STOP FAILED: ${reply.error}. Use the emergency stop.`);
    });
  };
  onPress(byId("stop"), () => stop("button"));
  document.addEventListener("keydown", (event) => {
    const space = event.key === " ";
    if (event.key !== "Escape" && !(space && !inTextField(event.target))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!event.repeat) stop(space ? "space bar" : "Escape");
  }, true);
  document.addEventListener("keyup", (event) => {
    if (event.key === " " && !inTextField(event.target)) event.preventDefault();
  }, true);

  connection.on("cut", (ms) => setText(byId("cut"), `drives cut, confirmed ${digits(ms)} ms after the stop arrived`));
  connection.on("silent", () => {
    document.body.classList.add("stale");
    setText(byId("age"), "over 1 s OLD: the page server is silent");
  });
  connection.on("closed", () => show(null));
  connection.on("status", show);
}

function inTextField(target) {
  return target instanceof HTMLTextAreaElement
    || (target instanceof HTMLInputElement && ["text", "search", "number", "password"].includes(target.type));
}

function show(status) {
  const badge = byId("armed");
  const age = status?.telemetry_age_s ?? null;
  const lost = !status || status.command_server === false;
  document.body.classList.toggle("stale", lost || age === null || age > STALE_S);
  if (!status) {
    badge.className = "badge";
    setText(badge, "unknown");
    setText(byId("state"), "no connection to the page server");
    setText(byId("age"), "none: what is shown is old");
    return;
  }
  const kind = status.safe ? "safe" : status.armed ? "armed" : "idle";
  badge.className = `badge ${kind}`;
  setText(badge, status.safe ? "Safe, latched" : status.armed ? "ARMED" : "not armed");
  setText(byId("state"), lost ? "hil operate does not answer" : status.state.replaceAll("_", " "));
  setText(byId("message"), status.message);
  setText(byId("holder"), status.lease.yours ? "you" : status.lease.holder || "nobody");
  setText(byId("age"), age === null ? "none yet" : age > STALE_S ? `${age.toFixed(0)} s OLD` : "fresh");
  setText(byId("run"), status.run.split("/").pop() || "-");
  setText(byId("you"), status.you ?? "-");
}
