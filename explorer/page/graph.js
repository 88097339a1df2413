// Entities and chosen relations between them, around the selected entity. Drawn by cytoscape.

import { colour, h, shortName } from "./dom.js";
import { call, isAborted, on, select, selected, tell } from "./rpc.js";

const MAX_NODES = 200;
const PER_NODE = 40;

export function showGraph(pane) {
  const chosen = h("fieldset", { class: "chosen", id: "graph-relations" }, h("legend", {}, "Relations"));
  const steps = h("select", { id: "graph-steps", "aria-label": "Steps from the entity" }, [1, 2, 3].map((step) => h("option", { value: step }, `${step} ${step === 1 ? "step" : "steps"}`)));
  steps.value = "2";
  const redraw = h("button", { id: "graph-draw" }, "Draw");
  const state = h("span", { class: "note", id: "graph-state", role: "status" }, "Select an entity.");
  const canvas = h("div", { class: "canvas", id: "canvas", role: "img", "aria-label": "Graph of pairs" });
  pane.append(h("div", { class: "tools" }, steps, redraw, state), chosen, canvas);
  let controller = new AbortController();
  let relations = [];
  let cy = null;

  on("relations", (told) => {
    for (const { relation, entity, pairs } of told.relations) {
      if (relations.some((known) => known.entity === entity)) continue;
      const color = colour(relations.length);
      const box = h("input", { type: "checkbox", checked: pairs > 0, onchange: draw });
      relations.push({ relation, entity, color, box });
      chosen.append(h("label", { style: { "--colour": color } }, box, h("span", { class: "dot" }), shortName(relation)));
    }
  });
  redraw.addEventListener("click", draw);
  steps.addEventListener("change", draw);
  on("select", () => pane.hidden || draw());
  on("tab", (tab) => tab === "graph" && draw());
  on("theme", () => cy?.style(style()));
  on("graph", (entity) => (select(entity), tell("open", "graph")));

  /** The pairs of chosen relations between the entity and others that are at most so many steps away. */
  async function read(start, depth, signal) {
    const wanted = new Map(relations.filter(({ box }) => box.checked).map((relation) => [relation.entity, relation]));
    const nodes = new Map([[start, null]]);
    const edges = new Map();
    let isWhole = true;
    let level = [start];
    for (let step = 0; step < depth && level.length > 0; step++) {
      const pages = await Promise.all(level.map((entity) => call("relations.pairs", { entity, values: false, limit: PER_NODE }, signal).then((page) => [entity, page])));
      level = [];
      for (const [entity, { name, as_source, as_target }] of pages) {
        nodes.set(entity, name);
        isWhole &&= as_source.next === undefined && as_target.next === undefined;
        const add = (source, relation, target, other, otherName) => {
          const kind = wanted.get(relation);
          if (!kind) return;
          if (!nodes.has(other)) {
            if (nodes.size >= MAX_NODES) return (isWhole = false);
            level.push(other);
            nodes.set(other, otherName);
          }
          nodes.set(other, otherName);
          edges.set(`${source} ${relation} ${target}`, { source, target, label: shortName(kind.relation), color: plain(kind.color) });
        };
        for (const { entities, target } of as_source.pairs) add(entity, entities.relation, entities.target, entities.target, target);
        for (const { entities, source } of as_target.pairs) add(entities.source, entities.relation, entity, entities.source, source);
      }
    }
    return { nodes, edges, isWhole };
  }

  async function draw() {
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    const start = selected();
    if (!start || pane.hidden) return;
    try {
      const [{ nodes, edges, isWhole }] = await Promise.all([read(start, Number(steps.value), signal), library()]);
      if (signal.aborted) return;
      const elements = [
        ...[...nodes].map(([id, name]) => ({ data: { id, label: shortName(name ?? id) }, classes: id === start ? "start" : "" })),
        ...[...edges].map(([id, edge]) => ({ data: { id, ...edge } })),
      ];
      cy?.destroy();
      cy = window.cytoscape({ container: canvas, elements, style: style(), wheelSensitivity: 0.3, minZoom: 0.1, maxZoom: 4,
        layout: { name: "cose", animate: false, randomize: true, nodeRepulsion: 9000, idealEdgeLength: 80, padding: 24 } });
      cy.on("tap", "node", (event) => select(event.target.id()));
      canvas.dataset.nodes = nodes.size;
      canvas.dataset.edges = edges.size;
      state.textContent = `${nodes.size} entities, ${edges.size} pairs${isWhole ? "" : ": not all of them"}`;
    } catch (error) {
      if (!isAborted(error)) state.textContent = error.message;
    }
  }

  /** A colour in a notation that the library reads. */
  function plain(color) {
    canvas.style.color = color;
    const { color: computed } = getComputedStyle(canvas);
    canvas.style.color = "";
    return computed;
  }

  function style() {
    const [text, back, accent, node] = ["--text", "--back", "--accent", "--node"].map((name) => plain(`var(${name})`));
    return [
      { selector: "node", style: { label: "data(label)", color: text, "background-color": node, "font-size": 11, "text-valign": "bottom", "text-margin-y": 4, width: 18, height: 18, "text-outline-color": back, "text-outline-width": 2 } },
      { selector: "node.start", style: { "background-color": accent, width: 26, height: 26, "font-weight": "bold" } },
      { selector: "edge", style: { label: "data(label)", color: text, width: 1.6, "line-color": "data(color)", "target-arrow-color": "data(color)", "target-arrow-shape": "triangle", "curve-style": "bezier", "font-size": 9, "text-rotation": "autorotate", "text-outline-color": back, "text-outline-width": 2, "loop-direction": "-45deg" } },
    ];
  }
}

let loaded = null;
/** The library is large, and wanted by this view only. */
function library() {
  loaded ??= new Promise((resolve, reject) => {
    const script = h("script", { src: "cytoscape.min.js" });
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error("the graph library could not be loaded")));
    document.head.append(script);
  });
  return loaded;
}
