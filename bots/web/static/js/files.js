// Opening and saving games, and links to them.

import { find, make, say } from "./dom.js";
import { shareable, toFragment } from "./link.js";

const MOST_BYTES = 400_000;

export class Files {
  #text = null;

  /** `send` a message; `view()` is what is shown. */
  constructor({ send, view }) {
    Object.assign(this, { send, view });
    find("file").addEventListener("change", (event) => this.#read(event.target.files[0]));
    find("pasted").addEventListener("input", () => this.#fresh(find("pasted").value));
    find("load").addEventListener("click", () => this.#load());
    find("save-sgf").addEventListener("click", () => send({ type: "save", kind: "sgf" }));
    find("save-record").addEventListener("click", () => send({ type: "save", kind: "record" }));
    find("copy").addEventListener("click", () => this.#copy());
  }

  offer(catalogue) {
    find("file-game").replaceChildren(
      make("option", { value: "" }, "what the file says"),
      ...catalogue.games.map((game) => make("option", { value: game.name }, game.title)));
    find("file-opening").replaceChildren(
      ...catalogue.openings.map(({ name, title, number }) =>
        make("option", { value: number ? `${name}-${number}` : name }, title)));
  }

  open() {
    find("file").value = "";
    find("pasted").value = "";
    this.#fresh(null);
    find("open-dialog").showModal();
  }

  #fresh(text) {
    this.#text = text;
    find("which-label").hidden = true;
    say(find("open-error"), "");
  }

  async #read(file) {
    if (!file) return;
    if (file.size > MOST_BYTES) {
      say(find("open-error"), `The file has ${file.size} bytes; at most ${MOST_BYTES} can be opened.`);
      return;
    }
    this.#fresh(await file.text());
    this.#load();
  }

  #load() {
    if (!this.#text?.trim()) {
      say(find("open-error"), "Choose a file, or paste its text.");
      return;
    }
    if (new Blob([this.#text]).size > MOST_BYTES) {
      say(find("open-error"), `The text is too long; at most ${MOST_BYTES} bytes can be opened.`);
      return;
    }
    say(find("open-error"), "");
    const message = { type: "load", text: this.#text, opening: find("file-opening").value };
    if (find("file-game").value) message.game = find("file-game").value;
    if (!find("which-label").hidden) message.index = Number(find("which").value);
    this.send(message);
  }

  /** A file has several games. */
  choose(titles) {
    find("which").replaceChildren(
      ...titles.map((title, index) => make("option", { value: index, selected: index === 0 }, title)));
    find("which-label").hidden = false;
    find("which").focus();
  }

  /** The server has written a file. */
  keep({ name, text }) {
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    find("save-dialog").close();
  }

  share() {
    const { record, ply, id } = this.view();
    const here = location.href.split("#")[0];
    find("link").value = here + toFragment(shareable(record, ply));
    find("table-link").value = `${here}#table=${id}`;
    find("copied").textContent = "";
    find("share-dialog").showModal();
    find("link").select();
  }

  async #copy() {
    const link = find("link");
    link.select();
    try {
      await navigator.clipboard.writeText(link.value);
      find("copied").textContent = "Copied.";
    } catch {
      find("copied").textContent = "Press Ctrl+C to copy.";
    }
  }
}
