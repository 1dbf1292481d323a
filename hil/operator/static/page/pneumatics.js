/** The pneumatics: supply, regulator, valves and the two chambers of each cylinder, with valve commands and pressures. */

import { byId, make, setAttributes, setText } from "./dom.js";

const [WIDE, HIGH] = [220, 206];
const CHAMBER = { extend: { x: 20, width: 70 }, retract: { x: 96, width: 70 } };
const [PISTON_X, CHAMBER_Y, CHAMBER_HIGH] = [90, 120, 40];
const WORDS = { true: "supply", false: "vented" };
const kPa = (value) => (value === null ? "- kPa" : `${(value / 1000).toFixed(0)} kPa`);

export function startPneumatics(config, newest) {
  const series = new Set(config.series.map((one) => one.name));
  const drawings = config.cylinders.map((cylinder) => new Drawing(cylinder, config.supply_kPa, series));
  byId("pneumatics").append(...drawings.map((one) => one.svg));
  return function* () {
    for (const one of drawings) {
      one.show(newest);
      yield;
    }
  };
}

class Drawing {
  constructor({ name, ways, regulator }, supply, series) {
    this.supply = supply * 1000;
    const label = name.replaceAll("_", " ");
    this.svg = make("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "cylinder", role: "img" });
    this.label = label;
    this.text(`cylinder ${label}`, 10, 14, "title");
    this.pipe(10, 28, 206, 28);
    this.text(`${supply.toFixed(0)} kPa`, 206, 14, "end");
    this.regulator = regulator && series.has(`regulator_Pa/${regulator}`) ? this.addRegulator(`regulator_Pa/${regulator}`) : null;
    this.chambers = ["extend", "retract"].map((way) => this.addChamber(`${name}_${way}`, way, ways.includes(way), series));
    this.svg.append(make("rect", { class: "piston", x: PISTON_X, y: CHAMBER_Y, width: 6, height: CHAMBER_HIGH }),
      make("rect", { class: "piston", x: PISTON_X + 6, y: CHAMBER_Y + CHAMBER_HIGH / 2 - 3, width: 112, height: 6 }));
  }

  addRegulator(name) {
    this.svg.append(make("circle", { class: "part", cx: 190, cy: 28, r: 9 }));
    return { name, text: this.text("", 206, 50, "end") };
  }

  addChamber(name, way, valve, series) {
    const { x, width } = CHAMBER[way];
    const middle = x + width / 2;
    this.pipe(middle, 28, middle, 54);
    this.pipe(middle, 84, middle, CHAMBER_Y);
    const box = make("rect", { class: "part", x: middle - 30, y: 54, width: 60, height: 30, rx: 3 });
    this.svg.append(box);
    const state = this.text(valve ? "-" : "no valve", middle, 73, "middle");
    const gas = make("rect", { class: "gas", x, y: CHAMBER_Y, width, height: CHAMBER_HIGH });
    this.svg.append(gas, make("rect", { class: "wall", x, y: CHAMBER_Y, width, height: CHAMBER_HIGH }));
    this.text(way, middle, CHAMBER_Y + CHAMBER_HIGH + 16, "middle");
    const pressure = this.text("", middle, CHAMBER_Y + CHAMBER_HIGH + 32, "middle");
    return {
      way, box, state, gas, pressure,
      valve: valve && series.has(`valves/${name}`) ? `valves/${name}` : null,
      series: series.has(`pressure_Pa/${name}`) ? `pressure_Pa/${name}` : null,
    };
  }

  pipe(x1, y1, x2, y2) {
    this.svg.append(make("line", { class: "pipe", x1, y1, x2, y2 }));
  }

  text(words, x, y, anchor) {
    const text = make("text", { x, y, class: anchor }, words);
    this.svg.append(text);
    return text;
  }

  show(newest) {
    const said = this.chambers.map((chamber) => {
      const [command, pressure] = [chamber.valve, chamber.series].map((name) => (name ? newest.of(name) : null));
      const powered = command === null ? null : command > 0;
      if (chamber.valve) setText(chamber.state, powered === null ? "-" : WORDS[powered]);
      chamber.box.classList.toggle("powered", powered === true);
      setAttributes(chamber.gas, { "fill-opacity": Math.min(1, Math.max(0, (pressure ?? 0) / this.supply)) });
      setText(chamber.pressure, kPa(pressure));
      return `${chamber.way}: ${powered === null ? "not known" : WORDS[powered]}, ${kPa(pressure)}`;
    });
    if (this.regulator) setText(this.regulator.text, kPa(newest.of(this.regulator.name)));
    setAttributes(this.svg, { "aria-label": `Cylinder ${this.label}, ${said.join("; ")}` });
  }
}
