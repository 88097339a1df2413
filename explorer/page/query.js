// An expression and its rows, which follow the world.

import { complete } from "./complete.js";
import { count, debounce, h, shortName } from "./dom.js";
import { link } from "./pairs.js";
import { PlanView } from "./plan.js";
import { callRows, on, select, tell, toJson, watch } from "./rpc.js";

const PAGE = 100;
/** Codes of `relations.query`. */
const [LIMIT, CHANGED] = [-23602, -23603];
/** How often values of rows are read again. Rows come and go by themselves. */
const VALUES = 1500;
/** So many rows keep their values up to date. */
const MAX_FRESH = 200;

export function showQuery(panel) {
  const text = h("textarea", {
    id: "expression", rows: "2", spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-label": "Expression",
    placeholder: "An expression, such as  (ChildOf, $parent)", "aria-describedby": "mistake",
  });
  const under = h("pre", { class: "under", "aria-hidden": "true" });
  const box = h("div", { class: "box" }, under, text);
  const mistake = h("div", { id: "mistake", class: "mistake", role: "alert", hidden: true });
  const live = h("input", { type: "checkbox", id: "live", checked: true });
  const planned = h("input", { type: "checkbox", id: "planned" });
  const status = h("span", { id: "found-rows", class: "note", role: "status" });
  const examples = h("div", { class: "examples" });
  const table = new Table();
  const plan = new PlanView();
  plan.element.hidden = true;
  const more = h("button", { class: "quiet", hidden: true, onclick: () => next() }, "more rows …");
  panel.append(
    box, mistake,
    h("div", { class: "tools" },
      h("button", { id: "run", class: "primary", onclick: () => run(), title: "Enter" }, "Run"),
      h("label", {}, live, "follow the world"), h("label", {}, planned, "plan"),
      h("button", { class: "quiet", onclick: () => tell("graph-expression", text.value), title: "Show what is found in the graph" }, "in the graph"),
      h("span", { class: "grow" }), status),
    examples, h("div", { class: "scroll results" }, plan.element, table.element, more));

  // The caret, for the list of suggestions.
  const width = document.createElement("canvas").getContext("2d");
  complete(text, ["relation", "component", "variable", "entity"], {
    place: () => {
      const style = getComputedStyle(text);
      width.font = style.font;
      const lines = text.value.slice(0, text.selectionStart).split("\n");
      const left = parseFloat(style.paddingLeft) + width.measureText(lines.at(-1)).width - text.scrollLeft;
      const top = parseFloat(style.paddingTop) + lines.length * parseFloat(style.lineHeight) - text.scrollTop + 4;
      return { left: Math.max(0, Math.min(left, text.offsetWidth - 260)), top };
    },
  });

  let controller = new AbortController();
  let cursor = null;

  /** Shows an error; the place in the text is marked. */
  function fail(error) {
    const { param, start, end, message, help, suggestion } = error?.data ?? {};
    mistake.hidden = !error;
    under.replaceChildren();
    text.toggleAttribute("aria-invalid", Boolean(error));
    if (!error) return;
    const isPlaced = param === "expr" && start !== undefined;
    mistake.replaceChildren(h("div", {}, isPlaced ? message : error.message));
    if (!isPlaced) return;
    const [from, to] = [start, end].map((place) => units(text.value, place));
    // Nothing can be marked at the end: a blank is.
    const marked = text.value.slice(from, to) || " ";
    under.append(text.value.slice(0, from), h("mark", {}, marked), text.value.slice(Math.max(to, from)), "\n");
    under.scrollTop = text.scrollTop;
    const expr = text.value;
    const take = () => {
      // Another mistake may have been written since.
      if (text.value !== expr) return;
      text.value = text.value.slice(0, from) + suggestion + text.value.slice(to);
      text.focus();
      run();
    };
    if (suggestion) mistake.append(h("div", {}, "Did you mean ", h("button", { class: "link", onclick: take }, suggestion), "?"));
    if (help) mistake.append(h("div", { class: "help" }, help));
  }

  async function run() {
    soon.cancel();
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    const expr = text.value.trim() === "" ? "" : text.value;
    history.replaceState(null, "", `?${new URLSearchParams(expr ? { q: expr } : {})}${location.hash}`);
    examples.hidden = expr !== "";
    more.hidden = true;
    if (!expr) {
      fail(null);
      table.clear();
      plan.clear();
      status.textContent = "";
      return;
    }
    if (planned.checked) plan.read(expr, signal);
    try {
      await (live.checked ? follow(expr, signal) : read(expr, signal));
    } catch (error) {
      // Places are those in the text that was sent. What was written since runs soon.
      if (signal.aborted || text.value !== expr) return;
      fail(error);
      status.textContent = "";
      if (error.code !== 502) table.clear();
    }
  }

  /** Reads the first page. */
  async function read(expr, signal, why = "") {
    const { first, entries, next } = await callRows(expr, { wanted: PAGE, signal });
    fail(null);
    table.start(expr, first.variables);
    table.add(entries, false);
    page_(next, why);
  }

  function page_(next, why = "") {
    cursor = next;
    more.hidden = cursor === undefined;
    status.textContent = `${rowsText(table.size)}${cursor === undefined ? "" : " of more"}${why}`;
  }

  async function next() {
    const { signal } = controller;
    more.disabled = true;
    try {
      const { entries, next } = await callRows(table.expr, { wanted: PAGE, start: cursor, signal });
      table.add(entries, false);
      page_(next);
    } catch (error) {
      if (signal.aborted) return;
      if (error.code === CHANGED) run();
      else if (text.value === table.expr) fail(error);
    } finally {
      more.disabled = false;
    }
  }

  /** Receives rows as they come and go. More rows than can be watched are read by the page. */
  async function follow(expr, signal) {
    let isFirst = true;
    try {
      await watch("relations.query+watch", { expr }, signal, ({ variables, entered, left }) => {
        if (signal.aborted) return;
        fail(null);
        if (isFirst) table.start(expr, variables);
        table.remove(left);
        table.add(entered, !isFirst);
        isFirst = false;
        status.textContent = `${rowsText(table.size)} · live`;
      });
      // The app has ended.
      if (!signal.aborted) status.textContent = `${rowsText(table.size)} · not followed any more`;
    } catch (error) {
      if (error.code !== LIMIT || signal.aborted) throw error;
      await read(expr, signal, " · too many to follow");
    }
  }

  // Values of rows that stay do not come by themselves.
  (async function keepFresh() {
    if (live.checked && table.hasValues && table.size <= MAX_FRESH && !document.hidden && !panel.hidden) {
      const [{ signal }, { expr }] = [controller, table];
      const page = await callRows(expr, { wanted: MAX_FRESH, signal }).catch(() => null);
      // The table may show another expression by now.
      if (page && !signal.aborted && table.expr === expr) table.refresh(page.entries);
    }
    setTimeout(keepFresh, VALUES);
  })();

  const soon = debounce(300, run);
  text.addEventListener("input", () => {
    under.replaceChildren();
    text.rows = Math.min(Math.max(2, text.value.split("\n").length), 10);
    soon();
  });
  text.addEventListener("scroll", () => (under.scrollTop = text.scrollTop));
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      run();
    } else if (event.key === "Escape") text.blur();
    else if (event.key === "ArrowDown" && text.value.indexOf("\n", text.selectionEnd) < 0 && table.focus()) event.preventDefault();
  });
  live.addEventListener("change", run);
  planned.addEventListener("change", () => {
    plan.element.hidden = !planned.checked;
    if (planned.checked && text.value.trim()) plan.read(text.value, controller.signal);
  });
  on("expression", (expr) => {
    text.value = expr;
    run();
  });
  on("online", run);

  // What there is to ask, in an app that one does not know.
  on("relations", ({ relations }) => {
    if (examples.hidden || examples.childElementCount > 0) return;
    const most = [...relations].filter(({ pairs }) => pairs > 0).sort((a, b) => b.pairs - a.pairs).slice(0, 5);
    const texts = most.map(({ relation }) => `(${relation}, $target)`);
    examples.append(...texts.map((expr) => h("button", { class: "example", onclick: () => tell("expression", expr) }, expr)));
  });
  text.value = new URLSearchParams(location.search).get("q") ?? "";
}

function rowsText(number) {
  return `${count(number)} ${number === 1 ? "row" : "rows"}`;
}

/** Places in an expression are counted in bytes, and in texts here in units of UTF-16. */
function units(text, bytes) {
  return new TextDecoder().decode(new TextEncoder().encode(text).slice(0, bytes)).length;
}

/** The rows as a table. Those that cannot be told apart by their entities have the same key. */
class Table {
  constructor() {
    this.head = h("tr");
    this.body = h("tbody", { id: "rows" });
    this.element = h("table", { class: "rows" }, h("thead", {}, this.head), this.body);
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.clear();
  }

  clear() {
    this.expr = "";
    this.columns = null;
    this.keys = new Map();
    this.size = 0;
    this.hasValues = false;
    this.head.replaceChildren();
    this.body.replaceChildren();
  }

  start(expr, variables) {
    this.clear();
    this.expr = expr;
    this.variables = variables;
  }

  /** The columns are known with the first row: `$this`, the variables, and fields with values. */
  addHead(row) {
    this.columns = [
      ...(row.this === undefined ? [] : ["this"]),
      ...Object.keys(row.vars ?? {}),
    ];
    const fields = (row.fields ?? []).map(({ term }) => term);
    this.head.replaceChildren(...this.columns.map((name) => h("th", { scope: "col" }, name === "this" ? "this" : `$${name}`)), ...fields.map((term) => h("th", { scope: "col", class: "term" }, term)));
  }

  add(rows, areNew) {
    for (const row of rows) {
      if (!this.columns) this.addHead(row);
      const key = toJson(row.entities);
      const element = h("tr", { tabindex: "-1", class: areNew ? "new" : "", "data-this": row.entities.this ?? Object.values(row.entities)[0] ?? "" });
      this.fill(element, row);
      this.body.append(element);
      this.keys.set(key, [...(this.keys.get(key) ?? []), element]);
      this.size++;
    }
    if (!this.body.querySelector("[tabindex='0']")) this.body.querySelector("tr:not(.gone)")?.setAttribute("tabindex", "0");
  }

  fill(element, row) {
    const text = toJson(row);
    if (element.text === text) return;
    element.text = text;
    const fields = row.fields ?? [];
    this.hasValues ||= fields.some(({ value }) => value !== undefined);
    const entity = (name) => {
      const [text, bits] = [name === "this" ? row.this : row.vars[name], row.entities[name]];
      return h("td", {}, text === null || text === undefined ? h("span", { class: "note" }, "any") : link(text, bits));
    };
    element.replaceChildren(...this.columns.map(entity), ...fields.map((field) => h("td", { class: "field" }, ...described(field))));
  }

  refresh(rows) {
    for (const row of rows) {
      const known = this.keys.get(toJson(row.entities));
      if (known?.length === 1) this.fill(known[0], row);
    }
  }

  remove(rows) {
    for (const row of rows) {
      const key = toJson(row.entities);
      const known = this.keys.get(key) ?? [];
      const element = known.shift();
      if (known.length === 0) this.keys.delete(key);
      if (!element) continue;
      this.size--;
      element.classList.add("gone");
      if (element === document.activeElement) (element.nextElementSibling ?? element.previousElementSibling)?.focus();
      setTimeout(() => element.remove(), 700);
    }
  }

  focus() {
    const row = this.body.querySelector("tr:not(.gone)");
    row?.focus();
    return Boolean(row);
  }

  key(event) {
    const row = event.target.closest("tr");
    const rows = [...this.body.querySelectorAll("tr:not(.gone)")];
    const at = rows.indexOf(row);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: rows.length - 1, PageUp: Math.max(0, at - 10), PageDown: Math.min(rows.length - 1, at + 10) }[event.key];
    if (to !== undefined && to < 0) document.getElementById("expression").focus();
    else if (to !== undefined) {
      rows[to]?.focus();
    } else if (event.key === "Enter" && event.target === row && row.dataset.this) select(row.dataset.this);
    else return;
    event.preventDefault();
  }
}

/** What a field has, in a cell: its value, and what a wildcard has found. The rest is in the head and in the variables. */
function described({ term, is_set, id, value }) {
  if (!is_set) return [h("span", { class: "note", title: "not matched" }, "–")];
  const parts = [];
  if (id !== undefined && /[*|]/.test(term)) parts.push(h("span", { class: "matched", title: "matched by" }, shortId(id)));
  const isEmpty = value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
  if (!isEmpty) parts.push(h("span", { class: "literal" }, brief(value)));
  if (parts.length === 0) parts.push(h("span", { class: "tick", title: "matched" }, "✓"));
  return parts;
}

function shortId(id) {
  return typeof id === "string" ? (id.startsWith("(") ? id : shortName(id)) : toJson(id);
}

function brief(value) {
  const text = typeof value === "string" ? value : toJson(value).replaceAll("\"", "").replace(/^\{(.*)\}$/, "$1").replaceAll(",", ", ").replaceAll(":", ": ");
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}
