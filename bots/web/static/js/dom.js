// Making and finding elements. Text is always set as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

export const find = (id) => document.getElementById(id);

function dress(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export const make = (tag, attributes = {}, ...children) =>
  dress(document.createElement(tag), attributes, children);

export const draw = (tag, attributes = {}, ...children) =>
  dress(document.createElementNS(SVG, tag), attributes, children);

export const percent = (value) => `${Math.round(50 * (1 + value))}%`;

const PROVEN = { 1: "win", 0: "draw", "-1": "loss" };

/** What a candidate is worth: its share of wins, or what is proven. */
export const wins = (move) => (move.proof === null ? percent(move.value) : PROVEN[move.proof]);

/** Shows a text in an element that is hidden while there is none. */
export function say(element, text) {
  element.textContent = text;
  element.hidden = !text;
}
