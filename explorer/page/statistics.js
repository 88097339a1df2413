// The relations: traits, numbers of pairs, changes a second.

import { count, h, shortName, svg } from "./dom.js";
import { link } from "./pairs.js";
import { on, tell } from "./rpc.js";

/** So many seconds are drawn. */
const HISTORY = 60;
const [WIDTH, HEIGHT] = [90, 22];

const COLUMNS = [
  { key: "relation", title: "Relation", compare: (a, b) => a.relation.localeCompare(b.relation) },
  { key: "traits", title: "Traits", compare: (a, b) => a.traits.localeCompare(b.traits) },
  { key: "value", title: "Value", compare: (a, b) => (a.value ?? "").localeCompare(b.value ?? "") },
  { key: "pairs", title: "Pairs", isNumber: true, compare: (a, b) => b.pairs - a.pairs },
  { key: "rate", title: "Changes / s", isNumber: true, compare: (a, b) => b.rate - a.rate },
  { key: "history", title: "Last minute" },
];

export function showStatistics(panel) {
  const known = new Map();
  let sorted = COLUMNS[3];
  const head = h("tr");
  const body = h("tbody", { id: "relations" });
  const foot = h("tr");
  panel.append(h("div", { class: "scroll" }, h("table", { class: "rows statistics" }, h("thead", {}, head), body, h("tfoot", {}, foot))));

  for (const column of COLUMNS) {
    const sort = () => {
      sorted = column;
      show();
    };
    const title = column.compare ? h("button", { class: "sort", onclick: sort }, column.title) : column.title;
    head.append(h("th", { scope: "col", class: column.isNumber ? "number" : "", "data-column": column.key }, title));
  }

  /** Changes since the last time, by the second. */
  function measure({ relations, at }) {
    const gone = new Set(known.keys());
    for (const relation of relations) {
      gone.delete(relation.entity);
      const before = known.get(relation.entity);
      const seconds = before ? Math.max((at - before.at) / 1000, 0.001) : 1;
      // An app that was started anew counts from the beginning.
      const changes = before ? Math.max(0, Number(relation.version) - before.version) : 0;
      const rate = changes / seconds;
      const history = [...(before?.history ?? []), rate].slice(-HISTORY);
      known.set(relation.entity, { ...before, ...relation, version: Number(relation.version), at, rate, history });
    }
    for (const entity of gone) known.delete(entity);
  }

  function show() {
    if (panel.hidden) return;
    for (const column of COLUMNS) {
      const cell = head.querySelector(`[data-column=${column.key}]`);
      if (column === sorted) cell.setAttribute("aria-sort", column.isNumber ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    const list = [...known.values()].sort((a, b) => sorted.compare(a, b) || a.relation.localeCompare(b.relation));
    const most = Math.max(1, ...list.flatMap(({ history }) => history));
    list.forEach((relation, index) => {
      const row = (relation.row ??= makeRow(relation));
      known.get(relation.entity).row = row;
      row.update(relation, most);
      if (body.children[index] !== row.element) body.insertBefore(row.element, body.children[index] ?? null);
    });
    while (body.children.length > list.length) body.lastChild.remove();
    const sum = (key) => list.reduce((sum, relation) => sum + relation[key], 0);
    foot.replaceChildren(h("th", { scope: "row" }, `${count(list.length)} relations`), h("td"), h("td"),
      h("td", { class: "number" }, count(sum("pairs"))), h("td", { class: "number" }, rateText(sum("rate"))), h("td"));
  }

  on("relations", (detail) => {
    measure(detail);
    show();
  });
  on("tab", show);
}

function rateText(rate) {
  return rate === 0 ? "0" : rate < 10 ? rate.toFixed(1) : count(Math.round(rate));
}

/** A row, of which only what has changed is written again: a button in it keeps the focus. */
function makeRow(relation) {
  const [pairs, rate, history] = [h("td", { class: "number" }), h("td", { class: "number" }), h("td")];
  const ask = () => tell("expression", `(${relation.relation}, $target)`);
  const element = h("tr", { "data-relation": relation.relation },
    h("td", { class: "name" }, link(relation.relation, relation.entity, "relation"), h("button", { class: "ask", title: "Its pairs as rows", "aria-label": `Rows of ${relation.relation}`, onclick: ask }, "≡")),
    h("td", { class: "traits" }, relation.traits), h("td", { class: "traits", title: relation.value }, shortName(relation.value ?? "")), pairs, rate, history);
  return {
    element,
    update(relation, most) {
      pairs.textContent = count(relation.pairs);
      rate.textContent = rateText(relation.rate);
      history.replaceChildren(sparkline(relation.history, most));
    },
  };
}

function sparkline(values, most) {
  const x = (index) => WIDTH - ((values.length - 1 - index) * WIDTH) / (HISTORY - 1);
  const y = (value) => HEIGHT - 2 - (Math.sqrt(value / most) * (HEIGHT - 4));
  const line = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const area = `${x(0).toFixed(1)},${HEIGHT - 1} ${line} ${WIDTH},${HEIGHT - 1}`;
  return svg("svg", { class: "sparkline", width: WIDTH, height: HEIGHT, role: "img", "aria-label": `changes a second, at most ${rateText(Math.max(0, ...values))}` },
    svg("polygon", { points: area }), svg("polyline", { points: line }));
}
