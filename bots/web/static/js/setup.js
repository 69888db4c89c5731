// The form for a new game: what the server can play, as choices.

import { find, make, say } from "./dom.js";
import { Seats } from "./seats.js";

export class NewGame {
  #catalogue = null;

  /** `begin(record)` starts a game. */
  constructor(begin) {
    this.begin = begin;
    this.dialog = find("new-dialog");
    this.form = find("new-form");
    this.seats = new Seats(this.form, () => this.#sayTrained());
    this.form.elements.game.addEventListener("change", () => this.#chooseGame());
    this.form.elements.opening.addEventListener("change", () => this.#chooseOpening());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      say(find("new-error"), "");
      this.begin(this.record());
    });
  }

  get #rules() {
    return this.#catalogue.games.find((game) => game.name === this.form.elements.game.value).rules;
  }

  offer(catalogue) {
    const first = !this.#catalogue;
    this.#catalogue = catalogue;
    const { game, opening } = this.form.elements;
    const chosen = [game.value, opening.value];
    game.replaceChildren(...catalogue.games.map((each) => make("option", { value: each.name }, each.title)));
    opening.replaceChildren(
      ...catalogue.openings.map((each) => make("option", { value: each.name }, each.title)));
    this.seats.offer(catalogue.bots);
    if (first) this.#chooseFirst();
    else [game.value, opening.value] = chosen;
  }

  /** The game that the first bot was trained on, with a person at seat A and that bot at B. */
  #chooseFirst() {
    const { game, opening } = this.form.elements;
    const known = this.#catalogue.bots[0]?.games[0];
    game.value = known?.rules.name ?? "gomoku";
    this.#chooseGame(known?.rules);
    const [base, number] = this.#split(known?.opening ?? "none");
    opening.value = base;
    this.#chooseOpening(number);
    this.seats.write(known ? { B: { bot: this.#catalogue.bots[0].name } } : {});
    this.#sayTrained();
  }

  #split(opening) {
    const found = /^(soosorv|taraguchi)-(\d+)$/.exec(opening);
    return found ? [found[1], found[2]] : [opening, undefined];
  }

  #sayTrained() {
    const { game, width, height } = this.form.elements;
    const knows = (bot) => bot.games.some(({ rules }) =>
      rules.name === game.value &&
      rules.width >= Number(width?.value) && rules.height >= Number(height?.value));
    const untrained = Object.values(this.seats.read())
      .map((seat) => this.#catalogue.bots.find((bot) => bot.name === seat.bot))
      .find((bot) => bot && !knows(bot));
    say(find("trained"), untrained
      ? `${untrained.name} was not trained on this game or board; it plays it as well as it can.` : "");
  }

  #chooseGame(rules = this.#rules) {
    const game = this.#catalogue.games.find((each) => each.name === rules.name);
    const field = (name) => this.#catalogue.fields.find((each) => each.name === name);
    find("asked").replaceChildren(...game.asked.map((name) => this.#field(field(name), rules[name])));
    find("more").replaceChildren(
      ...this.#catalogue.fields
        .filter((each) => !game.asked.includes(each.name))
        .map((each) => this.#field(each, rules[each.name])));
    this.#sayTrained();
  }

  #field(field, value) {
    if (field.kind === "flag") {
      return make("label", { class: "switch" },
        make("input", { type: "checkbox", name: field.name, checked: value }), ` ${field.label}`);
    }
    if (field.kind === "choice") {
      return make("label", {}, `${field.label} `, make(
        "select",
        { name: field.name },
        ...field.choices.map((each) =>
          make("option", { value: each.value, selected: each.value === value }, each.label)),
      ));
    }
    const input = make("input", {
      type: "number", name: field.name, min: field.low, max: field.high, value, required: true,
    });
    if (field.name === "line_length") input.removeAttribute("max");
    input.addEventListener("change", () => this.#sayTrained());
    return make("label", {}, `${field.label} `, input);
  }

  #chooseOpening(number) {
    const opening = this.#catalogue.openings.find((each) => each.name === this.form.elements.opening.value);
    find("number-label").hidden = !opening.number;
    if (!opening.number) return;
    const input = this.form.elements.number;
    input.max = opening.most;
    input.value = typeof number === "string" ? number : opening.number;
  }

  /** What the form says, as a record without actions. */
  record() {
    const { elements } = this.form;
    const rules = {};
    for (const { name, kind } of this.#catalogue.fields) {
      const input = elements[name];
      const value = kind === "flag" ? input.checked : kind === "number" ? Number(input.value) : input.value;
      if (value !== this.#rules[name]) rules[name] = value;
    }
    const numbered = !find("number-label").hidden;
    const opening = elements.opening.value + (numbered ? `-${elements.number.value}` : "");
    const seats = this.seats.read();
    return { game: elements.game.value, rules, opening, seats };
  }

  open() {
    say(find("new-error"), "");
    this.dialog.showModal();
  }
}
