// The selected entity: its name, components and pairs.

import { arrange, h, latest, shortName } from "./dom.js";
import { at, isWritten, refused, showValue, withChange } from "./editor.js";
import { componentInsertion, pairInsertion } from "./insertion.js";
import { PairList } from "./pairs.js";
import { call, number, on, selected, tell, toJson } from "./rpc.js";

const REFRESH = 1000;
/** Codes of Bevy's methods. */
const [NO_ENTITY, COMPONENT] = [-23401, -23402];

export function showDetails(pane) {
  let shown = null;

  function nothing(text) {
    shown = null;
    pane.replaceChildren(h("p", { class: "note" }, text));
  }

  async function show(entity) {
    if (!entity) return nothing("Select an entity to see what it has.");
    if (shown?.entity === entity) return;
    const view = new EntityView(entity);
    shown = view;
    const problem = await view.refresh().then(() => null, (error) => error.message);
    if (shown !== view) return;
    if (problem !== null) nothing(problem);
    else if (view.gone) nothing(`There is no ${entity}.`);
    else pane.replaceChildren(view.element);
  }

  on("select", show);
  on("online", () => {
    // What is there is read again by itself, with what is written in it.
    if (shown?.element.isConnected) return;
    shown = null;
    show(selected());
  });
  nothing("Select an entity to see what it has.");
  (async function follow() {
    if (shown && !document.hidden && shown.element.isConnected) await shown.refresh().catch(() => {});
    setTimeout(follow, REFRESH);
  })();
}

/** The types of an entity's components, their values, and why some have none. */
async function readAll(entity) {
  const listed = await call("world.list_components", { entity });
  const read = (components) => call("world.get_components", { entity, components });
  if (!listed.some((type) => type.startsWith("<"))) return [listed, await read(listed)];
  // Without Bevy's feature `debug`, components have no names: those that are registered are asked for by the paths of their types.
  const { components } = await read(await call("world.list_components"));
  return [Object.keys(components).sort(), { components }];
}

class EntityView {
  constructor(entity) {
    this.entity = entity;
    [this.beginRefresh, this.beginRead] = [latest(), latest()];
    this.name = h("h2", {}, entity);
    this.path = h("div", { class: "path" });
    this.components = h("div", { class: "components" });
    this.lists = ["as_source", "as_target"].map((direction) => new PairList(entity, direction));
    this.state = h("p", { class: "note bad", hidden: true }, "This entity is gone.");
    const around = () => tell("around", entity);
    this.element = h("div", { class: "scroll entity", "data-entity": entity },
      h("header", {}, this.name, this.path, h("button", { class: "quiet", onclick: around }, "Show in the graph"), this.state),
      h("section", {}, h("h3", {}, "Components"), this.components), componentInsertion(entity, () => this.readComponents()),
      this.lists[0].element, pairInsertion(entity, () => this.refresh()), this.lists[1].element);
  }

  async refresh() {
    const isLatest = this.beginRefresh();
    try {
      const { name } = await call("relations.pairs", { entity: this.entity, limit: 1, values: false, direction: "as_source" });
      if (!isLatest()) return;
      this.name.textContent = shortName(name);
      this.name.title = name;
      this.path.textContent = name === this.entity ? name : `${name === shortName(name) ? "" : `${name} · `}${this.entity}`;
      this.gone = false;
      this.state.hidden = true;
      await Promise.all([this.readComponents(), ...this.lists.map((list) => list.refresh())]);
    } catch (error) {
      if (!isLatest()) return;
      if (error.code === NO_ENTITY) {
        this.gone = true;
        this.state.hidden = false;
      } else if (error.code !== 502) throw error;
    }
  }

  async readComponents() {
    const isLatest = this.beginRead();
    const [listed, { components, errors }] = await readAll(number(this.entity));
    if (!isLatest()) return;
    const known = new Map([...this.components.children].map((element) => [element.dataset.type, element]));
    const elements = listed.map((type) => {
      const element = known.get(type) ?? h("details", { class: "component", "data-type": type, open: true });
      this.describe(element, type, components[type], errors?.[type]);
      return element;
    });
    // Those with a value come first: others are only names.
    elements.sort((a, b) => b.hasValue - a.hasValue);
    arrange(this.components, elements);
  }

  describe(element, type, value, error) {
    // Changes are written into the newest value, also while an older one is shown.
    element.value = value;
    const isTag = value !== undefined && value !== null && typeof value === "object" && Object.keys(value).length === 0;
    const text = value === undefined ? "" : toJson(value);
    if (element.text === text || isWritten(element)) return;
    element.text = text;
    element.hasValue = value !== undefined && !isTag;
    const remove = h("button", { class: "remove", title: "Remove this component", "aria-label": `Remove ${shortName(type)}`, onclick: (event) => this.remove(event, element, type) }, "×");
    const name = [h("span", { title: type }, shortName(type)), remove, element.problem];
    if (!element.hasValue) {
      const reason = error?.message ?? "It is not registered for reflection.";
      element.classList.add("bare");
      return element.replaceChildren(h("summary", { title: value === undefined ? reason : type, tabindex: "-1" }, name));
    }
    element.classList.remove("bare");
    element.replaceChildren(h("summary", {}, name), showValue(value, (keys, change) => this.mutate(element, type, keys, change), shortName(type)));
  }

  async remove(event, element, type) {
    event.preventDefault();
    refused(element, null);
    try {
      await call("world.remove_components", { entity: number(this.entity), components: [type] });
    } catch (error) {
      return refused(element, error.message);
    }
    this.readSoon();
  }

  /** After a change. The next refresh says what goes wrong here. */
  readSoon() {
    this.readComponents().catch(() => {});
  }

  /**
   * Changes the place itself, so that the rest of the component stays as the app has it meanwhile. What JSON has as a key or an
   * index is not always a path of reflection (a variant of an enum, a vector): if it is none, what is around it is written.
   */
  async mutate(element, component, keys, change) {
    // Bevy's method panics without the entity.
    if (this.gone) throw new Error(this.state.textContent);
    const { value } = element;
    let first;
    for (let depth = keys.length; depth >= 0; depth--) {
      const [outer, inner] = [keys.slice(0, depth), keys.slice(depth)];
      if (!outer.every((key) => /^[A-Za-z_]\w*$/.test(key))) continue;
      const params = {
        entity: number(this.entity), component, path: outer.map((key) => `.${key}`).join(""), value: withChange(at(value, outer), inner, change),
      };
      try {
        await call("world.mutate_components", params);
      } catch (error) {
        first ??= error;
        if (error.code === COMPONENT) continue;
        break;
      }
      element.value = withChange(element.value, keys, change);
      // What is in the field was not read: whatever comes next is shown.
      element.text = null;
      return this.readSoon();
    }
    throw first;
  }
}
