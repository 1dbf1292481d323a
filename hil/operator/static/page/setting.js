/** A drawing of what to set for a trial: inclination of the obstacle, feet of its links, height of the sensors; all in words, too. */

import { make } from "./dom.js";

// Of the drawing, per metre and in its own units; the longest frame, at 10 degrees, is 1.1 m long.
const SCALE = 230;
const [WIDE, HIGH, GROUND_Y, LEFT, ARC] = [440, 186, 140, 12, 28];
const [LETTERS_HIGH, GAP] = [11, 6];
const NOT_IN_WORDS = ["number", "frame"];

/** Settings of a trial in words. */
export const inWords = (trial) => Object.entries(trial).filter(([key, value]) => value !== null && !NOT_IN_WORDS.includes(key))
  .map(([key, value]) => {
    const [, name, unit] = key.match(/^(.*?)(?:_(deg|kg|mps|m|mm|N|kPa|s))?$/);
    return [name.replaceAll("_", " "), value, unit === "mps" ? "m/s" : unit].filter((word) => word !== undefined).join(" ");
  }).join(", ");

/** SVG of a trial; null: it has no frame to draw. */
export function drawSetting(trial) {
  const { frame, angle_deg: angle } = trial;
  if (!frame || typeof angle !== "number") return null;
  const rad = angle * Math.PI / 180;
  const [plate, feet, radius, height] = [frame.plate_m, frame.feet_m, frame.wheel_radius_m, frame.sensor_height_m ?? 0].map((one) => one * SCALE);
  const touching = radius * Math.tan(rad / 2); // of a wheel that touches the plate: its centre to the plate's foot, along the ground
  const foot = LEFT + radius + touching;
  const [tip, rear] = [{ x: foot + plate * Math.cos(rad), y: GROUND_Y - plate * Math.sin(rad) }, foot + feet];
  const arc = Array.from({ length: 13 }, (_, i) => i / 12 * rad).map((one) => `${foot + ARC * Math.cos(one)},${GROUND_Y - ARC * Math.sin(one)}`);
  // the angle's words: over the line of the sensors, beside the plate, where the links leave room at 90 degrees, too
  const [up, beside] = [height + GAP, (height + GAP + LETTERS_HIGH) / Math.tan(rad) + GAP];
  const [apart, high] = [`feet ${frame.feet_m.toFixed(3)} m apart`, `sensors ${Math.round(1e3 * frame.sensor_height_m)} mm`];
  const measures = frame.sensor_height_m === null ? apart : `${high} over the ground, ${apart}`;
  const svg = make("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "setting", role: "img", "aria-label": `Set: ${inWords(trial)}; ${measures}` },
    make("line", { class: "pipe", x1: 0, x2: WIDE, y1: GROUND_Y, y2: GROUND_Y }),
    make("circle", { class: "wheel", cx: LEFT + radius, cy: GROUND_Y - radius, r: radius }),
    make("line", { class: "pipe", x1: tip.x, y1: tip.y, x2: rear, y2: GROUND_Y }),
    make("line", { class: "plate", x1: foot, y1: GROUND_Y, x2: tip.x, y2: tip.y }),
    make("polyline", { class: "measure", points: arc.join(" ") }),
    make("text", { x: foot + beside, y: GROUND_Y - up }, `${angle}\u00b0`),
    ...measure(foot, rear, GROUND_Y + 16),
    make("text", { x: (foot + rear) / 2, y: GROUND_Y + 36, class: "middle" }, apart),
  );
  if (frame.sensor_height_m === null) return svg;
  const [x, y, side] = [foot + height / Math.tan(rad), GROUND_Y - height, rear + 16];
  svg.append(
    make("line", { class: "measure", x1: x, y1: y, x2: side + 5, y2: y }),
    make("line", { class: "measure", x1: side, y1: y, x2: side, y2: GROUND_Y }),
    make("circle", { class: "sensor", cx: x, cy: y, r: 5 }),
    make("text", { x: side, y: y - GAP }, high),
  );
  return svg;
}

/** A line with a stroke at each end. */
const measure = (from, to, y) => [[from, to, y, y], [from, from, y - 5, y + 5], [to, to, y - 5, y + 5]]
  .map(([x1, x2, y1, y2]) => make("line", { class: "measure", x1, x2, y1, y2 }));
