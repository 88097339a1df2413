// Requests to the app, by way of the server of this page.

export class RpcError extends Error {
  constructor({ code, message, data }) {
    super(message);
    this.code = code;
    this.data = data ?? {};
  }
}

// Numbers here are exact up to 53 bits, and those of an app have up to 64: larger ones are kept as BigInt, which JSON does
// not know, and therefore travel as marked text on the way there.
const MARK = `exact-${Math.random().toString(36).slice(2)}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");

/** JSON as text, with integers of any size. */
export function toJson(value, indent) {
  const exact = (key, value) => (typeof value === "bigint" ? MARK + value : value);
  return JSON.stringify(value, exact, indent).replace(MARKED, "$1");
}

/** A value of JSON, with integers of any size. */
export function fromJson(text) {
  const exact = (key, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value;
  return JSON.parse(text, exact);
}

/** An entity such as `#4294967170`, as Bevy's own methods take it. */
export function number(bits) {
  return BigInt(bits.slice(1));
}

/** A search goes on by itself until so many pages were read, of which some may be empty. */
export const MAX_PAGES = 1000;

let last = 0;

async function post(method, params, signal) {
  const response = await fetch("/app", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: toJson({ jsonrpc: "2.0", id: ++last, method, params }),
    signal,
  });
  if (!response.ok) throw new RpcError({ code: response.status, message: await response.text() });
  return response;
}

function result(answer) {
  if (answer.error) throw new RpcError(answer.error);
  return answer.result;
}

/** Calls a method that answers once. */
export async function call(method, params, signal) {
  const response = await post(method, params, signal);
  return result(fromJson(await response.text()));
}

/**
 * Calls a method page by page until there are so many entries, or no more: pages end early when they take the app long.
 * `ask(next, left)` makes the parameters for `left` more from there on, `part(page)` has the entries under `key`, and `next`.
 */
export async function callPages(method, key, ask, { wanted, start, maxPages = Infinity, part = (page) => page, signal }) {
  const entries = [];
  let [first, next, pages] = [null, start, 0];
  do {
    const page = part(await call(method, ask(next, wanted - entries.length), signal));
    first ??= page;
    entries.push(...page[key]);
    next = page.next;
  } while (next !== undefined && entries.length < wanted && ++pages < maxPages);
  return { first, entries, next };
}

/** Rows of an expression. */
export function callRows(expr, { values, ...options }) {
  const ask = (cursor, limit) => ({ expr, values, limit, cursor });
  return callPages("relations.query", "rows", ask, options);
}

/** The pairs of an entity in one direction, with its name in the first page. */
export function callPairs(entity, direction, { values, ...options }) {
  const ask = (offset, left) => ({ entity, direction, values, offset, limit: Math.min(left, 200) });
  const part = (page) => ({ name: page.name, ...page[direction] });
  return callPages("relations.pairs", "pairs", ask, { start: 0, part, ...options });
}

/** Entities whose name contains a text. */
export function callSearch(text, options) {
  const ask = (offset, limit) => ({ text, offset, limit });
  return callPages("relations.search", "entities", ask, { start: 0, maxPages: MAX_PAGES, ...options });
}

/** Calls a method that answers until `signal` is aborted. */
export async function watch(method, params, signal, receive) {
  const response = await post(method, params, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      // An app that refuses answers with one message, and no stream.
      if (text.trim().startsWith("{")) receive(result(fromJson(text)));
      return;
    }
    text += value;
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) {
      if (line.startsWith("data: ")) receive(result(fromJson(line.slice(6))));
    }
  }
}

/** Whether an error is that of a request that was taken back. */
export function isAborted(error) {
  return error.name === "AbortError";
}

/** What the parts of the page tell each other. */
export const bus = new EventTarget();

export function tell(name, detail) {
  bus.dispatchEvent(new CustomEvent(name, { detail }));
}

export function on(name, run) {
  bus.addEventListener(name, (event) => run(event.detail));
}

/** Shows an entity. */
export function select(entity) {
  if (location.hash !== entity) location.hash = entity;
}

/** The entity that is shown, as `#bits`. */
export function selected() {
  return /^#\d+$/.test(location.hash) ? location.hash : null;
}
