/** Runs that are over: list, figure, summary, and the force sensors around the impact. */

import { axisStyle, COLOURS, drawMarks, HEIGHT, widthIn } from "./chart.js";
import { byId, digits, make, read, row } from "./dom.js";

export function startRuns(connection) {
  let before = "";
  byId("list").addEventListener("click", list);
  byId("find-run").addEventListener("input", list);
  connection.on("status", (status) => {
    const now = `${status.runs} ${status.state === "idle"}`; // the report of a campaign is written after its last run
    if (now !== before) list();
    before = now;
  });
  list();
}

async function list() {
  const all = await read("/api/runs") ?? [];
  const wanted = byId("find-run").value.toLowerCase();
  byId("run-list").replaceChildren(...all.filter((run) => JSON.stringify(run).toLowerCase().includes(wanted)).map((run) => row(
    make("button", { type: "button", onclick: () => show(run) }, run.name),
    run.experiment ?? run.state,
    run.accepted === null || run.accepted === undefined ? run.state : run.accepted ? "accepted" : `not accepted: ${(run.reasons ?? []).join("; ")}`,
    Object.entries(run.numbers ?? {}).slice(0, 4).map(([key, value]) => `${key} ${digits(value)}`).join(", "),
  )));
}

async function show(run) {
  const address = `/api/runs/${run.name.split("/").map(encodeURIComponent).join("/")}`;
  const place = byId("one-run");
  place.replaceChildren(make("h3", {}, run.name));
  const links = [["figure.png", "Figure"], ["summary.json", "Summary"], ["report.html", "Report"]];
  place.append(make("p", {}, ...links.filter(([file]) => run.files.includes(file)).flatMap(([file, text]) => [
    make("a", { href: `${address}/${file}`, target: "_blank", rel: "noopener" }, text), " "])));
  if (run.files.includes("figure.png")) place.append(make("img", { src: `${address}/figure.png`, alt: `Figure of ${run.name}` }));
  const impact = await read(`${address}/impact`);
  if (impact) drawImpact(place, impact);
}

function drawImpact(place, impact) {
  const axis = axisStyle();
  const marks = [[impact.detected_ms, "detected", [], 14], [impact.cut_ms, "cut", [], 28]].filter(([at]) => typeof at === "number");
  const box = make("div", { class: "plot", role: "img", "aria-label": "Force sensors around the impact" });
  place.append(make("h3", {}, "Force sensors around the impact"), box);
  new uPlot({
    width: widthIn(box), height: HEIGHT, scales: { x: { time: false } },
    axes: [{ ...axis, label: "time from the impact [ms]" }, { ...axis, label: "[V]" }],
    series: [{}, ...impact.channels.map((one, i) => ({ label: one.name, stroke: COLOURS[i % COLOURS.length], width: 2 }))],
    hooks: { draw: [(chart) => drawMarks(chart, marks)] },
  }, [impact.t_ms, ...impact.channels.map((one) => one.V)], box);
}
