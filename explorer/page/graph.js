// Entities and pairs as a graph: around the selected entity, or of the rows of an expression.

import { complete } from "./complete.js";
import { colour, count, h, shortName } from "./dom.js";
import { callPairs, callRows, isAborted, on, select, selected } from "./rpc.js";

/** Pairs of an entity that are followed in each direction. */
const PAIRS = 40;
/** Requests at a time. */
const AT_ONCE = 6;
const SIZES = [50, 150, 400, 1000];

/** Loaded when it is needed first: it is the largest file of the page. */
let library = null;
async function cytoscape() {
  library ??= import("./cytoscape.min.js");
  await library;
  return globalThis.cytoscape;
}

export function showGraph(panel) {
  const expression = h("input", {
    id: "graph-expression", type: "text", placeholder: "an expression", title: "Without an expression: what is around the selected entity", "aria-label": "Expression of the graph",
    autocomplete: "off", spellcheck: "false",
  });
  const steps = h("select", { id: "steps", "aria-label": "Steps from the entity" }, ...[1, 2, 3].map((number) => h("option", { value: number, selected: number === 2 }, `${number} ${number === 1 ? "step" : "steps"}`)));
  const size = h("select", { id: "size", "aria-label": "Most entities" }, ...SIZES.map((number) => h("option", { value: number, selected: number === 150 }, `${number} entities`)));
  const chosen = h("div", { id: "chosen", class: "chosen", role: "group", "aria-label": "Relations" });
  const status = h("span", { id: "drawn", class: "note", role: "status" });
  const mistake = h("div", { class: "mistake", role: "alert", hidden: true });
  const canvas = h("div", { id: "canvas", class: "canvas", tabindex: "0", role: "application", "aria-label": "Graph: arrow keys move between entities, Enter selects, plus and minus zoom" });
  const note = h("p", { class: "note over" }, "Select an entity, or write an expression.");
  panel.append(
    h("div", { class: "tools" }, h("span", { class: "around wide" }, expression), steps, size, h("button", { onclick: () => draw() }, "Draw"), h("span", { class: "grow" }), status),
    mistake, chosen, h("div", { class: "canvas-around" }, canvas, note));
  complete(expression, ["relation", "component", "variable", "entity"]);

  let graph = null;
  let relations = [];
  const off = new Set();
  let controller = new AbortController();
  let drawn = null;

  const colourOf = (entity) => colour(Math.max(0, relations.findIndex((relation) => relation.entity === entity)));

  function showRelations() {
    const before = new Set([...chosen.querySelectorAll("input")].map((input) => input.value));
    for (const { relation, entity, pairs } of relations) {
      if (before.has(entity) || pairs === 0) continue;
      const input = h("input", { type: "checkbox", value: entity, checked: !off.has(entity) });
      input.addEventListener("change", () => {
        if (input.checked) off.delete(entity);
        else off.add(entity);
        draw();
      });
      chosen.append(h("label", { title: relation }, input, h("span", { class: "swatch", style: { background: colourOf(entity) } }), shortName(relation)));
    }
  }

  /** The entities that are drawn, and the pairs between them. */
  class Found {
    constructor(limit) {
      this.limit = limit;
      this.nodes = new Map();
      this.edges = new Map();
      this.isFull = false;
    }

    add(entity, name, depth) {
      if (this.nodes.has(entity)) return true;
      if (this.nodes.size >= this.limit) {
        this.isFull = true;
        return false;
      }
      this.nodes.set(entity, { name, depth });
      return true;
    }

    /** Reads the pairs of an entity. Its neighbours are added, unless only `known` ones are wanted. */
    async expand(entity, depth, known, signal) {
      const directions = [["as_source", "target"], ["as_target", "source"]];
      const pages = directions.map(([direction]) => callPairs(entity, direction, { wanted: PAIRS, values: false, signal }));
      const answers = await Promise.all(pages).catch((error) => {
        // It may be gone by now.
        if (isAborted(error)) throw error;
        return null;
      });
      if (!answers) return;
      this.nodes.get(entity).name = answers[0].first.name;
      for (const [index, [, other]] of directions.entries()) {
        if (answers[index].next !== undefined) this.isFull = true;
        for (const pair of answers[index].entries) {
          const bits = pair.entities[other];
          if (off.has(pair.entities.relation)) continue;
          if (known ? !this.nodes.has(bits) : !this.add(bits, pair[other], depth + 1)) continue;
          const [source, target] = other === "target" ? [entity, bits] : [bits, entity];
          this.edges.set(`${source} ${pair.entities.relation} ${target}`, { source, target, relation: pair.entities.relation, name: pair.relation });
        }
      }
    }

    async expandAll(entities, depth, known, signal) {
      for (let at = 0; at < entities.length; at += AT_ONCE) {
        await Promise.all(entities.slice(at, at + AT_ONCE).map((entity) => this.expand(entity, depth, known, signal)));
      }
    }
  }

  async function around(entity, signal) {
    const found = new Found(Number(size.value));
    found.add(entity, entity, 0);
    for (let depth = 0; depth < Number(steps.value); depth++) {
      const level = [...found.nodes].filter(([, node]) => node.depth === depth).map(([entity]) => entity);
      await found.expandAll(level, depth, found.nodes.size >= found.limit, signal);
    }
    return found;
  }

  async function ofExpression(expr, signal) {
    const found = new Found(Number(size.value));
    const { entries, next } = await callRows(expr, { values: false, wanted: Number(size.value), signal });
    found.isFull = next !== undefined;
    for (const row of entries) {
      for (const [name, entity] of Object.entries(row.entities)) {
        if (entity) found.add(entity, name === "this" ? row.this : row.vars[name], 0);
      }
    }
    await found.expandAll([...found.nodes.keys()], 0, true, signal);
    return found;
  }

  async function draw() {
    if (panel.hidden) return;
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    const expr = expression.value.trim();
    const entity = selected();
    drawn = expr || entity;
    mistake.hidden = true;
    note.hidden = Boolean(drawn);
    status.textContent = "";
    if (!drawn) return graph?.elements().remove();
    status.textContent = "reading …";
    try {
      const found = await (expr ? ofExpression(expr, signal) : around(entity, signal));
      const make = await cytoscape();
      if (signal.aborted) return;
      // Nothing can be arranged in a panel that is hidden by now: it is drawn when it is opened.
      if (panel.hidden) drawn = null;
      else paint(make, found);
    } catch (error) {
      if (isAborted(error) || signal.aborted) return;
      status.textContent = "";
      mistake.textContent = error.message;
      mistake.hidden = false;
    }
  }

  function elements(found) {
    const nodes = [...found.nodes].map(([id, { name }]) => ({ data: { id, label: shortName(name), name } }));
    const edges = [...found.edges].map(([id, { source, target, relation, name }]) => ({
      data: { id, source, target, colour: colourOf(relation), label: shortName(name) },
    }));
    return { nodes, edges };
  }

  function paint(make, found) {
    if (!graph) start(make);
    graph.batch(() => {
      graph.elements().remove();
      graph.add(elements(found));
    });
    graph.style(style(found.edges.size <= 120));
    mark();
    arrange();
    status.textContent = `${count(found.nodes.size)} entities · ${count(found.edges.size)} pairs${found.isFull ? " · not all" : ""}`;
  }

  function arrange() {
    const options = { name: "cose", animate: false, randomize: true, nodeRepulsion: () => 9000, idealEdgeLength: () => 75, padding: 30, nodeDimensionsIncludeLabels: true };
    graph.resize();
    graph.layout(options).run();
    if (graph.zoom() > 1.6) graph.zoom(1.6).center();
  }

  function start(make) {
    graph = make({ container: canvas, wheelSensitivity: 0.3, minZoom: 0.05, maxZoom: 4 });
    graph.on("tap", "node", (event) => select(event.target.id()));
    graph.on("dbltap", "node", (event) => grow(event.target));
    // Read by tests, and useful in the console.
    canvas.graph = graph;
  }

  /** Adds what is around a node that is drawn. */
  async function grow(node) {
    const found = new Found(graph.nodes().length + PAIRS);
    graph.nodes().forEach((known) => found.add(known.id(), known.data("name"), 0));
    const { signal } = controller;
    await found.expand(node.id(), 0, false, signal).catch(() => {});
    if (signal.aborted) return;
    const { nodes, edges } = elements(found);
    const isNew = ({ data }) => graph.getElementById(data.id).empty();
    const added = graph.add({ nodes: nodes.filter(isNew), edges: edges.filter(isNew) });
    const { x, y } = node.position();
    const fresh = added.nodes();
    fresh.forEach((other, index) => {
      const angle = (2 * Math.PI * index) / fresh.length;
      other.position({ x: x + 90 * Math.cos(angle), y: y + 90 * Math.sin(angle) });
    });
    status.textContent = `${count(graph.nodes().length)} entities · ${count(graph.edges().length)} pairs`;
  }

  function style(withLabels) {
    // In the notation that the library reads.
    const value = (name) => {
      canvas.style.color = `var(${name})`;
      const { color } = getComputedStyle(canvas);
      canvas.style.color = "";
      return color;
    };
    return [
      { selector: "node", style: {
        label: "data(label)", "font-size": 11, color: value("--text"), "background-color": value("--node"), width: 16, height: 16,
        "text-valign": "bottom", "text-margin-y": 4, "font-family": "system-ui, sans-serif", "min-zoomed-font-size": 7, "text-wrap": "ellipsis", "text-max-width": 96,
        "text-outline-color": value("--page"), "text-outline-width": 2, "border-width": 1.5, "border-color": value("--page"),
      } },
      { selector: "edge", style: {
        width: 1.6, "line-color": "data(colour)", "target-arrow-color": "data(colour)", "target-arrow-shape": "triangle", "arrow-scale": 0.9,
        "curve-style": "bezier", opacity: 0.85, ...(withLabels ? { label: "data(label)", "font-size": 9, color: value("--quiet"), "text-rotation": "autorotate", "text-background-color": value("--page"), "text-background-opacity": 0.85, "text-background-padding": 1, "min-zoomed-font-size": 8 } : {}),
      } },
      { selector: "node.chosen", style: { "background-color": value("--accent"), width: 24, height: 24, "font-weight": "bold", "border-color": value("--accent"), "border-opacity": 0.35, "border-width": 5 } },
    ];
  }

  function mark() {
    graph?.nodes().removeClass("chosen");
    const entity = selected();
    if (entity) graph?.getElementById(entity).addClass("chosen");
  }

  // Arrow keys go to the nearest entity in that direction.
  canvas.addEventListener("keydown", (event) => {
    if (!graph || event.ctrlKey || event.altKey || event.metaKey) return;
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const current = graph.nodes(".chosen")[0] ?? graph.nodes()[0];
    if (direction && current) step(current, direction);
    else if (event.key === "Enter" && current) grow(current);
    else if (event.key === "+" || event.key === "-") graph.zoom({ level: graph.zoom() * (event.key === "+" ? 1.25 : 0.8), renderedPosition: { x: canvas.clientWidth / 2, y: canvas.clientHeight / 2 } });
    else if (event.key === "0") graph.fit(undefined, 30);
    else return;
    event.preventDefault();
  });

  function step(current, [dx, dy]) {
    const from = current.position();
    let [best, least] = [null, Infinity];
    graph.nodes().forEach((node) => {
      const [x, y] = [node.position().x - from.x, node.position().y - from.y];
      const along = x * dx + y * dy;
      const aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (node !== current && along > 1 && along + 2 * aside < least) [best, least] = [node, along + 2 * aside];
    });
    if (best) select(best.id());
  }

  on("relations", ({ relations: known }) => {
    // The colours of what is drawn already are those of relations.
    const isFirst = relations.length === 0 && known.length > 0;
    relations = known;
    showRelations();
    if (isFirst && drawn) draw();
  });
  on("tab", (tab) => {
    if (tab === "graph" && (!graph || drawn !== (expression.value.trim() || selected()))) draw();
  });
  on("select", (entity) => {
    const isDrawn = entity && graph && !graph.getElementById(entity).empty();
    mark();
    if (!isDrawn && !expression.value.trim()) draw();
  });
  on("theme", () => graph?.style(style(graph.edges().length <= 120)));
  on("graph-expression", (expr) => {
    expression.value = expr;
    drawn = null;
    document.getElementById("tab-graph").click();
  });
  on("around", () => {
    expression.value = "";
    drawn = null;
    document.getElementById("tab-graph").click();
  });
  expression.addEventListener("keydown", (event) => {
    if (event.key === "Enter") draw();
  });
  for (const control of [steps, size]) control.addEventListener("change", () => draw());
}
