/** State and stop, always in view. */

import { byId, onPress, setText } from "./dom.js";
import { cancelHolds } from "./hold.js";

export function startBar(connection, display) {
  const stop = (how) => {
    const answer = connection.command({ type: "stop", reason: how }); // before all else
    cancelHolds();
    answer.then(display.stopSent());
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
  // the space bar stops, whatever has the focus: so Enter ticks a box
  document.addEventListener("keydown", ({ key, repeat, target }) => {
    if (key === "Enter" && !repeat && target instanceof HTMLInputElement && target.type === "checkbox") target.click();
  });
  display.on(show);
}

function inTextField(target) {
  return target instanceof HTMLTextAreaElement
    || (target instanceof HTMLInputElement && ["text", "search", "number", "password"].includes(target.type));
}

function show(shown, status) {
  byId("bar").dataset.kind = shown.kind;
  document.body.classList.toggle("stale", !shown.known);
  setText(byId("armed"), shown.word);
  setText(byId("state"), shown.detail);
  setText(byId("message"), shown.message);
  setText(byId("cut"), shown.stop.text);
  byId("cut").classList.toggle("failed", shown.stop.failed);
  setText(byId("age"), shown.data.text);
  byId("age").classList.toggle("bad", shown.data.old);
  if (!status) return;
  setText(byId("holder"), status.lease.yours ? "you" : status.lease.holder || "nobody");
  setText(byId("run"), status.run?.split("/").pop() || "-");
  setText(byId("you"), status.you ?? "-");
}
