// A game as a link: the record in the fragment, which no server ever sees in a request.

export function toFragment(record) {
  const bytes = new TextEncoder().encode(JSON.stringify(record));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#game=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** What to ask of the server for a fragment that is not empty. Throws an Error that says what is wrong. */
export function fromFragment(fragment) {
  const [, kind, value] = /^#(game|table)=(.*)$/.exec(fragment) ?? [];
  if (kind === "game") return { type: "begin", record: recordOf(value) };
  if (kind !== "table") throw new Error("it names neither a game nor a table");
  if (!/^[\w-]{1,40}$/.test(value)) throw new Error("it names no table");
  return { type: "open", id: value };
}

function recordOf(value) {
  try {
    const text = atob(value.replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0))));
  } catch {
    throw new Error("it is damaged, or its end is missing; ask for the whole link");
  }
}

/** The record with the actions up to here, without what only this server knows. */
export function shareable(record, ply) {
  const { values, seats, ...rest } = record;
  return { ...rest, actions: (record.actions ?? []).slice(0, ply), ply, result: null };
}
