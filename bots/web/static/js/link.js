// A game as a link: the record in the fragment, which no server ever sees in a request.

export function toFragment(record) {
  const bytes = new TextEncoder().encode(JSON.stringify(record));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#game=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The record, or null where the fragment has none that can be read. */
export function fromFragment(fragment) {
  const found = /^#game=([\w-]+)$/.exec(fragment);
  if (!found) return null;
  try {
    const text = atob(found[1].replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0))));
  } catch {
    return null;
  }
}

/** The id of a table in the fragment, or null. */
export const tableOf = (fragment) => /^#table=([\w-]{1,40})$/.exec(fragment)?.[1] ?? null;

/** The record with the actions up to here, without what only this server knows. */
export function shareable(record, ply) {
  const { values, seats, ...rest } = record;
  return { ...rest, actions: (record.actions ?? []).slice(0, ply), ply, result: null };
}
