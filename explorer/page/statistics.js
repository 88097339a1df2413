// The relations with their numbers of pairs and of changes.

import { count, h, svg } from "./dom.js";
import { on, select } from "./rpc.js";

const SAMPLES = 60;

export function showStatistics(pane) {
  const body = h("tbody");
  const total = h("p", { class: "note" });
  const head = ["Relation", "Pairs", "Changes/s", "", "Traits", "Values"];
  pane.append(h("div", { class: "scroll" }, total, h("table", { id: "statistics-table" },
    h("caption", {}, "Relations"),
    h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text)))), body)));
  /** By relation: when it was read last, its version then, and changes per second at each poll. */
  const known = new Map();

  on("relations", ({ relations, at }) => {
    let changes = 0;
    const rows = relations.map((relation) => {
      const before = known.get(relation.entity);
      const rates = before?.rates ?? [];
      if (before && at > before.at) {
        // The app was started anew, or the relation, if the version is a smaller one.
        rates.push(Math.max(0, relation.version - before.version) / ((at - before.at) / 1000));
        if (rates.length > SAMPLES) rates.shift();
      }
      known.set(relation.entity, { at, version: relation.version, rates });
      changes += rates.at(-1) ?? 0;
      return { ...relation, rates };
    });
    total.textContent = `${count(relations.reduce((sum, { pairs }) => sum + pairs, 0))} pairs, ${rate(changes)} changes per second`;
    if (pane.hidden) return;
    rows.sort((a, b) => b.pairs - a.pairs || a.relation.localeCompare(b.relation));
    body.replaceChildren(...rows.map(row));
  });

  function row({ relation, entity, pairs, rates, traits, value }) {
    return h("tr", {},
      h("th", { scope: "row" }, h("a", { href: entity, onclick: (event) => (event.preventDefault(), select(entity)) }, relation)),
      h("td", { class: "number" }, count(pairs)),
      h("td", { class: "number" }, rate(rates.at(-1) ?? 0)),
      h("td", {}, line(rates)),
      h("td", {}, traits),
      h("td", { title: value }, value ? value.replace(/(?:\w+::)+/g, "") : ""));
  }
}

function rate(number) {
  return number >= 10 || number === 0 ? count(Math.round(number)) : number.toFixed(1);
}

/** A small line of the last numbers. */
function line(rates) {
  const [width, height] = [120, 20];
  const most = Math.max(1, ...rates);
  const points = rates.map((rate, at) => `${(at / (SAMPLES - 1)) * width},${height - 1 - (rate / most) * (height - 2)}`);
  return svg("svg", { class: "line", width, height, role: "img", "aria-label": `at most ${Math.round(most)} changes per second` },
    svg("polyline", { points: points.join(" ") }));
}
