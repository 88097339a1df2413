// The pairs of an entity in one direction, a page at a time.

import { arrange, count, h, latest, shortName } from "./dom.js";
import { isWritten, refused, showValue, withChange } from "./editor.js";
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
    this.wanted = PAGE;
    this.begin = latest();
    this.pairs = [];
    this.total = h("span", { class: "badge" }, "0");
    this.rows = h("ul", { class: "pairs", "data-direction": direction });
    this.more = h("button", { class: "quiet", hidden: true, onclick: () => this.readMore() }, "more …");
    this.element = h("section", {},
      h("h3", {}, direction === "as_source" ? "Pairs" : "Pairs to it", this.total), this.rows, this.more);
  }

  /** Reads the first pairs, up to `wanted`. */
  async read() {
    const isLatest = this.begin();
    const { first, entries, next } = await callPairs(this.entity, this.direction, { wanted: this.wanted });
    if (!isLatest()) return;
    this.pairs = entries;
    this.total.textContent = count(first.total);
    this.more.hidden = next === undefined;
    this.show();
  }

  /** The next refresh says what goes wrong here. */
  readSoon() {
    this.read().catch(() => {});
  }

  readMore() {
    this.wanted = this.pairs.length + PAGE;
    this.readSoon();
  }

  refresh() {
    return this.pairs.length > MAX_REFRESHED ? null : this.read();
  }

  /** Rows that are as they were stay, with what is being written in them. */
  show() {
    const before = new Map([...this.rows.children].map((row) => [row.dataset.key, row]));
    const rows = this.pairs.map((pair) => {
      const key = `${pair.entities.relation} ${pair.entities[this.other]}`;
      const row = before.get(key) ?? h("li", { "data-key": key });
      // Changes are written into the newest value, also while an older one is shown.
      row.pair = pair;
      const text = toJson(pair);
      if (row.text !== text && !isWritten(row)) {
        row.text = text;
        row.replaceChildren(...this.describe(row, pair));
      }
      return row;
    });
    arrange(this.rows, rows.length > 0 ? rows : [h("li", { class: "note" }, "none")]);
  }

  describe(row, pair) {
    const { entities } = pair;
    const isSource = this.direction === "as_source";
    const ends = { source: isSource ? this.entity : entities.source, relation: entities.relation, target: isSource ? entities.target : this.entity };
    const remove = async ({ target }) => {
      target.disabled = true;
      refused(row, null);
      await call("relations.remove", ends).catch((error) => {
        target.disabled = false;
        refused(row, error.message);
      });
      this.readSoon();
    };
    const save = async (keys, change) => {
      await call("relations.insert", { ...ends, value: withChange(row.pair.value, keys, change) });
      row.pair.value = withChange(row.pair.value, keys, change);
      // What is in the field was not read: whatever comes next is shown.
      row.text = null;
      this.readSoon();
    };
    const relation = link(pair.relation, entities.relation, "relation");
    const other = link(pair[this.other], entities[this.other]);
    const value = pair.value === undefined ? null : h("div", { class: "pair-value" }, showValue(pair.value, save, `${pair.relation} ${pair[this.other]}`));
    return [
      h("div", { class: "pair" },
        ...(isSource ? [relation, h("span", { class: "arrow", "aria-hidden": "true" }, "→"), other] : [other, h("span", { class: "arrow", "aria-hidden": "true" }, "→"), relation]),
        h("span", { class: "grow" }),
        h("button", { class: "remove", title: "Remove this pair", "aria-label": `Remove ${pair.relation} ${pair[this.other]}`, onclick: remove }, "×"), row.problem),
      value,
      pair.values_error ? h("div", { class: "note" }, pair.values_error) : null,
    ].filter((part) => part !== null);
  }
}
