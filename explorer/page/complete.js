// Suggestions while a name is written: relations and components that are known, and entities, which are searched for.

import { debounce, h } from "./dom.js";
import { call, isAborted, on } from "./rpc.js";

const MAX_SHOWN = 12;
const WORD = /[\p{L}_$#][\p{L}\p{N}_.#$]*$/u;

let relations = [];
on("relations", (told) => (relations = told.relations.map(({ relation }) => relation)));

/** The components that are registered for reflection, by their full paths: read once from each app. */
let registered = null;
on("online", () => (registered = null));

export function components() {
  registered ??= call("world.list_components").catch((error) => {
    registered = null;
    throw error;
  });
  return registered;
}

async function suggestions(word, { types }, signal) {
  const lower = word.toLowerCase();
  const fits = (name) => name.toLowerCase().includes(lower) && name !== word;
  const known = relations.map((name) => ({ name, kind: "relation" }));
  if (types) {
    const paths = await components().catch(() => []);
    known.push(...paths.map((path) => ({ name: path.replace(/<.*/, "").split("::").at(-1), kind: "component", title: path })));
  }
  const found = known.filter(({ name }) => fits(name));
  found.sort((a, b) => a.name.toLowerCase().indexOf(lower) - b.name.toLowerCase().indexOf(lower) || a.name.localeCompare(b.name));
  if (found.length < MAX_SHOWN && word.length > 1) {
    const page = await call("relations.search", { text: word.split(".").at(-1), limit: MAX_SHOWN }, signal);
    found.push(...page.entities.map(({ name }) => ({ name, kind: "entity" })).filter(({ name }) => name !== word));
  }
  return found.slice(0, MAX_SHOWN);
}

/** Shows suggestions below a text field. `only` leaves components out, for fields that name an entity. */
export function complete(input, options = { types: true }) {
  const list = h("ul", { role: "listbox", class: "suggestions", hidden: true, "aria-label": "Suggestions" });
  input.after(list);
  input.setAttribute("aria-autocomplete", "list");
  let controller = new AbortController();
  let at = -1;

  const word = () => input.value.slice(0, input.selectionStart).match(WORD)?.[0] ?? "";
  function hide() {
    controller.abort();
    list.hidden = true;
    list.replaceChildren();
    at = -1;
  }
  function mark(index) {
    at = index;
    [...list.children].forEach((item, number) => item.setAttribute("aria-selected", number === at));
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }
  function take(name) {
    const end = input.selectionStart;
    input.setRangeText(name, end - word().length, end, "end");
    hide();
    input.focus();
    input.dispatchEvent(new Event("change"));
  }
  const find = debounce(80, async () => {
    const text = word();
    controller.abort();
    controller = new AbortController();
    if (text === "" || text.startsWith("$") || text.startsWith("#") || document.activeElement !== input) return hide();
    try {
      const found = await suggestions(text, options, controller.signal);
      if (word() !== text || document.activeElement !== input) return;
      list.replaceChildren(...found.map(({ name, kind, title }) =>
        h("li", { role: "option", title: title ?? name, onmousedown: (event) => (event.preventDefault(), take(name)) },
          h("span", { class: "label" }, name), h("span", { class: "kind" }, kind))));
      list.hidden = found.length === 0;
      at = -1;
    } catch (error) {
      if (!isAborted(error)) hide();
    }
  });
  input.addEventListener("input", find);
  input.addEventListener("blur", hide);
  // Before what else listens: a suggestion that is marked is taken, and nothing is run.
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const count = list.children.length;
    const actions = {
      ArrowDown: () => mark((at + 1) % count),
      ArrowUp: () => mark((at + count - 1) % count),
      Tab: () => take(list.children[Math.max(at, 0)].querySelector(".label").textContent),
      Enter: at < 0 ? null : () => take(list.children[at].querySelector(".label").textContent),
      Escape: hide,
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    actions[event.key]();
  }, true);
}
