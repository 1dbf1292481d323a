/** A drawing of what to set for a trial: the inclination of the obstacle, and its other settings in words. */

import { make } from "./dom.js";

const [WIDE, HIGH, LONG, FOOT_X, GROUND_Y, ARC] = [220, 130, 95, 90, 112, 34];

/** Settings of a trial in words. */
export const inWords = (trial) => Object.entries(trial).filter(([key]) => key !== "number")
  .map(([key, value]) => `${key.replaceAll("_", " ")} ${value}`).join(", ");

/** SVG of a trial; null: it has no angle to draw. */
export function drawSetting(trial) {
  const angle = trial.angle_deg;
  if (typeof angle !== "number") return null;
  const rad = angle * Math.PI / 180;
  const end = (length) => ({ x: FOOT_X + length * Math.cos(rad), y: GROUND_Y - length * Math.sin(rad) });
  const tip = end(LONG);
  const arc = Array.from({ length: 13 }, (_, i) => i / 12 * rad).map((one) => `${FOOT_X + ARC * Math.cos(one)},${GROUND_Y - ARC * Math.sin(one)}`);
  return make("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "setting", role: "img", "aria-label": `Set: ${inWords(trial)}` },
    make("line", { class: "pipe", x1: 0, x2: WIDE, y1: GROUND_Y, y2: GROUND_Y }),
    make("circle", { class: "wheel", cx: FOOT_X - 42, cy: GROUND_Y - 26, r: 26 }),
    make("polyline", { class: "pipe", points: arc.join(" ") }),
    make("line", { class: "plate", x1: FOOT_X, y1: GROUND_Y, x2: tip.x, y2: tip.y }),
    make("text", { x: FOOT_X + ARC + 8, y: GROUND_Y - 10 }, `${angle} deg`));
}
