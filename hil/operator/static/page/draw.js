/** The drawing of all views, in pieces: between two pieces the browser handles presses and messages. */

// Between two rounds of drawing, and the time after which a piece ends [ms].
const ROUND_MS = 100;
const PIECE_MS = 4;

const views = [];
let [round, drawing] = [0, false];

/** Draw a view every so many rounds, while the page is in view. `draw` is a generator function: it yields wherever a piece may end. */
export function drawEvery(rounds, draw) {
  if (!views.length) setInterval(drawRound, ROUND_MS);
  views.push({ rounds, draw });
}

async function drawRound() {
  if (drawing || document.hidden) return;
  drawing = true;
  round += 1;
  let began = performance.now();
  for (const { draw } of views.filter((view) => round % view.rounds === 0)) {
    try {
      for (const _ of draw()) {
        if (performance.now() - began < PIECE_MS) continue;
        await new Promise((done) => setTimeout(done));
        began = performance.now();
      }
    } catch (error) {
      reportError(error); // the other views are drawn all the same
    }
  }
  drawing = false;
}
