/** A worker that says for its page that it lives, so that a page that draws for long does not lose its lease. */

const ALIVE_MS = 100;
const AGAIN_MS = 500;
// A page whose own thread has not run for so long could not stop anything: then nothing is said for it.
const HANGS_MS = 2000;
let [viewer, socket, heard, closed] = [null, null, 0, 0];

/** The page says who it is while it is in view and connected; else null, or nothing. */
onmessage = ({ data }) => {
  heard = performance.now();
  if (data === viewer) return;
  viewer = data;
  socket?.close();
  socket = null;
  closed = 0;
};

function open() {
  socket = new WebSocket(`${location.origin.replace("http", "ws")}/alive/${encodeURIComponent(viewer)}`);
  socket.onclose = ({ target }) => {
    if (target !== socket) return;
    socket = null;
    closed = performance.now();
  };
}

// Signs are sent whether or not the page holds the lease: then none is missing just after it was taken.
setInterval(() => {
  const now = performance.now();
  if (viewer === null || now - heard > HANGS_MS) return;
  if (socket === null && now - closed > AGAIN_MS) open();
  else if (socket?.readyState === WebSocket.OPEN) socket.send("alive");
}, ALIVE_MS);
