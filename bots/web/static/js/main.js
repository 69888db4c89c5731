// The page: hears the server's views, shows them, and says what the player does.

import { AnalysisPanel } from "./analysis.js";
import { Board } from "./board.js";
import { Connection } from "./connection.js";
import { find, make, say } from "./dom.js";
import { Files } from "./files.js";
import { fromFragment } from "./link.js";
import { keepGame, keptGame, setUpSettings, settings } from "./settings.js";
import { Seats } from "./seats.js";
import { NewGame } from "./setup.js";
import { Steps } from "./steps.js";

/** Milliseconds until the page says again what the server may have been too busy to hear. */
const BUSY = 1000;

let view = null;
let proposed = null;
let spoken = "";
/** How a game can still be come by, the best way first, and the way that has been asked for. */
let ways = [];
let tried = null;
let again = 0;

const send = (message) => connection.send(message);

const steps = new Steps(send);
const board = new Board(find("board"), find("tip"), {
  choose,
  hover: (point) => analysis.point(point),
  step: (by) => steps.step(by),
});
const analysis = new AnalysisPanel({
  send,
  steps,
  changed: () => view && showFindings(),
  reviewed: () => view && showMoves(),
});
const newGame = new NewGame((record) => send({ type: "begin", record }));
const seats = new Seats(find("seats-form"));
const files = new Files({ send, view: () => view });
setUpSettings(() => view && show(view));

const connection = new Connection({
  hear(message) {
    hearers[message.type]?.(message);
  },
  lost(reason) {
    say(find("offline"), `The connection is lost${reason ? ` (${reason})` : ""}; trying again …`);
    analysis.endReview();
    steps.drop();
  },
});

const hearers = {
  hello,
  view(message) {
    for (const id of ["new-dialog", "open-dialog"]) if (message.id !== view?.id) find(id).close();
    if (view && message.id !== view.id) notify("");
    [ways, tried] = [[], null];
    show(message);
  },
  analysis: (message) => analysis.hear(message),
  review: (message) => analysis.hearReview(message),
  choose: (message) => files.choose(message.titles),
  file: (message) => files.keep(message),
  gone() {
    this.error({ text: "the table is no longer there, or the link's end is missing" });
  },
  notice: ({ text }) => notify(text),
  error({ text, busy }) {
    steps.drop();
    if (busy) sayAgain();
    if (tried) {
      complain(text);
      return;
    }
    for (const [dialog, place] of [["new-dialog", "new-error"], ["open-dialog", "open-error"]]) {
      if (find(dialog).open) {
        say(find(place), text);
        return;
      }
    }
    say(find("error"), text);
  },
};

/** The server is there (again): take the game up where it was. */
function hello(catalogue) {
  say(find("offline"), "");
  newGame.offer(catalogue);
  files.offer(catalogue);
  seats.offer(catalogue.bots);
  analysis.offer(catalogue.bots);
  for (const id of ["nudge", "players"]) find(id).hidden = !catalogue.bots.length;
  if (view) send({ type: "open", id: view.id, record: view.record });
  else arrive();
}

/** The server has not heard everything: it is told soon what the page shows. */
function sayAgain() {
  clearTimeout(again);
  again = setTimeout(() => {
    analysis.endReview();
    send({ type: "review", bot: null });
    analysis.ask();
  }, BUSY);
}

/** The first game: that of the link, else the one that was open here, else a new one. */
function arrive() {
  const [link, kept] = [location.hash, keptGame()];
  if (link) history.replaceState(null, "", location.pathname);
  notify("");
  ways = [];
  if (link) ways.push({ what: "The link", message: () => fromFragment(link) });
  if (!view && kept)
    ways.push({ what: "The last game", message: () => ({ type: "open", id: kept.id, record: kept.record }) });
  if (!view) ways.push({ what: "A new game", message: () => ({ type: "begin", record: newGame.record() }) });
  tryNext();
}
addEventListener("hashchange", () => {
  if (location.hash) arrive();
});

function tryNext() {
  tried = ways.shift() ?? null;
  if (!tried) return;
  try {
    send(tried.message());
  } catch (error) {
    complain(error.message);
  }
}

/** The way that was tried leads to no game: says why, and tries the next one. */
function complain(text) {
  notify(`${find("notice-text").textContent} ${tried.what} cannot be opened: ${text}.`.trim());
  tryNext();
}

/** Tells what stays until it was read, or another game is opened; nothing takes it away. */
function notify(text) {
  find("notice-text").textContent = text;
  find("notice").hidden = !text;
}

// --- what is shown ---

function names() {
  const { seats } = view;
  const people = ["A", "B"].filter((seat) => !seats[seat].bot);
  const name = (seat) =>
    seats[seat].name || (seats[seat].bot ? seats[seat].bot : people.length === 1 ? "You" : `Player ${seat}`);
  return { A: name("A"), B: seats.A.bot && seats.A.bot === seats.B.bot ? `${name("B")} (B)` : name("B") };
}

const myTurn = () =>
  view.phase !== "over" && !view.thinking && !(view.at_end && view.seats[view.seat].bot);

function show(next) {
  const first = !view;
  const stepped = !view || view.id !== next.id || view.ply !== next.ply;
  view = next;
  if (stepped) proposed = null;
  if (stepped && !first) say(find("error"), "");
  keepGame(view.id, view.record);
  analysis.follow(view, names());
  showBoard();
  showSeats();
  showChoices();
  showMoves();
  steps.follow(view);
  find("title").textContent = view.heading;
  document.title = `${view.prompt} · narabe`;
  speak();
  const root = document.documentElement.dataset;
  [root.ply, root.phase, root.game] = [view.ply, view.phase, view.id];
}

function showBoard() {
  board.show(view, { ...settings, canPlay: myTurn() });
  board.propose(proposed);
  showFindings();
}

function showFindings() {
  board.showAnalysis(analysis.moves, analysis.line);
  board.showBetter(analysis.moves ? null : analysis.better);
}

function showSeats() {
  const called = names();
  const cards = ["A", "B"].map((seat) => {
    const { colour, bot, level } = view.seats[seat];
    const acts = view.phase !== "over" && view.seat === seat;
    const card = make(
      "div",
      { class: `seat ${acts ? "acts" : ""}`, "aria-current": acts ? "true" : null },
      make("span", { class: `disc ${colour}`, "aria-hidden": "true" }),
      make("span", { class: "who" }, called[seat]),
      make("span", { class: "hint" }, `${seat} · ${colour}${bot ? ` · level ${level}` : ""}`),
    );
    if (view.result?.winner_seat === seat) card.append(make("span", { class: "won" }, "wins"));
    return card;
  });
  find("seats").replaceChildren(...cards);
}

function promptText() {
  if (view.phase === "over" || view.phase === "play") return view.prompt;
  return `${names()[view.seat]}: ${view.prompt}`;
}

function showChoices() {
  find("prompt").textContent = view.thinking ? `${promptText()} – thinking …` : promptText();
  const buttons = view.options.map(({ name, label }) =>
    make("button", { type: "button", class: name === "pass" && view.phase === "play" ? "" : "decision",
      "data-choice": name, disabled: !myTurn(), onclick: () => play(name) }, label));
  const focused = document.activeElement;
  const held = find("choices").contains(focused) ? focused.dataset.choice : null;
  find("choices").replaceChildren(...buttons);
  // Where the button that was pressed is gone, the keyboard goes to the board.
  if (held) (buttons.find((it) => it.dataset.choice === held && !it.disabled) ?? board).focus();
  const end = view.record.actions?.length ?? 0;
  const enabled = {
    first: view.ply > 0, back: view.ply > 0, forward: view.ply < end, last: view.ply < end,
    undo: view.ply > 0, redo: view.ply < end,
    resign: view.phase !== "over" && view.at_end && Object.values(view.seats).some((seat) => !seat.bot),
    nudge: view.phase !== "over" && !view.thinking,
  };
  for (const [id, is] of Object.entries(enabled)) find(id).disabled = !is;
  showConfirm();
}

function showConfirm() {
  const held = document.activeElement === find("confirmed");
  find("confirm").hidden = proposed === null;
  if (held && proposed === null) board.focus();
  if (proposed !== null) find("confirmed").textContent = `Play ${board.name(proposed)}`;
}

function showMoves() {
  const list = find("moves");
  const items = view.moves.map(([name, seat, colour, effect, captured, switched], index) => {
    const mark = captured ? ` ×${captured}` : switched ? ` ⇄${switched}` : "";
    const shown = effect === "offer" ? `${name}?` : name;
    const button = make(
      "button",
      { type: "button", "aria-current": index + 1 === view.ply ? "step" : null,
        class: index < view.ply ? "" : "undone", onclick: () => steps.go(index + 1) },
      make("span", { class: `disc small ${effect === "place" ? colour : "none"}`, "aria-hidden": "true" }),
      `${shown}${mark}`,
      make("span", { class: "unseen" }, ` by ${seat}, ${effect === "place" ? colour : effect}`),
    );
    if (analysis.isMistake(index))
      button.append(
        make("span", { class: "mistake", "aria-hidden": "true" }, "▲"),
        make("span", { class: "unseen" }, "mistake"),
      );
    return make("li", {}, button);
  });
  list.replaceChildren(...items);
  const current = list.children[view.ply - 1];
  if (current) list.scrollTop = Math.max(0, current.offsetTop - list.offsetTop - list.clientHeight / 2);
}

/** Tells screen readers what has happened, and what is to be done. */
function speak() {
  const text = [view.said, promptText()].filter(Boolean).join(". ");
  if (text === spoken) return;
  spoken = text;
  find("said").textContent = text;
}

// --- what the player does ---

function play(action) {
  send({ type: "play", ply: view.ply, action });
}

function choose(point) {
  if (!view || !myTurn()) return;
  if (!view.legal.includes(point)) {
    // The server says why not.
    if (view.board[point] === ".") play(board.name(point));
    return;
  }
  if (settings.twice && proposed !== point) {
    proposed = point;
    board.propose(point);
    showConfirm();
    return;
  }
  proposed = null;
  play(board.name(point));
}

const actions = {
  heard: () => notify(""),
  new: () => newGame.open(),
  open: () => files.open(),
  save: () => find("save-dialog").showModal(),
  share: () => view && files.share(),
  settings: () => find("settings-dialog").showModal(),
  confirmed: () => proposed !== null && choose(proposed),
  first: () => steps.go(0),
  back: () => steps.step(-1),
  forward: () => steps.step(1),
  last: () => steps.go(Infinity),
  undo: () => send({ type: "undo" }),
  redo: () => send({ type: "redo" }),
  resign: () => find("resign-dialog").showModal(),
  resigned() {
    find("resign-dialog").close();
    send({ type: "resign" });
  },
  players() {
    seats.write(view.seats);
    find("seats-dialog").showModal();
  },
  sit() {
    find("seats-dialog").close();
    send({ type: "sit", seats: seats.read() });
  },
  nudge: () => send({ type: "nudge", bot: analysis.bot }),
};
for (const [id, act] of Object.entries(actions)) find(id).addEventListener("click", act);
for (const button of document.querySelectorAll("[data-close]"))
  button.addEventListener("click", () => button.closest("dialog").close());
