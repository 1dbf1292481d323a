/** Small helpers for elements; text is always set as text, never as HTML. */

export const byId = (id) => document.getElementById(id);

/** An element with attributes and children; `on...` attributes are listeners. */
export function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "line", "circle", "polyline", "polygon", "path", "text"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** Set a text only if it has changed, so that screen readers do not repeat it and nothing is laid out again; its node stays. */
export function setText(element, text) {
  const node = element.firstChild;
  if (!(node instanceof Text) || node.nextSibling) element.textContent = text;
  else if (node.data !== text) node.data = text;
}

/** Set those attributes that have changed; numbers to a thousandth. */
export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    const text = typeof value === "number" ? String(Math.round(1e3 * value) / 1e3) : value;
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** Act when a button is pressed, not when it is released; and on a click without a press, as keys and assistive technology make it. */
export function onPress(button, act) {
  let pressed = null; // the pointer whose press has been acted on: its click is the same press
  button.addEventListener("pointerdown", ({ pointerId }) => {
    pressed = pointerId;
    act();
  });
  button.addEventListener("click", ({ pointerId }) => {
    if (pressed === null || pointerId !== pressed) act();
    pressed = null;
  });
}

/** A table row of texts and elements. */
export const row = (...cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell)));

// What rounding leaves of a zero.
const ZERO = 1e-9;
// Decimals by unit: as many as an operator can use, so that a number keeps its length.
const DECIMALS = {
  J: 3, "m/s": 3, m: 3, s: 1, N: 1, Nm: 1, "N m": 1, V: 3, A: 2, Pa: 0, kPa: 1, rad: 3, "rad/s": 3, "rad/s^2": 2, deg: 1, mm: 1, ms: 1, ns: 0,
};

/** A number for people, with the decimals of its unit and without the sign of a zero; of another unit as `digits`. */
export function quantity(value, unit) {
  if (!(unit in DECIMALS) || typeof value !== "number" || !Number.isFinite(value)) return digits(value);
  const text = value.toFixed(DECIMALS[unit]);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

/** A number for people: four digits, with a power of ten where that is shorter, or a dash. */
export function digits(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "-";
  if (Math.abs(value) < ZERO) return "0";
  return Math.abs(value) < 1e7 ? String(Number(value.toPrecision(4))) : value.toExponential(3);
}

/** Address of a run, of its files, and of what is read from its record. */
export const runOf = (name) => `/api/runs/${name.split("/").map(encodeURIComponent).join("/")}`;
export const recordOf = (name) => `${runOf(name)}/record`;

/** Time of day of a Unix time [s], or other words where there is none. */
export const timeOf = (t, otherwise) => (t ? new Date(t * 1e3).toLocaleTimeString() : otherwise);

/** JSON of an address of this server; null: there is none. */
export async function read(address) {
  const answer = await fetch(address);
  if (answer.status === 401) location.reload();
  return answer.ok ? answer.json() : null;
}
