// The pairs of an entity in one direction, a page at a time.

import { count, h, shortName } from "./dom.js";
import { showValue, withChange } from "./editor.js";
import { call, callPairs, select, toJson } from "./rpc.js";

const PAGE = 50;
/** More are not read again by themselves. */
const MAX_REFRESHED = 200;

/** A name that shows its entity when it is pressed. */
export function link(name, entity, kind = "") {
  return h("button", { class: `link ${kind}`, title: name, "data-entity": entity, onclick: () => select(entity) }, shortName(name));
}

export class PairList {
  /** @param direction `as_source` or `as_target` */
  constructor(entity, direction) {
    this.entity = entity;
    this.direction = direction;
    this.other = direction === "as_source" ? "target" : "source";
    this.offset = 0;
    this.pairs = [];
    this.total = h("span", { class: "badge" }, "0");
    this.rows = h("ul", { class: "pairs", "data-direction": direction });
    this.more = h("button", { class: "quiet", hidden: true, onclick: () => this.read(this.pairs.length + PAGE) }, "more …");
    this.element = h("section", {},
      h("h3", {}, direction === "as_source" ? "Pairs" : "Pairs to it", this.total), this.rows, this.more);
  }

  /** Reads the first pairs, up to `wanted`. */
  async read(wanted) {
    const { first, entries, next } = await callPairs(this.entity, this.direction, { wanted });
    this.pairs = entries;
    this.total.textContent = count(first.total);
    this.more.hidden = next === undefined;
    this.show();
  }

  refresh() {
    if (this.pairs.length > MAX_REFRESHED) return null;
    return this.read(Math.max(PAGE, this.pairs.length));
  }

  /** Rows that are as they were stay, with what is being written in them. */
  show() {
    const before = new Map([...this.rows.children].map((row) => [row.dataset.key, row]));
    const rows = this.pairs.map((pair) => {
      const key = `${pair.entities.relation} ${pair.entities[this.other]}`;
      const row = before.get(key) ?? h("li", { "data-key": key });
      before.delete(key);
      const text = toJson(pair);
      const isWritten = row.contains(document.activeElement) && document.activeElement.matches("input");
      if (row.text !== text && !isWritten) {
        row.text = text;
        row.replaceChildren(...this.describe(pair));
      }
      return row;
    });
    for (const row of before.values()) row.remove();
    rows.forEach((row, index) => {
      if (this.rows.children[index] !== row) this.rows.insertBefore(row, this.rows.children[index] ?? null);
    });
    if (rows.length === 0) this.rows.replaceChildren(h("li", { class: "note" }, "none"));
  }

  describe(pair) {
    const { entities } = pair;
    const isSource = this.direction === "as_source";
    const ends = { source: isSource ? this.entity : entities.source, relation: entities.relation, target: isSource ? entities.target : this.entity };
    const remove = async (event) => {
      event.target.disabled = true;
      await call("relations.remove", ends).catch((error) => event.target.after(h("span", { class: "bad", role: "alert" }, error.message)));
      await this.read(Math.max(PAGE, this.pairs.length));
    };
    const save = async (keys, change) => {
      await call("relations.insert", { ...ends, value: withChange(pair.value, keys, change) });
      pair.value = withChange(pair.value, keys, change);
    };
    const relation = link(pair.relation, entities.relation, "relation");
    const other = link(pair[this.other], entities[this.other]);
    const value = pair.value === undefined ? null : h("div", { class: "pair-value" }, showValue(pair.value, save, `${pair.relation} ${pair[this.other]}`));
    return [
      h("div", { class: "pair" },
        ...(isSource ? [relation, h("span", { class: "arrow", "aria-hidden": "true" }, "→"), other] : [other, h("span", { class: "arrow", "aria-hidden": "true" }, "→"), relation]),
        h("span", { class: "grow" }),
        h("button", { class: "remove", title: "Remove this pair", "aria-label": `Remove ${pair.relation} ${pair[this.other]}`, onclick: remove }, "×")),
      value,
      pair.values_error ? h("div", { class: "note" }, pair.values_error) : null,
    ].filter((part) => part !== null);
  }
}
