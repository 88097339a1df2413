// Requests to the app, by way of the server of this page.

export class RpcError extends Error {
  constructor({ code, message, data }) {
    super(message);
    this.code = code;
    this.data = data ?? {};
  }
}

// Bits of an entity have up to 64 of them, and numbers here 53: they are kept as text, and become a number on the way.
const MARK = `bits-${Math.random().toString(36).slice(2)}-`;
const MARKED = new RegExp(`"${MARK}(\\d+)"`, "g");

/** An entity such as `#4294967170`, as Bevy's own methods take it. */
export function number(bits) {
  return MARK + bits.slice(1);
}

let last = 0;

async function post(method, params, signal) {
  const request = JSON.stringify({ jsonrpc: "2.0", id: ++last, method, params });
  const response = await fetch("/app", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: request.replace(MARKED, "$1"),
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
  return result(await response.json());
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
      if (text.trim().startsWith("{")) receive(result(JSON.parse(text)));
      return;
    }
    text += value;
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) {
      if (line.startsWith("data: ")) receive(result(JSON.parse(line.slice(6))));
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
