// The entities as a tree of a relation, a page at a time; and a search by name.

import { count, debounce, h } from "./dom.js";
import { MAX_PAGES, callPages, callSearch, isAborted, on, select, selected } from "./rpc.js";

const PAGE = 100;
/** A node that shows more than this is not read again by itself. */
const MAX_REFRESHED = 500;

export function showTree(pane) {
  const search = h("input", {
    id: "search", type: "search", placeholder: "Search names, or #bits", "aria-label": "Search entities",
    autocomplete: "off", spellcheck: "false",
  });
  const along = h("select", { id: "along", "aria-label": "The relation of the tree", title: "The relation of the tree" },
    h("option", { value: "ChildOf" }, "ChildOf"));
  const tree = h("ul", { role: "tree", class: "tree", id: "tree", "aria-label": "Entities" });
  const found = h("ul", { role: "listbox", class: "tree found", id: "found", "aria-label": "Found entities", hidden: true });
  pane.append(h("div", { class: "tools" }, search, along), h("div", { class: "scroll" }, tree, found));

  // A node of the tree, or of what is found.
  function node(entity, level) {
    const item = h("li", { role: "none" });
    const row = h("div", {
      role: "treeitem", class: "row", tabindex: "-1", "aria-level": level, "aria-selected": entity.entity === selected(),
      "data-entity": entity.entity, style: { "--level": level },
    });
    item.append(row);
    item.row = row;
    row.node = { entity: null, level, item, group: null, shown: 0, label: null };
    describe(row, entity);
    return item;
  }

  function describe(row, entity) {
    const { node } = row;
    const text = entity.label ?? (entity.name.startsWith("#") ? (entity.components ?? []).join(" ") || "empty" : entity.name);
    const key = `${text} ${entity.children}`;
    node.entity = entity;
    if (node.key === key) return;
    node.key = key;
    const opens = entity.children > 0;
    if (opens && !row.hasAttribute("aria-expanded")) row.setAttribute("aria-expanded", "false");
    if (!opens) {
      row.removeAttribute("aria-expanded");
      close(row);
    }
    const parts = [
      h("span", { class: "twist", "aria-hidden": "true" }, opens ? "▸" : ""),
      h("span", { class: entity.label === undefined ? "label unnamed" : "label", title: entity.name }, text),
      entity.label === undefined && entity.name.startsWith("#") ? h("span", { class: "bits" }, entity.name) : null,
      opens ? h("span", { class: "badge" }, count(entity.children)) : null,
    ];
    row.replaceChildren(...parts.filter((part) => part !== null));
  }

  function params(parent, offset, limit) {
    const relation = along.value;
    return parent.entity ? { relation, parent: parent.entity, offset, limit } : { relation, named: parent.named, offset, limit };
  }

  /** Reads entities from the first on until there are `wanted`. */
  async function read(parent, offset, wanted) {
    const ask = (next, left) => params(parent, next, Math.min(left, 500));
    const options = { wanted, start: offset, maxPages: MAX_PAGES };
    const { entries, next } = await callPages("relations.children", "entities", ask, options);
    return { entities: entries, next };
  }

  /** Shows entities in a list: items that were there stay, with what is open below them. */
  function fill(list, parent, level, { entities, next }) {
    const before = new Map([...list.children].filter((item) => item.row).map((item) => [item.row.dataset.entity, item]));
    const items = entities.map((entity) => {
      const item = before.get(entity.entity);
      if (!item) return node(entity, level);
      describe(item.row, entity);
      return item;
    });
    // Moving an element takes the focus from it.
    const focused = document.activeElement;
    let at = list.firstChild;
    for (const item of items) {
      if (item === at) at = at.nextSibling;
      else list.insertBefore(item, at);
    }
    const kept = new Set(items);
    for (const item of [...list.children]) if (!kept.has(item) && item.row) item.remove();
    if (focused !== document.activeElement && focused.isConnected) focused.focus();
    // The button stays the same: a click on one that is replaced meanwhile is none.
    const last = list.querySelector(":scope > .more");
    if (next === undefined) last?.remove();
    else {
      const item = last ?? more(list, parent, level);
      item.next = next;
      if (item !== list.lastChild) list.append(item);
    }
    list.shown = entities.length;
    if (!tree.querySelector("[tabindex='0']")) tree.querySelector(".row")?.setAttribute("tabindex", "0");
  }

  function more(list, parent, level) {
    const load = async () => {
      const button = item.querySelector("button");
      button.disabled = list.loads = true;
      const page = await read(parent, item.next, PAGE).catch(() => null);
      button.disabled = list.loads = false;
      if (!page) return;
      // Who has gone on meanwhile keeps the focus.
      const isThere = [document.body, button].includes(document.activeElement);
      const entities = [...list.children].filter((item) => item.row).map((item) => item.row.node.entity);
      const first = page.entities[0]?.entity;
      fill(list, parent, level, { entities: [...entities, ...page.entities], next: page.next });
      if (isThere) list.querySelector(`:scope > li > [data-entity="${first}"]`)?.focus();
    };
    const item = h("li", { role: "none", class: "more" },
      h("button", { class: "row", style: { "--level": level }, onclick: load }, "more …"));
    return item;
  }

  async function open(row) {
    const { node } = row;
    if (node.group || row.getAttribute("aria-expanded") !== "false") return;
    row.setAttribute("aria-expanded", "true");
    node.group = h("ul", { role: "group" });
    node.item.append(node.group);
    const parent = node.parent ?? { entity: node.entity.entity };
    // The next refresh reads what goes wrong here.
    const page = await read(parent, 0, PAGE).catch(() => null);
    if (page && node.group) fill(node.group, parent, node.level + 1, page);
  }

  function close(row) {
    if (row.getAttribute("aria-expanded") === "true") row.setAttribute("aria-expanded", "false");
    row.node.group?.remove();
    row.node.group = null;
  }

  function toggle(row) {
    return row.getAttribute("aria-expanded") === "true" ? close(row) : open(row);
  }

  // Entities without a name are many, and most are Bevy's own: they come last, under a node of their own.
  function unnamed() {
    const item = h("li", { role: "none" });
    const row = h("div", { role: "treeitem", class: "row", tabindex: "-1", "aria-level": 1, "aria-expanded": "false", id: "unnamed", style: { "--level": 1 } },
      h("span", { class: "twist", "aria-hidden": "true" }, "▸"), h("span", { class: "label unnamed" }, "without a name"));
    row.node = { entity: null, level: 1, item, group: null, parent: { named: false } };
    item.append(row);
    return item;
  }

  const named = { named: true };
  let generation = 0;

  async function start() {
    const mine = ++generation;
    const page = await read(named, 0, PAGE).catch(() => null);
    if (!page || mine !== generation) return;
    tree.replaceChildren();
    const roots = h("ul", { role: "none" });
    tree.append(roots, h("ul", { role: "none" }, unnamed()));
    fill(roots, named, 1, page);
    tree.roots = roots;
  }

  /** Reads what is open again. */
  async function refresh() {
    const mine = generation;
    const open = [...tree.querySelectorAll("[role=group]")].map((group) => [group, group.previousSibling.node]);
    const lists = [[tree.roots, { parent: named, level: 0 }], ...open.map(([group, node]) => [group, node])];
    for (const [list, node] of lists.slice(0, 20)) {
      const shown = list?.shown ?? 0;
      if (!list?.isConnected || list.loads || shown > MAX_REFRESHED) continue;
      const parent = node.parent ?? { entity: node.entity.entity };
      const page = await read(parent, 0, Math.max(shown, PAGE)).catch(() => null);
      if (mine !== generation) return;
      // More may have been asked for meanwhile.
      const isAsBefore = !list.loads && (list.shown ?? 0) === shown;
      if (page && list.isConnected && isAsBefore) fill(list, parent, node.level + 1, page);
    }
  }

  let refreshing = false;
  setInterval(async () => {
    if (refreshing || document.hidden || tree.hidden || !tree.roots) return;
    refreshing = true;
    await refresh().catch(() => {});
    refreshing = false;
  }, 2000);

  // Search.
  let controller = new AbortController();
  // The text whose entities are in `found`, and the one for which Enter was pressed before they were.
  let [answered, entered] = [null, null];
  const find = debounce(120, async () => {
    answered = null;
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    const text = search.value.trim();
    const searches = text !== "";
    tree.hidden = searches;
    found.hidden = !searches;
    if (!searches) return;
    if (/^#\d+$/.test(text)) return found.replaceChildren(h("li", { class: "note" }, "Enter selects this entity"));
    try {
      const { entries: entities, next } = await callSearch(text, { wanted: PAGE, signal });
      const rows = entities.map((entity) => {
        const item = node({ ...entity, children: 0 }, 1);
        item.row.setAttribute("role", "option");
        item.row.removeAttribute("aria-level");
        if (entity.name !== entity.label) item.row.append(h("span", { class: "bits" }, entity.name));
        return item;
      });
      const end = entities.length === 0 ? "No name contains this." : next === undefined ? null : "There are more: write more of the name.";
      const hadFocus = found.contains(document.activeElement);
      found.replaceChildren(...rows, ...(end ? [h("li", { class: "note" }, end)] : []));
      const first = found.querySelector(".row");
      first?.setAttribute("tabindex", "0");
      if (hadFocus) (first ?? search).focus();
      answered = text;
      if (entered === text) enter(text);
    } catch (error) {
      if (!isAborted(error)) found.replaceChildren(h("li", { class: "note bad" }, error.message));
    }
  });
  function enter(text) {
    entered = answered === text ? null : text;
    const first = found.querySelector(".row");
    if (/^#\d+$/.test(text)) select(text);
    else if (answered === text && first) select(first.dataset.entity);
  }

  search.addEventListener("input", () => {
    entered = null;
    find();
  });
  search.addEventListener("keydown", (event) => {
    const first = (tree.hidden ? found : tree).querySelector(".row");
    if (event.key === "Enter") enter(search.value.trim());
    else if (event.key === "ArrowDown" && first) first.focus();
    else if (event.key === "Escape") {
      search.value = "";
      entered = null;
      find();
    } else return;
    event.preventDefault();
  });

  // Mouse and keys.
  pane.addEventListener("click", (event) => {
    const row = event.target.closest("div.row");
    if (!row) return;
    focus(row);
    if (event.target.closest(".twist") || !row.dataset.entity) toggle(row);
    else select(row.dataset.entity);
  });
  pane.addEventListener("dblclick", (event) => {
    const row = event.target.closest("div.row");
    if (row && !event.target.closest(".twist")) toggle(row);
  });
  function focus(row) {
    const list = row.closest(".tree");
    list.querySelectorAll("[tabindex='0']").forEach((other) => other.setAttribute("tabindex", "-1"));
    row.setAttribute("tabindex", "0");
    row.focus();
  }
  pane.addEventListener("keydown", (event) => {
    const row = event.target.closest(".row");
    if (!row) return;
    const rows = [...row.closest(".tree").querySelectorAll(".row")];
    const at = rows.indexOf(row);
    const open_ = row.getAttribute?.("aria-expanded");
    const actions = {
      ArrowDown: () => rows[at + 1] && focus(rows[at + 1]),
      ArrowUp: () => (rows[at - 1] ? focus(rows[at - 1]) : search.focus()),
      Home: () => focus(rows[0]),
      End: () => focus(rows.at(-1)),
      ArrowRight: () => (open_ === "false" ? open(row) : open_ === "true" && rows[at + 1] && focus(rows[at + 1])),
      ArrowLeft: () => {
        if (open_ === "true") return close(row);
        const above = row.closest("[role=group]")?.previousSibling;
        if (above) focus(above);
      },
      Enter: () => (row.dataset.entity ? select(row.dataset.entity) : row.click()),
      " ": () => (row.dataset.entity ? select(row.dataset.entity) : row.click()),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });

  on("select", (entity) => {
    for (const row of pane.querySelectorAll(".row[data-entity]")) row.setAttribute("aria-selected", row.dataset.entity === entity);
  });
  on("online", start);
  along.addEventListener("change", start);
  on("relations", ({ relations }) => {
    const fit = relations.filter(({ traits }) => /traversable|acyclic/.test(traits)).map(({ relation }) => relation);
    const shown = [...along.options].map(({ value }) => value);
    for (const relation of fit) if (!shown.includes(relation)) along.append(h("option", { value: relation }, relation));
  });
}
