/** Buttons that act once they were held for half a second: neither a click nor a double click does anything. */

import { make } from "./dom.js";

const HOLD_MS = 500;
const holding = new Map(); // the timer of each button that is held

/** End every hold that is not over: a stop was pressed. */
export function cancelHolds() {
  for (const button of [...holding.keys()]) release(button);
}

/** Act once a button was held for half a second, by a pointer or by the Enter key. The space bar is the stop. */
export function onHold(button, act) {
  button.classList.add("hold");
  button.title = "Hold for half a second";
  button.append(" ", make("small", { "aria-hidden": "true" }, "hold"));
  const press = () => {
    if (holding.has(button) || button.disabled) return;
    button.classList.add("held");
    holding.set(button, setTimeout(() => {
      release(button);
      if (!button.disabled) act();
    }, HOLD_MS));
  };
  button.addEventListener("pointerdown", (event) => { if (event.button === 0) press(); });
  button.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // no click
    if (!event.repeat) press();
  });
  button.addEventListener("contextmenu", (event) => event.preventDefault()); // of a finger that rests
  for (const name of ["pointerup", "pointerleave", "pointercancel", "keyup", "blur"]) button.addEventListener(name, () => release(button));
}

function release(button) {
  clearTimeout(holding.get(button));
  holding.delete(button);
  button.classList.remove("held");
}

addEventListener("blur", cancelHolds);
document.addEventListener("visibilitychange", cancelHolds);
