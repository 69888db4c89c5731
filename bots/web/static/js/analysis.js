// What bots think: candidates beside the board, the win rate, and the review of a whole game.

import { find, make, percent, say, wins } from "./dom.js";
import { Graph } from "./graph.js";

/** Rows of the table; the board shows all candidates. */
const ROWS = 6;

export class AnalysisPanel {
  #analysis = null;
  #mistakes = [];
  #reviewed = null;

  /**
   * `send` a message, go through the game with `steps`; `changed` and `reviewed` say that the board,
   * or the moves, look different.
   */
  constructor({ send, steps, changed, reviewed }) {
    Object.assign(this, { send, steps, changed, reviewed });
    this.graph = new Graph(steps);
    this.pointed = null;
    find("analyse").addEventListener("change", () => this.ask());
    find("analyst").addEventListener("change", () => this.ask());
    find("review").addEventListener("click", () => this.#review());
    this.body = find("candidates").querySelector("tbody");
    this.body.addEventListener("pointerleave", () => this.point(null));
  }

  get on() {
    return find("analyse").checked;
  }

  get bot() {
    return find("analyst").value;
  }

  offer(bots) {
    const select = find("analyst");
    const kept = select.value;
    select.replaceChildren(...bots.map((bot) => make("option", { value: bot.name }, bot.name)));
    if (bots.some((bot) => bot.name === kept)) select.value = kept;
    find("analysis-controls").hidden = !bots.length;
    find("analyst-label").hidden = bots.length < 2;
    find("no-bots").hidden = bots.length > 0;
    if (this.on) this.ask();
  }

  /** Tells the server whether to analyse. */
  ask() {
    this.#analysis = null;
    this.send({ type: "analyse", bot: this.on ? this.bot : null });
    this.#showCandidates();
    this.changed();
  }

  /** A new view is shown; what was found for another position is dropped. */
  follow(view, names) {
    const actions = (view.record.actions ?? []).join(" ");
    if (this.#reviewed && !(this.#reviewed.id === view.id && this.#reviewed.actions === actions)) {
      this.#reviewed = null;
      this.#mistakes = [];
      this.#showMistakes();
    }
    if (this.view && (this.view.id !== view.id || this.view.ply !== view.ply || this.view.turn !== view.turn)) {
      this.#analysis = null;
      this.pointed = null;
      this.#showCandidates();
    }
    this.view = view;
    this.names = names;
    this.values = [...view.record.values];
    this.#showGraph();
  }

  hear(found) {
    const { view } = this;
    if (!this.on || found.id !== view?.id || found.turn !== view.turn) return;
    this.#analysis = found;
    this.values[found.ply] = found.value;
    this.#showCandidates();
    this.#showGraph();
    this.changed();
  }

  /** The candidates to draw, or null. */
  get moves() {
    return this.on && this.#analysis ? this.#analysis.moves : null;
  }

  /** The line of the candidate that is pointed at, or null. */
  get line() {
    const move = this.moves?.find((candidate) => candidate.action === this.pointed);
    return move ? move.line : null;
  }

  /** An action is pointed at, on the board or in the table. */
  point(action) {
    const known = this.moves?.some((move) => move.action === action) ? action : null;
    if (known === this.pointed) return;
    this.pointed = known;
    for (const row of this.body.children)
      row.classList.toggle("pointed", Number(row.dataset.action) === known);
    this.changed();
  }

  /** Where the review would have played instead of the next move. */
  get better() {
    return this.#mistakes.find((mistake) => mistake.ply === this.view?.ply)?.point ?? null;
  }

  isMistake(ply) {
    return this.#mistakes.some((mistake) => mistake.ply === ply);
  }

  // --- candidates ---

  #showCandidates() {
    const moves = this.moves;
    find("candidates").hidden = !moves;
    const found = this.#analysis;
    say(find("summary"), moves ? summary(found, this.names) : "");
    if (!moves) {
      this.body.replaceChildren();
      return;
    }
    this.body.replaceChildren(...moves.slice(0, ROWS).map((move) => this.#row(move)));
  }

  #row(move) {
    const row = make(
      "tr",
      { "data-action": move.action, tabindex: 0 },
      make("th", { scope: "row" }, move.name),
      make("td", {}, wins(move)),
      make("td", {}, String(move.visits)),
      make("td", { class: "pv" }, move.line.map((ply) => ply.name).join(" ")),
    );
    row.classList.toggle("pointed", move.action === this.pointed);
    row.addEventListener("pointerenter", () => this.point(move.action));
    row.addEventListener("focus", () => this.point(move.action));
    row.addEventListener("blur", () => this.point(null));
    return row;
  }

  #showGraph() {
    if (this.view) this.graph.show(this.values, this.view.ply, this.names, this.#mistakes);
  }

  // --- the review ---

  #review() {
    const running = !find("progress").hidden;
    find("progress").hidden = running;
    find("progress").value = 0;
    find("review").textContent = running ? "Review the game" : "Stop the review";
    this.send({ type: "review", bot: running ? null : this.bot });
  }

  endReview() {
    find("progress").hidden = true;
    find("review").textContent = "Review the game";
  }

  hearReview(found) {
    if (found.id !== this.view?.id) return;
    if (found.stopped) {
      this.endReview();
      return;
    }
    find("progress").value = found.done / found.total;
    if (!found.values) return;
    this.endReview();
    this.values = found.values.concat(this.values.slice(found.values.length));
    this.#mistakes = found.mistakes;
    this.#reviewed = { id: found.id, actions: (this.view.record.actions ?? []).join(" ") };
    this.#showMistakes();
    this.#showGraph();
    this.reviewed();
    this.changed();
  }

  #showMistakes() {
    const place = find("mistakes");
    if (!this.#reviewed) {
      place.replaceChildren();
      return;
    }
    const items = this.#mistakes.map((mistake) =>
      make("li", {}, make(
        "button",
        { type: "button", onclick: () => this.steps.go(mistake.ply) },
        `Move ${mistake.ply + 1}, ${this.names[mistake.seat]}: ${mistake.name} lost ` +
          `${Math.round(50 * mistake.loss)} points of a hundred; better ${mistake.better}`,
      )));
    place.replaceChildren(
      make("h3", {}, items.length ? "Largest mistakes" : "No large mistakes"),
      make("ol", { class: "mistakes" }, ...items),
    );
  }
}

function summary(found, names) {
  const who = names[found.seat];
  const value = found.seat === "A" ? found.value : -found.value;
  const proven = { 1: "a proven win", 0: "a proven draw", "-1": "a proven loss" }[found.proven];
  const what = proven ? `${who}: ${proven}` : `${who}: ${percent(value)} to win`;
  return `${what} · ${found.simulations} simulations${found.final ? "" : " …"}`;
}
