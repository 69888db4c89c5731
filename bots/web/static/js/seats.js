// Who sits where: a person, or a bot at a level.

import { make } from "./dom.js";

const SEATS = ["A", "B"];
const FULL = 10;

const levelName = (level) => ({ 1: "1, beginner", [FULL]: `${FULL}, full strength` })[level] ?? level;

export class Seats {
  /** The fields of a form whose places have `data-seat`; `changed` is called after each change. */
  constructor(form, changed = () => {}) {
    this.form = form;
    this.changed = changed;
  }

  offer(bots) {
    const kept = this.form.elements["seat-A"] ? this.read() : {};
    for (const seat of SEATS) {
      const select = make(
        "select",
        { name: `seat-${seat}`, "aria-label": `Seat ${seat}`, onchange: () => this.#show() },
        make("option", { value: "" }, "a person"),
        ...bots.map((bot) => make("option", { value: bot.name }, bot.name)),
      );
      const level = make("select", { name: `level-${seat}` },
        ...Array.from({ length: FULL }, (_, k) => make("option", { value: k + 1 }, levelName(k + 1))));
      this.form
        .querySelector(`[data-seat="${seat}"]`)
        .replaceChildren(select, make("label", {}, "Level ", level));
    }
    this.write(kept);
  }

  write(seats) {
    for (const seat of SEATS) {
      const { bot, level } = seats[seat] ?? {};
      const select = this.form.elements[`seat-${seat}`];
      const known = [...select.options].some((option) => option.value === bot);
      select.value = known ? bot : "";
      this.form.elements[`level-${seat}`].value = level ?? FULL;
    }
    this.#show();
  }

  /** `{A: {bot, level} or {}, B: ...}`, as the server takes it. */
  read() {
    const { elements } = this.form;
    return Object.fromEntries(SEATS.map((seat) => {
      const bot = elements[`seat-${seat}`].value;
      return [seat, bot ? { bot, level: Number(elements[`level-${seat}`].value) } : {}];
    }));
  }

  #show() {
    const { elements } = this.form;
    for (const seat of SEATS)
      elements[`level-${seat}`].parentElement.hidden = !elements[`seat-${seat}`].value;
    this.changed();
  }
}
