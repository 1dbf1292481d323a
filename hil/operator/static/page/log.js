/** Events and messages, newest first. */

import { byId, digits, row } from "./dom.js";
import { drawEvery } from "./draw.js";

const MOST = 500;
const MOST_SHOWN = 200;

/** Date and time of this place, with milliseconds. */
function stamp(t) {
  const at = new Date(t * 1000);
  return new Date(at - 60_000 * at.getTimezoneOffset()).toISOString().slice(0, 23).replace("T", " ");
}

export function startLog(connection) {
  const lines = [];
  let added = 0; // since they were shown
  const rows = (some) => {
    const wanted = byId("find-line").value.toLowerCase();
    return some.filter((line) => line.join(" ").toLowerCase().includes(wanted)).slice(0, MOST_SHOWN).map((line) => row(...line));
  };
  const showAll = () => {
    added = 0;
    byId("lines").replaceChildren(...rows(lines));
  };
  const add = (t, who, text) => {
    lines.unshift([stamp(t), who, text]);
    lines.length = Math.min(lines.length, MOST);
    added += 1;
  };
  connection.on("open", () => {
    lines.length = 0;
    showAll();
  });
  connection.on("log", ({ t, who, text }) => add(t, who, text));
  connection.on("event", ({ t, virtual_s: virtual, name, id, value, limit, detail }) => {
    const given = ([, one]) => typeof one === "number" && (id || one); // an event that is no fault says 0 for what it does not have
    const numbers = [["value", value], ["limit", limit]].filter(given).map(([word, one]) => `${word} ${digits(one)}`);
    add(t, id ? `fault ${id}` : "event", [name, detail, ...numbers, typeof virtual === "number" && `at ${virtual.toFixed(3)} s of simulated time`].filter(Boolean).join(", "));
  });
  byId("find-line").addEventListener("input", showAll);
  drawEvery(2, function* () {
    if (!added) return;
    byId("lines").prepend(...rows(lines.slice(0, added)));
    added = 0;
    while (byId("lines").rows.length > MOST_SHOWN) byId("lines").lastElementChild.remove();
    yield;
  });
}
