/** Runs that are over: list, figure, summary, exports, comparison, and the force sensors around the impact. */

import { axisStyle, bodyColours, COLOURS, drawMarks, HEIGHT, widthIn } from "./chart.js";
import { annotationForm } from "./annotation.js";
import { byId, digits, make, read, recordOf, row, runOf } from "./dom.js";
import { drawEvery } from "./draw.js";

const EXPORTS = ["mat", "tdms", "mcap"];

/** `onList` is called with the runs whenever they are read, `onShow` with one that is opened; `replay` shows one again. */
export function startRuns(connection, config, onList, onShow, replay) {
  let [before, all, drawn, opened, asked] = ["", [], true, null, 0];
  const open = (run) => {
    opened = run;
    show(run, all, replay, draw);
    onShow(run);
  };
  const draw = () => { drawn = false; };
  const list = async () => {
    const number = ++asked;
    const found = await read("/api/runs") ?? [];
    if (number !== asked) return; // a newer list is on its way
    all = found;
    draw();
    const now = all.find((run) => run.name === opened?.name);
    if (now && String(now.files) !== String(opened.files)) open(now); // its report is there now
    onList(all);
  };
  byId("list").addEventListener("click", list);
  byId("find-run").addEventListener("input", draw);
  drawEvery(1, function* () {
    if (drawn) return;
    drawn = true;
    yield* drawList(all, open, config.main_numbers ?? {});
  });
  connection.on("status", (status) => {
    const now = `${status.runs} ${status.state === "idle"}`; // the report of a campaign is written after its last run
    if (now !== before) list();
    before = now;
  });
}

function* drawList(all, open, main) {
  const wanted = byId("find-run").value.toLowerCase();
  const rows = [];
  for (const run of all) {
    if (!JSON.stringify(run).toLowerCase().includes(wanted)) continue;
    rows.push(row(
      make("button", { type: "button", onclick: () => open(run) }, run.name),
      run.experiment ?? run.state,
      run.accepted === null || run.accepted === undefined ? run.state : run.accepted ? "accepted" : `not accepted: ${(run.reasons ?? []).join("; ")}`,
      run.operator ? [run.operator.verdict, run.operator.word].filter(Boolean).join(": ") : "-",
      make("span", { class: "note-of-run" }, ...(run.tags ?? []).map((tag) => make("span", { class: "tag" }, tag)), run.note ?? ""),
      make("ul", { class: "numbers-of-run" }, ...shortOf(run, main[run.experiment] ?? [])),
    ));
    yield;
  }
  byId("run-list").replaceChildren(...rows);
}

/** Whether a run counts: the rules accept it, and no operator has said that it is to be repeated. */
export const counts = (run) => Boolean(run.accepted) && run.operator?.verdict !== "repeat";

const numbersOf = (run) => Object.fromEntries(Object.entries(run.numbers ?? {}).filter(([, value]) => typeof value === "number"));

/** The numbers that a verdict on the run shows, too, with the same names; of an experiment that names none, the first. */
function shortOf(run, main) {
  const numbers = numbersOf(run);
  if (main.length) {
    return main.filter(([key]) => key in numbers).map(([key, name, unit, places]) => make("li", {}, `${name} ${numbers[key].toFixed(places)} ${unit}`));
  }
  return Object.entries(numbers).slice(0, 4)
    .map(([key, value]) => make("li", {}, ...key.split(/(?<=_)/).flatMap((part) => [part, make("wbr")]), ` ${digits(value)}`));
}

async function show(run, all, replay, changed) {
  const address = runOf(run.name);
  const place = byId("one-run");
  const title = make("h3", {}, run.name);
  place.replaceChildren(title);
  const files = [["figure.png", "Figure"], ["summary.json", "Summary"], ["report.html", "Report"]].filter(([file]) => run.files.includes(file));
  const links = files.map(([file, text]) => make("a", { href: `${address}/${file}`, target: "_blank", rel: "noopener" }, text));
  const exports = run.state === "done" ? EXPORTS.map((to) => make("a", { href: `${recordOf(run.name)}/${to}` }, `Export ${to}`)) : [];
  place.append(make("p", { class: "row" }, ...links, ...exports), annotationForm(run, changed));
  if (run.state === "done") place.append(make("button", { type: "button", onclick: () => replay.show(run.name) }, "Replay"));
  if (run.files.includes("figure.png")) place.append(make("img", { src: `${address}/figure.png`, alt: `Figure of ${run.name}` }));
  if (run.state === "done") place.append(comparison(run, all));
  const impact = run.state === "done" ? await read(`${recordOf(run.name)}/impact`) : null;
  if (impact && place.firstChild === title) drawImpact(place, impact); // nothing else was opened since, nor this run again
}

/** Numbers of a run beside those of another one, with the difference. */
function comparison(run, all) {
  const others = all.filter((other) => other.state === "done" && other.name !== run.name);
  const rows = make("tbody", {});
  const choice = make("select", { id: "other-run" }, make("option", { value: "" }, "none"), ...others.map((one) => make("option", {}, one.name)));
  choice.addEventListener("change", () => {
    const other = others.find((one) => one.name === choice.value);
    const [first, second] = [numbersOf(run), other ? numbersOf(other) : {}];
    table.hidden = !other;
    rows.replaceChildren(...Object.keys(first).filter((key) => key in second).map((key) => row(
      key, digits(first[key]), digits(second[key]), digits(second[key] - first[key]))));
  });
  const table = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Comparison", hidden: true },
    make("table", {}, make("thead", {}, make("tr", {}, ...["Number", "This run", "Other run", "Difference"].map((head) => make("th", {}, head)))), rows));
  return make("div", {}, make("p", { class: "row" }, make("label", { for: "other-run" }, "Compare with"), choice), table);
}

function drawImpact(place, impact) {
  const colours = bodyColours();
  const axis = axisStyle(colours[0]);
  const marks = [[impact.detected_ms, "detected", []], [impact.cut_ms, "cut", []]].filter(([at]) => typeof at === "number");
  const box = make("div", { class: "plot", role: "img", "aria-label": "Force sensors around the impact" });
  place.append(make("h3", {}, "Force sensors around the impact"), box);
  new uPlot({
    width: widthIn(box), height: HEIGHT, scales: { x: { time: false } },
    axes: [{ ...axis, label: "time from the impact [ms]" }, { ...axis, label: "[V]" }],
    series: [{}, ...impact.channels.map((one, i) => ({ label: one.name, stroke: COLOURS[i % COLOURS.length], width: 2 }))],
    hooks: { draw: [(chart) => drawMarks(chart, marks, colours)] },
  }, [impact.t_ms, ...impact.channels.map((one) => one.V)], box);
}
