// The win rate over the game: a line that can be clicked and walked along with the arrow keys.

import { draw, find, percent } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 90;

export class Graph {
  #last = 0;

  /** Goes with `steps` to the position that is meant. */
  constructor(steps) {
    this.steps = steps;
    this.frame = find("graph");
    this.svg = draw("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
      role: "slider", tabindex: 0, "aria-label": "Win rate over the game", "aria-valuemin": 0,
    });
    this.frame.append(this.svg);
    this.svg.addEventListener("click", (event) => this.steps.go(this.#at(event)));
    this.svg.addEventListener("keydown", (event) => this.#key(event));
  }

  /** `values[k]` for seat A after k plies, null where unknown; `mistakes` have a `ply` each. */
  show(values, ply, names, mistakes) {
    this.#last = values.length - 1;
    const known = values.filter((value) => value !== null).length;
    this.frame.hidden = this.#last < 1 || known < 2;
    const text = values[ply] === null || values[ply] === undefined
      ? "not known" : `${names.A}: ${percent(values[ply])} to win`;
    this.svg.setAttribute("aria-valuemax", this.#last);
    this.svg.setAttribute("aria-valuenow", ply);
    this.svg.setAttribute("aria-valuetext", `after move ${ply}: ${text}`);
    this.svg.replaceChildren(
      draw("rect", { width: WIDTH, height: HEIGHT, class: "graph-b" }),
      draw("path", { d: this.#area(values), class: "graph-a" }),
      draw("path", { d: `M0 ${HEIGHT / 2}H${WIDTH}`, class: "graph-middle" }),
      draw("path", { d: this.#curve(values), class: "graph-line" }),
      ...mistakes.map((mistake) => this.#mistake(mistake, values)),
      draw("path", { d: `M${this.#x(ply)} 0V${HEIGHT}`, class: "graph-now" }),
    );
    this.frame.dataset.a = `▲ ${names.A}`;
    this.frame.dataset.b = `▼ ${names.B}`;
  }

  #x(ply) {
    return this.#last ? (ply / this.#last) * WIDTH : 0;
  }

  #y(value) {
    return ((1 - value) / 2) * HEIGHT;
  }

  #points(values) {
    return values.flatMap((value, ply) =>
      value === null ? [] : [`${this.#x(ply).toFixed(1)} ${this.#y(value).toFixed(1)}`]);
  }

  #curve(values) {
    const points = this.#points(values);
    return points.length ? `M${points.join("L")}` : "";
  }

  #area(values) {
    const known = values.flatMap((value, ply) => (value === null ? [] : [ply]));
    if (known.length < 2) return "";
    const [first, last] = [this.#x(known[0]), this.#x(known.at(-1))];
    return `M${first} ${HEIGHT}L${this.#points(values).join("L")}L${last} ${HEIGHT}Z`;
  }

  #mistake({ ply }, values) {
    // The whole triangle is seen at the edges, too.
    const y = Math.max(6, Math.min(HEIGHT - 5, this.#y(values[ply + 1] ?? 0)));
    const x = this.#x(ply + 1);
    return draw("path", { d: `M${x} ${y - 5}l5 9h-10Z`, class: "graph-mistake" });
  }

  #at(event) {
    const box = this.svg.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return Math.max(0, Math.min(this.#last, Math.round(share * this.#last)));
  }

  #key(event) {
    const keys = {
      ArrowLeft: () => this.steps.step(-1),
      ArrowRight: () => this.steps.step(1),
      Home: () => this.steps.go(0),
      End: () => this.steps.go(this.#last),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }
}
