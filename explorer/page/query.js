// An expression, its rows as a table, which follows the world if that is wanted, and its plan.

import { complete } from "./complete.js";
import { count, debounce, h } from "./dom.js";
import { link } from "./pairs.js";
import { planView } from "./plan.js";
import { call, isAborted, on, tell, watch } from "./rpc.js";

const PAGE = 200;
const FLASH = 900;

export function showQuery(pane) {
  const input = h("textarea", { id: "expression", rows: 2, spellcheck: "false", autocomplete: "off", "aria-label": "Expression",
    placeholder: "Ship, (DockedTo, $port)", "aria-describedby": "error" });
  const live = h("input", { type: "checkbox", id: "live", checked: true });
  const run = h("button", { id: "run" }, "Run");
  const plan = h("button", { id: "explain" }, "Plan");
  const state = h("span", { id: "rows-state", class: "note", role: "status" });
  const error = h("div", { id: "error", role: "alert" });
  const result = h("div", { class: "scroll", id: "result" });
  pane.append(h("div", { class: "query" }, h("div", { class: "field" }, input),
    h("div", { class: "tools" }, run, h("label", {}, live, " live"), plan, state), error), result);
  let controller = new AbortController();
  let table = null;

  function begin() {
    controller.abort();
    controller = new AbortController();
    error.replaceChildren();
    state.textContent = "";
    table = null;
    return controller.signal;
  }

  async function start() {
    const signal = begin();
    const expr = input.value.trim();
    if (expr === "") return result.replaceChildren();
    tell("expression-run", expr);
    try {
      await (live.checked ? follow(expr, signal) : read(expr, signal));
    } catch (problem) {
      if (isAborted(problem)) return;
      result.replaceChildren();
      state.textContent = "";
      showError(problem, expr);
    }
  }

  async function follow(expr, signal) {
    await watch("relations.query+watch", { expr }, signal, (moved) => {
      if (signal.aborted) return;
      if (table === null) {
        table = makeTable(moved.variables ?? []);
        result.replaceChildren(table.element);
      }
      table.leave(moved.left);
      table.enter(moved.entered);
      state.textContent = `${rowsText(table.size())}, live`;
    });
    if (!signal.aborted) state.textContent += ", ended";
  }

  async function read(expr, signal) {
    let cursor;
    const more = h("button", { id: "more" }, "More rows");
    const page = async () => {
      const params = cursor ? { expr, limit: PAGE, cursor } : { expr, limit: PAGE };
      const { variables, rows, next } = await call("relations.query", params, signal);
      if (signal.aborted) return;
      table ??= makeTable(variables);
      table.enter(rows);
      cursor = next;
      result.replaceChildren(table.element, ...(next ? [more] : []));
      state.textContent = next ? `the first ${rowsText(table.size())}` : rowsText(table.size());
    };
    more.addEventListener("click", () => page().catch((problem) => isAborted(problem) || showError(problem, expr)));
    await page();
  }

  /** Shows what is wrong, below the place in the text. */
  function showError(problem, expr) {
    const { start: from, end: to, param, suggestion, help, message } = problem.data;
    if (param !== "expr" || from === undefined) return error.replaceChildren(h("p", { class: "bad" }, problem.message));
    // Places count bytes.
    const bytes = new TextEncoder().encode(expr);
    const text = (first, last) => new TextDecoder().decode(bytes.slice(first, last));
    const use = () => {
      input.value = text(0, from) + suggestion + text(to);
      input.focus();
      start();
    };
    error.replaceChildren(
      h("pre", { class: "place" }, text(0, from), h("mark", {}, to > from ? text(from, to) : " "), text(to)),
      h("p", { class: "bad" }, message, suggestion ? [" ", h("button", { id: "suggestion", onclick: use }, `use ${suggestion}`)] : null),
      help ? h("p", { class: "note" }, help) : "");
  }
  async function explain() {
    const signal = begin();
    const expr = input.value.trim();
    if (expr === "") return;
    try {
      const explained = await call("relations.explain", { expr, run: true }, signal);
      state.textContent = rowsText(explained.rows);
      result.replaceChildren(planView(explained.plan));
    } catch (problem) {
      if (isAborted(problem)) return;
      result.replaceChildren();
      showError(problem, expr);
    }
  }

  run.addEventListener("click", start);
  plan.addEventListener("click", explain);
  live.addEventListener("change", start);
  complete(input);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      start();
    }
  });
  input.addEventListener("input", debounce(100, () => (input.rows = Math.min(8, Math.max(2, input.value.split("\n").length)))));
  on("expression", (expr) => {
    input.value = expr;
    start();
  });
  on("online", () => live.checked && input.value.trim() !== "" && start());
}

function rowsText(rows) {
  return rows === 1 ? "1 row" : `${count(rows)} rows`;
}

/** A table of rows, which come and go. */
function makeTable(variables) {
  let heads = null;
  const [head, body] = [h("thead"), h("tbody")];
  const element = h("table", { id: "rows" }, h("caption", {}, "Rows"), head, body);
  /** Rows by their entities: with a wildcard several have the same. */
  const rows = new Map();
  let size = 0;

  function fill(row) {
    const first = heads === null;
    // Rows may differ in whether they are about an entity, and not in their fields.
    heads ??= [...(row.entities.this ? ["this"] : []), ...variables.map((name) => `$${name}`), ...row.fields.map(({ term }) => term)];
    if (first) head.replaceChildren(h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text))));
    const cells = [
      ...(heads[0] === "this" ? [cell(row.entities.this, row.this)] : []),
      ...variables.map((name) => cell(row.entities[name], row.vars[name])),
      ...row.fields.map((field) => h("td", { class: field.is_set ? "" : "unset", title: field.id ?? "" }, fieldText(field))),
    ];
    return h("tr", {}, cells);
  }

  return {
    element,
    size: () => size,
    enter(entered) {
      const fragment = document.createDocumentFragment();
      for (const row of entered) {
        const line = fill(row);
        const key = JSON.stringify(row.entities);
        rows.set(key, [...(rows.get(key) ?? []), line]);
        fragment.append(line);
        if (size > 0 || body.childElementCount > 0) {
          line.classList.add("entered");
          setTimeout(() => line.classList.remove("entered"), FLASH);
        }
      }
      size += entered.length;
      body.append(fragment);
    },
    leave(left) {
      for (const row of left) {
        const key = JSON.stringify(row.entities);
        const lines = rows.get(key) ?? [];
        lines.pop()?.remove();
        if (lines.length === 0) rows.delete(key);
      }
      size -= left.length;
    },
  };
}

function cell(entity, name) {
  return h("td", {}, entity ? link(entity, name ?? entity) : "–");
}

function fieldText({ is_set, value, id, source }) {
  if (!is_set) return "–";
  const of = source ? ` of ${source}` : "";
  return h("span", { title: `${id ?? ""}${of}` }, value === undefined || (value !== null && typeof value === "object" && Object.keys(value).length === 0) ? "✓" : brief(value));
}

function brief(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
