// The selected entity: its components and its pairs, read again each second.

import { components } from "./complete.js";
import { count, h, shortName } from "./dom.js";
import { valueView } from "./editor.js";
import { pairsView } from "./pairs.js";
import { call, isAborted, number, on, selected, tell } from "./rpc.js";

const POLL = 1000;

export function showDetails(pane) {
  let relations = [];
  let controller = new AbortController();
  let timer;
  on("relations", (told) => (relations = told.relations.map(({ relation }) => relation)));
  on("select", show);
  on("online", () => show(selected()));
  pane.append(h("p", { class: "note" }, "Select an entity to see its components and pairs."));

  async function show(entity) {
    clearTimeout(timer);
    controller.abort();
    controller = new AbortController();
    if (!entity) return;
    const { signal } = controller;
    if (relations.length === 0) relations = (await call("relations.list", {}).catch(() => ({ relations: [] }))).relations.map(({ relation }) => relation);
    const title = h("h2", {});
    const problem = h("p", { class: "note bad", role: "alert" });
    const list = h("div", { class: "components", id: "components" });
    const pairs = pairsView(entity, relations, () => pairs.update(signal));
    let key = "";

    async function update() {
      const [{ name }, of, all] = await Promise.all([
        call("relations.pairs", { entity, limit: 1, values: false }, signal),
        readComponents(entity, signal),
        call("world.list_components", { entity: number(entity) }, signal),
        pairs.update(signal),
      ]);
      title.replaceChildren(h("span", { class: name.startsWith("#") ? "label unnamed" : "label" }, name), h("span", { class: "bits" }, entity),
        h("button", { class: "icon", title: "Show it in the graph", "aria-label": "Show it in the graph", onclick: () => tell("graph", entity) }, "⌥"));
      const fresh = JSON.stringify([of, all.length]);
      if (fresh === key || list.querySelector("input")) return;
      key = fresh;
      fill(of, all.length);
    }

    function fill(of, total) {
      const shown = Object.entries(of).sort(([a], [b]) => shortName(a).localeCompare(shortName(b)));
      const others = total - shown.length;
      list.replaceChildren(h("h3", {}, `Components (${count(total)})`), ...shown.map(([path, value]) => {
        const save = async (whole) => {
          await call("world.mutate_components", { entity: number(entity), component: path, path: "", value: whole });
          key = "";
          await update();
        };
        const isTag = value !== null && typeof value === "object" && Object.keys(value).length === 0;
        return h("div", { class: "component" }, h("h4", { title: path }, shortName(path)), isTag ? null : valueView(value, save, shortName(path)));
      }), ...(others > 0 ? [h("p", { class: "note" }, `${count(others)}${shown.length > 0 ? " more" : ""} without registration for reflection`)] : []));
    }

    async function poll() {
      try {
        if (!document.hidden) await update();
        problem.textContent = "";
      } catch (error) {
        if (isAborted(error)) return;
        problem.textContent = error.message;
      }
      if (!signal.aborted) timer = setTimeout(poll, POLL);
    }
    pane.replaceChildren(title, problem, list, pairs.element);
    await poll();
  }
}

/** The values of an entity's components, of those that are registered: the others have no names that could be asked for. */
async function readComponents(entity, signal) {
  const paths = await components();
  const answer = await call("world.get_components", { entity: number(entity), components: paths, strict: false }, signal);
  return answer.components;
}
