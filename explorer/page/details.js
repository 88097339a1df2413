// The selected entity: its name, components and pairs.

import { h, shortName } from "./dom.js";
import { at, showValue, withChange } from "./editor.js";
import { componentInsertion, pairInsertion } from "./insertion.js";
import { PairList } from "./pairs.js";
import { call, number, on, selected, tell, toJson } from "./rpc.js";

const REFRESH = 1000;

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
    await view.refresh();
    if (shown === view && !view.gone) pane.replaceChildren(view.element);
    else if (shown === view) nothing(`There is no ${entity}.`);
  }

  on("select", show);
  on("online", () => {
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
    try {
      const { name } = await call("relations.pairs", { entity: this.entity, limit: 1, values: false, direction: "as_source" });
      this.name.textContent = shortName(name);
      this.name.title = name;
      this.path.textContent = name === this.entity ? name : `${name === shortName(name) ? "" : `${name} · `}${this.entity}`;
      this.gone = false;
      this.state.hidden = true;
      await Promise.all([this.readComponents(), ...this.lists.map((list) => list.refresh())]);
    } catch (error) {
      if (error.code === -23401) {
        this.gone = true;
        this.state.hidden = false;
      } else if (error.code !== 502) throw error;
    }
  }

  async readComponents() {
    const entity = number(this.entity);
    const [listed, { components, errors }] = await readAll(entity);
    const known = new Map([...this.components.children].map((element) => [element.dataset.type, element]));
    const elements = listed.map((type) => {
      const element = known.get(type) ?? h("details", { class: "component", "data-type": type, open: true });
      this.describe(element, type, components[type], errors?.[type]);
      return element;
    });
    // Those with a value come first: others are only names.
    elements.sort((a, b) => b.hasValue - a.hasValue);
    const same = elements.length === this.components.children.length && elements.every((element, index) => element === this.components.children[index]);
    if (!same) this.components.replaceChildren(...elements);
  }

  describe(element, type, value, error) {
    const isTag = value !== undefined && value !== null && typeof value === "object" && Object.keys(value).length === 0;
    const text = value === undefined ? "" : toJson(value);
    // What is being written stays.
    const isWritten = element.contains(document.activeElement) && document.activeElement.matches("input");
    if (element.text === text || isWritten) return;
    element.text = text;
    element.hasValue = value !== undefined && !isTag;
    const remove = h("button", { class: "remove", title: "Remove this component", "aria-label": `Remove ${shortName(type)}`, onclick: (event) => this.remove(event, type) }, "×");
    const name = [h("span", { title: type }, shortName(type)), remove];
    if (!element.hasValue) {
      const reason = error?.message ?? "It is not registered for reflection.";
      element.classList.add("bare");
      return element.replaceChildren(h("summary", { title: value === undefined ? reason : type, tabindex: "-1" }, name));
    }
    element.classList.remove("bare");
    element.replaceChildren(h("summary", {}, name), showValue(value, (keys, change) => this.mutate(type, value, keys, change), shortName(type)));
  }

  async remove(event, type) {
    event.preventDefault();
    const { target } = event;
    try {
      await call("world.remove_components", { entity: number(this.entity), components: [type] });
      await this.readComponents();
    } catch (error) {
      target.after(h("span", { class: "bad", role: "alert" }, error.message));
    }
  }

  /**
   * Changes the place itself, so that the rest of the component stays as the app has it meanwhile. What JSON has as a key or an
   * index is not always a path of reflection (a variant of an enum, a vector): if it is none, what is around it is written.
   */
  async mutate(component, value, keys, change) {
    let first;
    for (let depth = keys.length; depth >= 0; depth--) {
      const [outer, inner] = [keys.slice(0, depth), keys.slice(depth)];
      if (!outer.every((key) => /^[A-Za-z_]\w*$/.test(key))) continue;
      const params = {
        entity: number(this.entity), component, path: outer.map((key) => `.${key}`).join(""), value: withChange(at(value, outer), inner, change),
      };
      try {
        await call("world.mutate_components", params);
        return await this.readComponents();
      } catch (error) {
        first ??= error;
      }
    }
    throw first;
  }
}
