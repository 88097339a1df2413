// Completion of names: a list under what is written, of relations, components, variables and entities.

import { h } from "./dom.js";
import { call, callSearch, isAborted, on } from "./rpc.js";

const MAX = 12;
const WORD = /[$\p{L}_][\p{L}\p{N}_.:]*$/u;

let relations = [];
let components = [];
on("relations", ({ relations: known }) => (relations = known.map(({ relation }) => relation)));
on("online", async () => {
  const paths = await call("world.list_components").catch(() => []);
  components = [...new Set(paths.map((path) => path.replace(/(?:[A-Za-z_]\w*::)+/g, "")))].filter((name) => /^\w+$/.test(name));
});

/** How well a name fits what is written: lower is better, and nothing if it does not. */
function rank(name, word) {
  const place = name.toLowerCase().indexOf(word.toLowerCase());
  if (place < 0) return null;
  return place === 0 ? 0 : /[.:_]/.test(name[place - 1]) ? 1 : 2;
}

function fitting(names, word, kind) {
  const ranked = names.map((name) => ({ text: name, kind, rank: rank(name, word) })).filter(({ rank }) => rank !== null);
  return ranked.sort((a, b) => a.rank - b.rank || a.text.length - b.text.length || (a.text < b.text ? -1 : 1));
}

async function entities(word, signal) {
  const text = word.slice(word.lastIndexOf(".") + 1);
  const { entries } = await callSearch(text, { wanted: 50, signal });
  const found = entries.filter(({ name }) => !name.startsWith("#")).map(({ name }) => name);
  return fitting(found, word, "entity");
}

/** What could be meant by a word. */
export async function suggestions(word, kinds, text, signal) {
  if (word.startsWith("$")) {
    if (!kinds.includes("variable")) return [];
    const known = new Set([...text.matchAll(/\$[\p{L}_][\p{L}\p{N}_]*/gu)].map(([name]) => name));
    known.add("$this");
    return fitting([...known].filter((name) => name !== word), word, "variable").filter(({ rank }) => rank === 0);
  }
  const own = [
    ...(kinds.includes("relation") ? fitting(relations, word, "relation") : []),
    ...(kinds.includes("component") ? fitting(components.filter((name) => !relations.includes(name)), word, "component") : []),
  ];
  const named = kinds.includes("entity") && word !== "" ? await entities(word, signal) : [];
  const seen = new Set();
  const all = [...own, ...named].sort((a, b) => a.rank - b.rank).filter(({ text }) => !seen.has(text) && seen.add(text));
  return all.slice(0, MAX);
}

let lists = 0;

/**
 * Suggests names while something is written in `input`. `place()` says where, in pixels below and right of the corner of the
 * element around it; `whole` says that all of the text is one name.
 */
export function complete(input, kinds, { place = () => ({ left: 0, top: input.offsetHeight + 2 }), whole = false } = {}) {
  const id = `suggestions-${++lists}`;
  const list = h("ul", { id, role: "listbox", class: "suggestions", hidden: true, "aria-label": "Suggestions" });
  input.after(list);
  for (const [name, value] of Object.entries({ "aria-autocomplete": "list", "aria-controls": id, "aria-expanded": "false" })) input.setAttribute(name, value);
  if (input.tagName === "INPUT") input.setAttribute("role", "combobox");
  let controller = new AbortController();
  let shown = [];
  let chosen = -1;

  function hide() {
    controller.abort();
    shown = [];
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function word() {
    const before = input.value.slice(0, input.selectionStart);
    return whole ? before : (WORD.exec(before)?.[0] ?? "");
  }

  function choose(index) {
    chosen = (index + shown.length) % shown.length;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", at === chosen));
    input.setAttribute("aria-activedescendant", `${id}-${chosen}`);
    list.children[chosen].scrollIntoView({ block: "nearest" });
  }

  function take(index) {
    const end = input.selectionStart;
    const start = end - word().length;
    const { text } = shown[index];
    hide();
    input.setRangeText(text, start, whole ? input.value.length : end, "end");
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }

  async function show() {
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    const written = word();
    if (written === "" || written === "$") return hide();
    let found;
    try {
      found = await suggestions(written, kinds, input.value, signal);
    } catch (error) {
      if (!isAborted(error)) hide();
      return;
    }
    if (signal.aborted || document.activeElement !== input) return;
    // What is written already need not be suggested.
    shown = found.filter(({ text }) => text !== written);
    if (shown.length === 0 || found[0]?.text === written) return hide();
    list.replaceChildren(...shown.map(({ text, kind }, index) =>
      h("li", { role: "option", id: `${id}-${index}`, onmousedown: (event) => (event.preventDefault(), take(index)) },
        h("span", {}, text), h("span", { class: `kind ${kind}` }, kind))));
    const { left, top } = place();
    list.style.left = `${left}px`;
    list.style.top = `${top}px`;
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    choose(0);
  }

  let timer;
  input.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (!event.isTrusted) return;
    timer = setTimeout(show, 60);
  });
  input.addEventListener("blur", () => setTimeout(hide, 100));
  input.addEventListener("keydown", (event) => {
    // Nor may suggestions that are on their way come up after these.
    if (event.key === "Enter" || event.key === "Escape") {
      clearTimeout(timer);
      controller.abort();
    }
    if (list.hidden) return;
    // Enter takes a name where that is all there is to write, and runs an expression as it is.
    if (event.key === "Enter" && !whole) return hide();
    const actions = {
      ArrowDown: () => choose(chosen + 1),
      ArrowUp: () => choose(chosen - 1),
      Tab: () => take(chosen),
      Escape: hide,
      Enter: () => take(chosen),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    actions[event.key]();
  });
}
