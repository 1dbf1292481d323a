/** The WebSocket to the page server: messages by type, replies to commands, the heartbeat of the lease. */

const ALIVE_MS = 150;
const AGAIN_MS = 500;

export class Connection {
  constructor() {
    this.listeners = new Map();
    this.waiting = new Map();
    this.id = 0;
    this.holds = false;
    this.status = null;
    this.series = [];
    setInterval(() => this.holds && this.send({ type: "alive" }), ALIVE_MS);
    this.on("status", (status) => {
      this.status = status;
      this.holds = status.lease.yours;
    });
    this.on("reply", (reply) => this.answer(reply));
  }

  /** Call `listener` with each message of a type, and the newest status at once; "open" and "closed" are of the connection. */
  on(type, listener) {
    this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener]);
    if (type === "status" && this.status) listener(this.status);
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
    this.socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      this.tell(message.type, message);
    };
    this.socket.onclose = () => {
      this.holds = false;
      this.status = null;
      for (const done of this.waiting.values()) done({ ok: false, error: "the page server is gone" });
      this.waiting.clear();
      this.tell("closed");
      setTimeout(() => this.open(), AGAIN_MS);
    };
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
      else done({ ok: false, error: "there is no connection to the page server" });
    });
  }

  command(command) {
    return this.ask({ type: "command", command });
  }

  answer(reply) {
    const done = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if (done) done(reply);
    if (reply.cut_ms !== null && reply.cut_ms !== undefined) this.tell("cut", reply.cut_ms);
  }
}
