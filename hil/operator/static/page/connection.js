/** The WebSocket to the page server: messages by type, replies to commands; a worker says that the page lives. */

// How often the worker hears of this thread.
const PULSE_MS = 250;
// The server's code for a session that is over.
const SESSION_OVER = 4401;
const AGAIN_MS = 500;
// A server that sends nothing for 4 looks (1 s) is shown as silent; after 8 the page connects again.
const LOOK_MS = 250;
const SILENT_LOOKS = 4;
const LOST_LOOKS = 8;

export class Connection {
  constructor() {
    this.listeners = new Map();
    this.waiting = new Map();
    this.id = 0;
    this.status = null;
    this.series = [];
    this.worker = new Worker("/static/page/alive.js");
    setInterval(() => this.pulse(), PULSE_MS);
    document.addEventListener("visibilitychange", () => this.pulse());
    setInterval(() => this.look(), LOOK_MS);
    this.on("status", (status) => {
      const first = !this.status;
      this.status = status;
      if (first) this.pulse();
    });
    this.on("reply", (reply) => this.answer(reply));
  }

  /** Call `listener` with each message of a type, and the newest status at once; "open", "silent" and "closed" are of the connection. */
  on(type, listener) {
    this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener]);
    if (type === "status" && this.status) listener(this.status);
  }

  /** Tell the worker for whom it is to speak: nobody while the page is hidden or not connected. */
  pulse() {
    this.worker.postMessage(document.hidden ? null : this.status?.you ?? null);
  }

  tell(type, message) {
    for (const listener of this.listeners.get(type) ?? []) listener(message);
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/ws`);
    this.socket.onopen = () => {
      this.id = 0;
      this.subscribe(this.series);
      this.tell("open");
    };
    this.silent = 0;
    this.socket.onmessage = (event) => {
      this.silent = 0;
      const message = JSON.parse(event.data);
      this.tell(message.type, message);
    };
    this.socket.onclose = ({ code }) => (code === SESSION_OVER ? location.reload() : this.lose());
  }

  /** Count looks, not time: a page that was asleep itself has not yet read what was sent meanwhile. */
  look() {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    this.silent += 1;
    if (this.silent === SILENT_LOOKS) this.tell("silent");
    if (this.silent >= LOST_LOOKS) this.lose();
  }

  /** The connection is gone: say so, and make another one. */
  lose() {
    this.socket.onclose = this.socket.onmessage = null;
    this.socket.close(); // a server that hangs would not answer that for long
    this.status = null;
    this.pulse();
    for (const done of this.waiting.values()) done({ ok: false, lost: true, error: "the page server is gone" });
    this.waiting.clear();
    this.tell("closed");
    setTimeout(() => this.open(), AGAIN_MS);
  }

  /** Send a message; false: there is no connection. */
  send(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /** Subscribe to series of the telemetry, from now on and after each new connection. */
  subscribe(names) {
    this.series = names;
    this.send({ type: "subscribe", series: names });
  }

  /** Send a message with a number; the promise is its first reply. */
  ask(message) {
    return new Promise((done) => {
      const id = ++this.id;
      if (this.send({ ...message, id })) this.waiting.set(id, done);
      else done({ ok: false, lost: true, error: "there is no connection to the page server" });
    });
  }

  /**
   * Send a command; a stop goes over a connection of its own when there is no WebSocket, or when that one closes before
   * it answers, as it does with too many viewers.
   */
  async command(command) {
    const answer = await this.ask({ type: "command", command });
    if (command.type !== "stop" || !answer.lost) return answer;
    return fetch("/stop", { method: "POST", body: JSON.stringify(command) }).then((posted) => posted.json())
      .catch((error) => ({ ok: false, error: `there is no connection to the page server: ${error.message}` }));
  }

  answer(reply) {
    const done = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if (done) done(reply);
    if (reply.cut_ms !== null && reply.cut_ms !== undefined) this.tell("cut", reply.cut_ms);
  }
}
