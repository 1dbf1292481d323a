/** The drawing of all views, in pieces: between two pieces the browser handles presses and messages. */

// Between two rounds of drawing, and the time after which a piece ends [ms].
const ROUND_MS = 100;
const PIECE_MS = 4;

const views = [];
let [round, drawing] = [0, null]; // the drawing that goes on; null: none

/** Draw a view every so many rounds, while the page is in view. `draw` is a generator function: it yields wherever a piece may end. */
export function drawEvery(rounds, draw) {
  if (!views.length) setInterval(drawRound, ROUND_MS);
  views.push({ rounds, draw });
}

/** Draw all views now, whatever their rounds; the promise ends once all of them show what the page knew when it was called. */
export async function drawAll() {
  while (drawing) await drawing;
  if (!document.hidden) await draw(views);
}

function drawRound() {
  if (drawing || document.hidden) return;
  round += 1;
  draw(views.filter((view) => round % view.rounds === 0));
}

function draw(some) {
  drawing = inPieces(some).finally(() => { drawing = null; });
  return drawing;
}

async function inPieces(some) {
  let began = performance.now();
  for (const { draw: pieces } of some) {
    try {
      for (const _ of pieces()) {
        if (performance.now() - began < PIECE_MS) continue;
        await new Promise((done) => setTimeout(done));
        began = performance.now();
      }
    } catch (error) {
      reportError(error); // the other views are drawn all the same
    }
  }
}

document.addEventListener("visibilitychange", drawAll); // a page that comes back into view shows nothing old
