// Stepping through a game: however fast that is asked for, one message is under way at a time.

export class Steps {
  #view = null;
  #wish = null;
  #waits = false;
  #sent = -Infinity;
  #timer = 0;

  /** `send` a message; it returns false where there is no connection. */
  constructor(send) {
    this.send = send;
  }

  /** Goes to the position after `ply` actions; a newer wish takes the place of one that waits. */
  go(ply) {
    if (!this.#view) return;
    const end = this.#view.record.actions?.length ?? 0;
    this.#wish = Math.max(0, Math.min(end, ply));
    this.#next();
  }

  /** Goes so many actions on from the position that was wished for last. */
  step(by) {
    if (this.#view) this.go((this.#wish ?? this.#view.ply) + by);
  }

  /** A view is there, which answers what is under way. */
  follow(view) {
    if (view.id !== this.#view?.id) this.drop();
    this.#view = view;
    this.#waits = false;
    this.#next();
  }

  /** Wishes for nothing more: the server has refused something, or is not there. */
  drop() {
    this.#wish = null;
    this.#waits = false;
  }

  #next() {
    if (this.#wish === this.#view.ply) this.#wish = null;
    if (this.#wish === null || this.#waits || this.#timer) return;
    // The server takes so many messages and no more.
    const early = this.#sent + 1000 * this.#view.pause - performance.now();
    if (early > 0) {
      this.#timer = setTimeout(() => {
        this.#timer = 0;
        this.#next();
      }, early);
      return;
    }
    this.#sent = performance.now();
    this.#waits = this.send({ type: "go", ply: this.#wish });
    if (!this.#waits) this.#wish = null;
  }
}
