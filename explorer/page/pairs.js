// The pairs of an entity, in both directions.

import { complete } from "./complete.js";
import { count, h } from "./dom.js";
import { valueView } from "./editor.js";
import { call, select } from "./rpc.js";

const PAGE = 50;

/** A link to an entity. */
export function link(entity, name) {
  return h("a", { href: entity, class: name.startsWith("#") ? "entity unnamed" : "entity", title: entity,
    onclick: (event) => (event.preventDefault(), select(entity)) }, name);
}

/** The pairs of an entity, and a form to insert one. `changed` is called after each change. */
export function pairsView(entity, relations, changed) {
  const problem = h("p", { class: "bad", role: "alert" });
  const lists = { as_source: h("ul", { class: "pairs", id: "pairs" }), as_target: h("ul", { class: "pairs", id: "pairs-to" }) };
  const headings = { as_source: h("h3", {}), as_target: h("h3", {}) };
  const shown = { as_source: PAGE, as_target: PAGE };
  const texts = { as_source: "Pairs", as_target: "Pairs to it" };

  async function change(method, params) {
    problem.textContent = "";
    await call(method, params);
    await changed();
  }

  function item(pair, direction) {
    const ends = pair.entities;
    const [source, target] = direction === "as_source" ? [entity, ends.target] : [ends.source, entity];
    const whole = { source, relation: ends.relation, target };
    const other = direction === "as_source" ? [ends.target, pair.target] : [ends.source, pair.source];
    const remove = () => change("relations.remove", whole).catch((error) => (problem.textContent = error.message));
    const save = (value) => change("relations.insert", { ...whole, value });
    return h("li", {},
      h("span", { class: "pair" },
        link(ends.relation, pair.relation), h("span", { class: "arrow", "aria-hidden": "true" }, direction === "as_source" ? "→" : "←"),
        link(...other),
        h("button", { class: "icon remove", title: "Remove the pair", "aria-label": `Remove (${pair.relation}, ${pair.target ?? "this"})`, onclick: remove }, "×")),
      pair.value === undefined ? null : valueView(pair.value, save, pair.relation),
      pair.values_error ? h("p", { class: "note bad" }, pair.values_error) : null);
  }

  const view = {
    element: null,
    key: "",
    /** Reads the pairs again. */
    async update(signal) {
      const [own, to] = await Promise.all(["as_source", "as_target"].map((direction) =>
        call("relations.pairs", { entity, direction, limit: shown[direction] }, signal)));
      const pages = { as_source: own.as_source, as_target: to.as_target };
      const key = JSON.stringify(pages);
      if (key === view.key || view.element.querySelector("dd input, li input")) return;
      view.key = key;
      for (const direction of ["as_source", "as_target"]) {
        const { pairs, total, next } = pages[direction];
        headings[direction].textContent = `${texts[direction]} (${count(total)})`;
        const more = () => {
          shown[direction] = Math.min(shown[direction] * 4, 1000);
          return view.update();
        };
        lists[direction].replaceChildren(...pairs.map((pair) => item(pair, direction)),
          ...(next === undefined ? [] : [h("li", {}, h("button", { onclick: more }, `${count(total - pairs.length)} more …`))]));
      }
    },
  };

  const relation = h("select", { "aria-label": "Relation", id: "new-relation" }, relations.map((name) => h("option", { value: name }, name)));
  const target = h("input", { "aria-label": "Target", id: "new-target", placeholder: "Target", autocomplete: "off", spellcheck: "false" });
  const value = h("input", { "aria-label": "Value as JSON", id: "new-value", placeholder: "Value (JSON), if it has one", autocomplete: "off", spellcheck: "false" });
  const insert = async (event) => {
    event.preventDefault();
    try {
      const given = value.value.trim() === "" ? {} : { value: JSON.parse(value.value) };
      await change("relations.insert", { source: entity, relation: relation.value, target: target.value.trim(), ...given });
      target.value = value.value = "";
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const form = h("form", { class: "insert", onsubmit: insert }, relation, h("span", { class: "field" }, target), value,
    h("button", { id: "insert-pair" }, "Insert"));
  view.element = h("section", { class: "of-pairs" }, headings.as_source, lists.as_source, form, problem, headings.as_target, lists.as_target);
  complete(target, { types: false });
  return view;
}
