// The socket: it comes back by itself, and says so.

const FIRST_WAIT = 300;
const LONGEST_WAIT = 8000;
/** A connection that lasted so long was a good one. */
const GOOD = 5000;

export class Connection {
  #socket = null;
  #wait = FIRST_WAIT;
  #timer = 0;

  /** `hear` gets each message of the server, `lost` the reason when the connection ends. */
  constructor({ hear, lost }) {
    this.hear = hear;
    this.lost = lost;
    addEventListener("online", () => this.#again());
    this.#connect();
  }

  get open() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Sends a message; false where there is no connection. */
  send(message) {
    if (!this.open) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  #connect() {
    const socket = new WebSocket(new URL("socket", location.href.replace(/^http/, "ws")));
    this.#socket = socket;
    const began = performance.now();
    socket.addEventListener("message", (event) => this.hear(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => {
      if (socket !== this.#socket) return;
      if (performance.now() - began > GOOD) this.#wait = FIRST_WAIT;
      this.lost(event.reason);
      this.#timer = setTimeout(() => this.#connect(), this.#wait);
      this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT);
    });
  }

  #again() {
    if (this.open) return;
    clearTimeout(this.#timer);
    this.#connect();
  }
}
