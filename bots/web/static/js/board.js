// The board: draws what the server says about a position, and tells which points are meant.

import { draw, wins } from "./dom.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const STONE = 0.46;
const COLOURS = { X: "black", O: "white" };

export class Board {
  #view = null;
  #cells = [];
  #layers = {};
  #focus = 0;
  #hovered = null;

  /** `choose(point)` is called when a point is meant, `hover(point or null)`, `step(-1 or 1)`. */
  constructor(svg, tip, { choose, hover, step }) {
    Object.assign(this, { svg, tip, choose, hover, step });
    svg.addEventListener("keydown", (event) => this.#key(event));
    svg.addEventListener("pointerleave", () => this.#leave());
    svg.addEventListener("focusout", () => this.#leave());
  }

  name(point) {
    const { width } = this.#view.rules;
    return LETTERS[point % width] + (Math.floor(point / width) + 1);
  }

  /** Shows a view. `canPlay`: whether points can be chosen now; the rest is how it looks. */
  show(view, options) {
    let before = this.#view?.id === view.id ? this.#view : null;
    const { width, height, gutter } = view.rules;
    const shape = `${width} ${height} ${gutter} ${options.coordinates}`;
    this.#view = view;
    this.options = options;
    if (this.shape !== shape) {
      this.shape = shape;
      before = null;
      this.#build(options.coordinates);
    }
    // Stones that are on their way are left alone.
    if (before?.board !== view.board) this.#drawStones(before);
    this.#drawMarks();
    this.#label();
    if (this.#hovered !== null) this.#enter(this.#hovered);
  }

  /** Candidates as a heat map, and a line of play; null for none. */
  showAnalysis(moves, line) {
    this.analysing = moves !== null;
    const { heat, line: shown } = this.#layers;
    heat.replaceChildren();
    shown.replaceChildren();
    if (line) this.#drawLine(line);
    if (!moves || line) return;
    const most = Math.max(1, ...moves.map((move) => move.visits));
    const points = moves.filter((move) => move.action < this.#cells.length);
    for (const [rank, move] of points.entries()) {
      const [x, y] = this.#place(move.action);
      if (this.#view.board[move.action] !== ".") continue;
      const share = move.visits / most;
      const best = rank === 0 && move === moves[0];
      heat.append(
        draw("rect", {
          x: x - 0.43, y: y - 0.43, width: 0.86, height: 0.86, rx: 0.2,
          class: best ? "heat best" : "heat",
          "fill-opacity": 0.2 + 0.75 * share ** 0.6,
        }),
        draw("text", { x, y: y - 0.03, class: "heat-value" }, wins(move)),
        draw("text", { x, y: y + 0.28, class: "heat-visits" }, short(move.visits)),
      );
    }
  }

  /** A stone that waits to be confirmed; null for none. */
  propose(point) {
    this.#layers.proposal.replaceChildren();
    if (point === null) return;
    const [x, y] = this.#place(point);
    this.#layers.proposal.append(
      this.#stone(x, y, this.#view.colour, "proposed"),
      draw("circle", { cx: x, cy: y, r: 0.62, class: "proposal" }),
    );
  }

  /** The point to which a move of the review would have been better. */
  showBetter(point) {
    this.#layers.better.replaceChildren();
    if (point === null || point === undefined) return;
    const [x, y] = this.#place(point);
    this.#layers.better.append(
      draw("path", { d: `M${x} ${y - 0.4}L${x + 0.4} ${y}L${x} ${y + 0.4}L${x - 0.4} ${y}Z`, class: "better" }),
    );
  }

  #place(point) {
    const { width, height } = this.#view.rules;
    return [point % width, height - 1 - Math.floor(point / width)];
  }

  // --- what stays while the board stays ---

  #build(coordinates) {
    const { width, height, gutter } = this.#view.rules;
    const margin = coordinates ? 1.15 : 0.75;
    const size = `${-margin} -0.75 ${width - 0.25 + margin} ${height - 0.25 + margin}`;
    this.svg.setAttribute("viewBox", size);
    for (const [name, count] of [["--columns", width], ["--rows", height]])
      this.svg.parentElement.style.setProperty(name, count);
    this.svg.setAttribute("aria-rowcount", height);
    this.svg.setAttribute("aria-colcount", width);
    this.svg.replaceChildren(
      draw("rect", { x: -margin, y: -0.75, width: width - 0.25 + margin, height: height - 0.25 + margin, class: "wood" }),
    );
    const grid = draw("path", {
      class: "grid",
      d: [
        ...Array.from({ length: width }, (_, x) => `M${x} 0V${height - 1}`),
        ...Array.from({ length: height }, (_, y) => `M0 ${y}H${width - 1}`),
      ].join(""),
    });
    const region = draw("rect", {
      x: gutter - 0.5, y: gutter - 0.5, width: width - 2 * gutter, height: height - 2 * gutter,
      class: "region",
    });
    this.svg.append(grid, region);
    for (const star of this.#view.stars) {
      const [cx, cy] = this.#place(star);
      this.svg.append(draw("circle", { cx, cy, r: 0.1, class: "star" }));
    }
    if (coordinates) this.#drawCoordinates(width, height);
    for (const layer of ["marks", "stones", "leaving", "heat", "over", "better", "line", "proposal", "ghost"]) {
      this.#layers[layer] = draw("g", { class: `layer-${layer}`, "aria-hidden": "true" });
      this.svg.append(this.#layers[layer]);
    }
    this.#buildCells(width, height);
  }

  #drawCoordinates(width, height) {
    const texts = draw("g", { class: "coordinates", "aria-hidden": "true" });
    for (let x = 0; x < width; x++)
      texts.append(draw("text", { x, y: height - 1 + 0.82 }, LETTERS[x]));
    for (let row = 0; row < height; row++)
      texts.append(draw("text", { x: -0.82, y: height - 1 - row }, String(row + 1)));
    this.svg.append(texts);
  }

  #buildCells(width, height) {
    this.#cells = new Array(width * height);
    for (let row = height - 1; row >= 0; row--) {
      const line = draw("g", { role: "row" });
      for (let column = 0; column < width; column++) {
        const point = row * width + column;
        const cell = draw(
          "g",
          { role: "gridcell", tabindex: -1, class: "cell", "data-point": this.name(point) },
          draw("rect", { x: column - 0.5, y: height - 1 - row - 0.5, width: 1, height: 1 }),
        );
        cell.addEventListener("click", () => this.choose(point));
        cell.addEventListener("pointerenter", () => this.#enter(point));
        cell.addEventListener("focus", () => {
          this.#focusOn(point, false);
          if (cell.matches(":focus-visible")) this.#enter(point);
        });
        this.#cells[point] = cell;
        line.append(cell);
      }
      this.svg.append(line);
    }
    this.#focus = Math.floor(height / 2) * width + Math.floor(width / 2);
    this.#cells[this.#focus].setAttribute("tabindex", 0);
  }

  // --- what a position changes ---

  #stone(x, y, colour, more = "") {
    return draw("circle", { cx: x, cy: y, r: STONE, class: `stone ${colour} ${more}` });
  }

  #drawStones(before) {
    const { board } = this.#view;
    const { stones, leaving } = this.#layers;
    stones.replaceChildren();
    leaving.replaceChildren();
    for (let point = 0; point < board.length; point++) {
      const [x, y] = this.#place(point);
      const [was, is] = [before ? before.board[point] : board[point], board[point]];
      if (is !== ".") {
        const how = was === is ? "" : was === "." ? "arriving" : "turning";
        stones.append(this.#stone(x, y, COLOURS[is], how));
      } else if (was !== ".") {
        const stone = this.#stone(x, y, COLOURS[was], "departing");
        stone.addEventListener("animationend", () => stone.remove());
        leaving.append(stone);
      }
    }
    // Where nothing moves there is no end of an animation.
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) leaving.replaceChildren();
  }

  #drawMarks() {
    const view = this.#view;
    const { marks, over } = this.#layers;
    marks.replaceChildren();
    over.replaceChildren();
    if (view.narrow && !view.offers.length)
      for (const point of view.legal) marks.append(this.#dot(point));
    if (this.options.marks) {
      for (const point of Object.keys(view.blocked)) {
        if (!(point in view.fouls) && !view.offers.includes(Number(point)))
          marks.append(this.#barred(Number(point)));
      }
      for (const point of Object.keys(view.fouls)) marks.append(this.#cross(Number(point)));
    }
    for (const [index, point] of view.offers.entries()) this.#offer(marks, point, index);
    for (const point of view.captured) if (view.board[point] === ".") marks.append(this.#hollow(point));
    for (const point of view.switched) if (view.board[point] !== ".") over.append(this.#hollow(point));
    if (this.options.numbers) this.#drawNumbers();
    if (view.last !== null && !view.offers.includes(view.last)) over.append(this.#last(view.last));
    for (const point of view.line) {
      const [cx, cy] = this.#place(point);
      over.append(draw("circle", { cx, cy, r: STONE + 0.01, class: "winning" }));
    }
  }

  #drawNumbers() {
    for (const [point, number] of Object.entries(this.#view.numbers)) {
      const stone = this.#view.board[point];
      if (stone === ".") continue;
      const [x, y] = this.#place(Number(point));
      const last = Number(point) === this.#view.last ? "last-number" : "";
      this.#layers.over.append(
        draw("text", { x, y, class: `number on-${COLOURS[stone]} ${last}` }, String(number)),
      );
    }
  }

  #last(point) {
    const [cx, cy] = this.#place(point);
    const on = COLOURS[this.#view.board[point]] ?? "board";
    if (this.options.numbers && on !== "board")
      return draw("path", { d: `M${cx - 0.16} ${cy + 0.3}h0.32`, class: `last on-${on}` });
    return draw("circle", { cx, cy, r: 0.2, class: `last on-${on}` });
  }

  #dot(point) {
    const [cx, cy] = this.#place(point);
    return draw("circle", { cx, cy, r: 0.16, class: "allowed" });
  }

  #cross(point) {
    const [x, y] = this.#place(point);
    const arm = 0.22;
    return draw("path", {
      d: `M${x - arm} ${y - arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`,
      class: "foul",
    });
  }

  #barred(point) {
    const [x, y] = this.#place(point);
    const [ring, bar] = ["a.2 .2 0 1 0 .4 0a.2 .2 0 1 0 -.4 0", "l.28 -.28"];
    return draw("path", {
      d: `M${x - 0.2} ${y}${ring}M${x - 0.14} ${y + 0.14}${bar}`,
      class: "barred",
    });
  }

  #hollow(point) {
    const [x, y] = this.#place(point);
    return draw("rect", { x: x - 0.2, y: y - 0.2, width: 0.4, height: 0.4, class: "hollow" });
  }

  #offer(layer, point, index) {
    const [x, y] = this.#place(point);
    layer.append(
      draw("circle", { cx: x, cy: y, r: STONE - 0.03, class: "offer" }),
      draw("text", { x, y, class: "offer-name" }, LETTERS[index].toUpperCase()),
    );
  }

  #drawLine(line) {
    for (const [index, ply] of line.entries()) {
      if (ply.point === null) continue;
      const [x, y] = this.#place(ply.point);
      const colour = ply.colour ?? this.#view.colour;
      this.#layers.line.append(
        this.#stone(x, y, colour, ply.colour ? "variation" : "variation offered"),
        draw("text", { x, y, class: `number on-${colour}` }, String(index + 1)),
      );
    }
  }

  // --- names for those who do not see it ---

  #label() {
    const view = this.#view;
    const legal = new Set(view.legal);
    const offered = new Map(view.offers.map((point, index) => [point, LETTERS[index].toUpperCase()]));
    for (const [point, cell] of this.#cells.entries()) {
      const parts = [this.name(point), ...this.#facts(point, legal, offered)];
      cell.setAttribute("aria-label", parts.join(", "));
      const playable = this.options.canPlay && legal.has(point);
      cell.classList.toggle("playable", playable);
      cell.setAttribute("aria-disabled", String(!playable));
    }
    const { width, height } = view.rules;
    this.svg.setAttribute("aria-label", `Board, ${width} columns and ${height} rows`);
  }

  #facts(point, legal, offered) {
    const view = this.#view;
    const facts = [];
    const stone = COLOURS[view.board[point]];
    if (stone) {
      facts.push(`${stone} stone`);
      if (view.numbers[point]) facts.push(`number ${view.numbers[point]}`);
      if (view.line.includes(point)) facts.push("in the winning line");
    } else facts.push("empty");
    if (view.last === point) facts.push("last move");
    if (offered.has(point)) facts.push(`offer ${offered.get(point)}`);
    const reason = this.#reason(point, legal);
    if (reason) facts.push(reason);
    return facts;
  }

  /** Why an empty point cannot, or should not, be played; nothing where it can. */
  #reason(point, legal = new Set(this.#view.legal)) {
    const { blocked, fouls, board, elsewhere, phase } = this.#view;
    if (board[point] !== "." || phase === "over") return "";
    if (blocked[point]) return blocked[point];
    if (fouls[point]) return `forbidden to Black, loses at once: ${fouls[point]}`;
    if (!legal.has(point) && elsewhere) return elsewhere;
    return "";
  }

  // --- pointer and keys ---

  #enter(point) {
    this.#hovered = point;
    const view = this.#view;
    const { ghost } = this.#layers;
    ghost.replaceChildren();
    const [x, y] = this.#place(point);
    const legal = new Set(view.legal);
    if (this.options.canPlay && legal.has(point) && !this.analysing)
      ghost.append(this.#stone(x, y, view.colour, "hover"));
    const reason = this.#reason(point, legal);
    this.tip.hidden = !reason;
    if (reason) {
      this.tip.textContent = `${this.name(point)}: ${reason}`;
      const cell = this.#cells[point].getBoundingClientRect();
      const frame = this.tip.parentElement.getBoundingClientRect();
      const left = cell.left - frame.left + cell.width / 2;
      const half = this.tip.offsetWidth / 2;
      this.tip.style.left = `${Math.max(half, Math.min(frame.width - half, left))}px`;
      this.tip.style.top = `${cell.top - frame.top}px`;
      this.tip.classList.toggle("below", cell.top - frame.top < 60);
      this.tip.style.setProperty("--cell", `${cell.height}px`);
    }
    this.hover(point);
  }

  #leave() {
    this.#hovered = null;
    this.tip.hidden = true;
    this.#layers.ghost?.replaceChildren();
    this.hover(null);
  }

  /** The keyboard's point gets the keyboard. */
  focus() {
    this.#cells[this.#focus].focus({ preventScroll: true });
  }

  #focusOn(point, move = true) {
    this.#cells[this.#focus].setAttribute("tabindex", -1);
    this.#focus = point;
    this.#cells[point].setAttribute("tabindex", 0);
    if (move) this.#cells[point].focus();
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { width, height } = this.#view.rules;
    const [column, row] = [this.#focus % width, Math.floor(this.#focus / width)];
    const to = (x, y) =>
      this.#focusOn(Math.min(height - 1, Math.max(0, y)) * width + Math.min(width - 1, Math.max(0, x)));
    const keys = {
      ArrowLeft: () => to(column - 1, row),
      ArrowRight: () => to(column + 1, row),
      ArrowUp: () => to(column, row + 1),
      ArrowDown: () => to(column, row - 1),
      Home: () => to(0, row),
      End: () => to(width - 1, row),
      PageUp: () => this.step(-1),
      PageDown: () => this.step(1),
      Enter: () => this.choose(this.#focus),
      " ": () => this.choose(this.#focus),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }
}

const short = (visits) => (visits < 1000 ? String(visits) : `${(visits / 1000).toFixed(1)}k`);
