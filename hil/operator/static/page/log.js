/** Events and messages, newest first. */

import { byId, digits, row } from "./dom.js";

const MOST = 500;

export function startLog(connection) {
  const lines = [];
  const draw = () => {
    const wanted = byId("find-line").value.toLowerCase();
    byId("lines").replaceChildren(...lines
      .filter((line) => line.join(" ").toLowerCase().includes(wanted)).slice(0, 200).map((line) => row(...line)));
  };
  const add = (t, who, text) => {
    lines.unshift([new Date(t * 1000).toLocaleTimeString(), who, text]);
    lines.length = Math.min(lines.length, MOST);
    draw();
  };
  connection.on("open", () => { lines.length = 0; });
  connection.on("log", ({ t, who, text }) => add(t, who, text));
  connection.on("event", ({ t, name, id, value, limit, detail }) => {
    const numbers = [["value", value], ["limit", limit]].filter(([, one]) => typeof one === "number").map(([word, one]) => `${word} ${digits(one)}`);
    add(t, id ? `fault ${id}` : "event", [name, detail, ...numbers].filter(Boolean).join(", "));
  });
  byId("find-line").addEventListener("input", draw);
}
