// A value by reflection, as JSON: what is nested can be opened, and what is simple can be edited.

import { h, latest } from "./dom.js";
import { fromJson, toJson } from "./rpc.js";

/** Of a list or a map, so many entries are shown. */
const MAX_ENTRIES = 100;
/** Values nested less deeply are open at first. */
const OPEN_DEPTH = 2;

function isSimple(value) {
  return value === null || typeof value !== "object";
}

/** The value with another one in the place that `keys` lead to. */
export function withChange(value, keys, change) {
  if (keys.length === 0) return change;
  const [key, ...rest] = keys;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  copy[key] = withChange(value?.[key] ?? null, rest, change);
  return copy;
}

/** What is in the place that `keys` lead to. */
export function at(value, keys) {
  return keys.reduce((value, key) => value?.[key], value);
}

/**
 * Shows a value. `save(keys, value)` is called with a change, and shows an error by throwing it; without it nothing can be
 * edited.
 */
export function showValue(value, save, name = "value", keys = []) {
  if (isSimple(value)) return simple(value, save, name, keys);
  const entries = Array.isArray(value) ? value.map((entry, index) => [index, entry]) : Object.entries(value);
  if (entries.length === 0) return h("span", { class: "empty-value" }, Array.isArray(value) ? "[ ]" : "{ }");
  const list = h("dl", { class: "value" });
  for (const [key, entry] of entries.slice(0, MAX_ENTRIES)) {
    const shown = showValue(entry, save, `${name} ${key}`, [...keys, key]);
    const nested = !isSimple(entry) && shown.matches("dl");
    list.append(h("div", { class: nested ? "nested" : "" }, ...(nested ? [fold(String(key), shown, keys.length)] : [h("dt", {}, String(key)), h("dd", {}, shown)])));
  }
  if (entries.length > MAX_ENTRIES) list.append(h("div", { class: "note" }, `and ${entries.length - MAX_ENTRIES} more`));
  return list;
}

function fold(key, shown, depth) {
  return h("details", { open: depth < OPEN_DEPTH }, h("summary", {}, key), shown);
}

function simple(value, save, name, keys) {
  if (!save) return h("span", { class: `literal ${typeof value}` }, typeof value === "string" ? value : toJson(value));
  if (typeof value === "boolean") return checkbox(value, save, name, keys);
  const isText = typeof value === "string";
  const text = isText ? value : toJson(value);
  const input = h("input", {
    type: "text", value: text, class: `edit ${value === null ? "null" : typeof value}`, "aria-label": name, "data-keys": keys.join("."),
    spellcheck: "false", autocomplete: "off", size: Math.min(Math.max(text.length, 4), 28),
  });
  // A text stays one; other values are written as JSON, and what is no JSON is a text.
  const read = () => {
    if (isText) return input.value;
    try {
      return fromJson(input.value);
    } catch {
      return input.value;
    }
  };
  const keep = () => {
    const written = read();
    store(input, text, () => save(keys, written));
  };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") keep();
    else if (event.key === "Escape") {
      input.value = input.stored ?? text;
      failed(input, null);
      input.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  // Leaving the field does not ask again for what was refused: Enter does.
  input.addEventListener("change", () => {
    if (input.value !== input.refused) keep();
  });
  return h("span", { class: "editor" }, input);
}

function checkbox(value, save, name, keys) {
  const input = h("input", { type: "checkbox", checked: value, "aria-label": name, "data-keys": keys.join(".") });
  input.addEventListener("change", () => {
    const { checked } = input;
    store(input, null, () => save(keys, checked));
  });
  return h("span", { class: "editor" }, input);
}

/** Changes are made one after another: each is written into what the one before has left. */
let before = Promise.resolve();

function inTurn(change) {
  const turn = before.then(change);
  before = turn.catch(() => {});
  return turn;
}

/** Saves once for each change: Enter and leaving the field both ask for it. Only the last one shows what has come of it. */
async function store(input, text, save) {
  if (input.value === (input.stored ?? text) && input.type === "text") return;
  const sent = input.value;
  input.stored = sent;
  input.classList.add("saving");
  input.begin ??= latest();
  const isLatest = input.begin();
  const problem = await inTurn(save).then(() => null, (error) => error.message);
  if (!isLatest()) return;
  input.classList.remove("saving");
  failed(input, problem);
  if (problem !== null) [input.stored, input.refused] = [undefined, sent];
  else {
    input.classList.add("saved");
    setTimeout(() => input.classList.remove("saved"), 800);
  }
}

function failed(input, message) {
  input.refused = undefined;
  input.parentElement?.querySelector(".bad")?.remove();
  input.toggleAttribute("aria-invalid", message !== null);
  if (message !== null) input.after(h("div", { class: "bad", role: "alert" }, message));
}

/** Whether something in an element is being written, is on its way to the app, or was refused: it is not shown anew then. */
export function isWritten(element) {
  const focused = document.activeElement;
  return (element.contains(focused) && focused.matches("input")) || element.querySelector(".saving, [aria-invalid]") !== null;
}

/** Says beside the button that removes something why it was refused. What shows the element anew puts `problem` there again. */
export function refused(element, message) {
  element.problem?.remove();
  element.problem = message === null ? null : h("span", { class: "bad", role: "alert" }, message);
  if (element.problem) element.querySelector(".remove")?.after(element.problem);
}
