// What this browser remembers: how the page looks, and the game that was open.

import { find } from "./dom.js";

const SETTINGS = "narabe.settings";
const GAME = "narabe.game";

const DEFAULTS = {
  theme: "teal",
  scheme: "auto",
  numbers: false,
  coordinates: true,
  marks: true,
  twice: matchMedia("(pointer: coarse)").matches,
};

/** Storage may be shut off; the page works without. */
function remember(key, value) {
  for (const store of ["sessionStorage", "localStorage"]) {
    try {
      window[store].setItem(key, JSON.stringify(value));
    } catch {
      // full, or not allowed
    }
  }
}

function recall(key) {
  for (const store of ["sessionStorage", "localStorage"]) {
    try {
      const text = window[store].getItem(key);
      if (text) return JSON.parse(text);
    } catch {
      // not allowed, or damaged
    }
  }
  return null;
}

/** This tab's game, else the last one of any tab: `{id, record}` or null. */
export const keptGame = () => recall(GAME);
export const keepGame = (id, record) => remember(GAME, { id, record });

export const settings = { ...DEFAULTS, ...recall(SETTINGS) };

/** Ties the form to the settings; `changed` is called after each change. */
export function setUpSettings(changed) {
  const form = find("settings-form");
  for (const [name, value] of Object.entries(settings)) {
    const input = form.elements[name];
    if (!input) continue;
    if (input.type === "checkbox") input.checked = value;
    else input.value = value;
  }
  form.addEventListener("change", () => {
    for (const name of Object.keys(DEFAULTS)) {
      const input = form.elements[name];
      settings[name] = input.type === "checkbox" ? input.checked : input.value;
    }
    remember(SETTINGS, settings);
    dress();
    changed();
  });
  dress();
}

function dress() {
  document.documentElement.dataset.theme = settings.theme;
  document.documentElement.dataset.scheme = settings.scheme;
}
