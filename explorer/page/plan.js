// The plan of a query as a picture: what is asked as a tree, and the stages of its evaluation with the rows that were expected
// and made.

import { count, h, svg } from "./dom.js";
import { call, isAborted } from "./rpc.js";

const [LINE, INDENT, BAR, PAD] = [26, 18, 150, 12];
const CHAR = 7.25;

/** Lines as a tree, by their indent. */
export function parsePlan(text) {
  const parts = { logical: [], physical: [] };
  let open = [];
  let part = null;
  for (const line of text.split("\n")) {
    if (line in parts) {
      part = parts[line];
      open = [{ indent: -1, children: part }];
      continue;
    }
    if (!part || line.trim() === "") continue;
    const indent = line.search(/\S/);
    while (open.at(-1).indent >= indent) open.pop();
    const node = { ...described(line.trim()), indent, children: [] };
    open.at(-1).children.push(node);
    open.push(node);
  }
  return parts;
}

/** A stage ends with `(~expected, made count)`. */
function described(text) {
  const found = /^(.*) \(~([\d.]+|inf|NaN)(?:, made (\d+))?\)$/.exec(text);
  if (!found) return { text };
  return { text: found[1], expected: Number(found[2]), made: found[3] === undefined ? null : Number(found[3]) };
}

export class PlanView {
  constructor() {
    this.element = h("div", { id: "plan", class: "plan" });
  }

  clear() {
    this.element.replaceChildren();
  }

  /** Runs the expression, so that real numbers are known; if it is too large for that, shows the plan alone. */
  async read(expr, signal) {
    try {
      const answer = await call("relations.explain", { expr, run: true }, signal).catch((error) => {
        if (isAborted(error)) throw error;
        return call("relations.explain", { expr }, signal);
      });
      this.show(answer);
    } catch (error) {
      // What is wrong with the expression is shown under its text.
      if (!isAborted(error)) this.clear();
    }
  }

  show({ plan, rows }) {
    const { logical, physical } = parsePlan(plan);
    const title = rows === undefined ? "as planned" : `as run: ${count(rows)} ${rows === 1 ? "row" : "rows"}`;
    this.element.replaceChildren(
      h("figure", {}, h("figcaption", {}, "what is asked"), tree(logical)),
      h("figure", {}, h("figcaption", {}, title, legend(rows !== undefined)), stages(physical)));
  }
}

function legend(isRun) {
  const part = (kind, text) => h("span", { class: `legend ${kind}` }, text);
  return h("span", {}, part("expected", "expected"), isRun ? part("made", "made") : null);
}

function box(x, y, width, node, kind) {
  const [word, ...rest] = node.text.split(" ");
  const label = svg("text", { x: x + 8, y: y + 15 });
  label.append(svg("tspan", { class: "operator" }, word), rest.length ? ` ${rest.join(" ")}` : "");
  return svg("g", { class: kind }, svg("title", {}, node.text), svg("rect", { x, y, width, height: 21, rx: 5 }), label);
}

const widthOf = (node) => node.text.length * CHAR + 18;

/** Operators as a tree, each under the one that reads it. */
function tree(nodes) {
  const parts = [];
  let [row, width] = [0, 0];
  const place = (node, depth, above) => {
    const [x, y] = [PAD + depth * INDENT, PAD + row++ * LINE];
    if (above) parts.unshift(svg("path", { class: "edge", d: `M${above.x + 10} ${above.y + 21}V${y + 10}H${x}` }));
    parts.push(box(x, y, widthOf(node), node, "node"));
    width = Math.max(width, x + widthOf(node));
    for (const child of node.children) place(child, depth + 1, { x, y });
  };
  for (const node of nodes) place(node, 0, null);
  return picture(parts, width + PAD, row * LINE + 2 * PAD, "The logical plan");
}

/** Stages in the order of evaluation, each with its numbers as bars on a logarithmic scale. */
function stages(nodes) {
  const flat = [];
  const walk = (nodes, depth) => {
    for (const node of nodes) {
      // A dash only separates alternatives.
      if (node.text !== "-") flat.push({ node, depth });
      walk(node.children, depth + (node.text === "-" ? 0 : 1));
    }
  };
  walk(nodes, 0);
  const most = Math.max(10, ...flat.flatMap(({ node }) => [node.expected ?? 0, node.made ?? 0]).filter(Number.isFinite));
  const scale = (number) => Math.max(2, (Math.log10(1 + Math.min(number, most)) / Math.log10(1 + most)) * BAR);
  const left = PAD + Math.max(120, ...flat.map(({ node, depth }) => depth * INDENT + widthOf(node))) + 16;
  const parts = [];
  flat.forEach(({ node, depth }, row) => {
    const [x, y] = [PAD + depth * INDENT, PAD + row * LINE];
    const next = flat[row + 1];
    if (next) parts.unshift(svg("path", { class: "edge", d: `M${x + 10} ${y + 21}V${y + LINE}` }));
    parts.push(box(x, y, widthOf(node), node, node.expected === undefined ? "node step" : "node stage"));
    if (node.expected !== undefined) parts.push(bars(left, y, node, scale));
  });
  return picture(parts, left + BAR + 100, flat.length * LINE + 2 * PAD, "The physical plan");
}

function bars(x, y, { expected, made }, scale) {
  const shown = (number) => (Number.isInteger(number) ? count(number) : number.toFixed(1));
  const [below, numbers] = [made === null ? 6 : 0, made === null ? `~${shown(expected)}` : `~${shown(expected)} · ${shown(made)}`];
  const widths = [scale(expected), made === null ? 0 : scale(made)];
  return svg("g", { class: "bars" },
    svg("title", {}, `expected ${shown(expected)}${made === null ? "" : `, made ${shown(made)}`}`),
    svg("rect", { class: "expected", x, y: y + 2 + below, width: widths[0], height: 8, rx: 2 }),
    ...(made === null ? [] : [svg("rect", { class: "made", x, y: y + 11, width: widths[1], height: 8, rx: 2 })]),
    svg("text", { x: x + Math.max(...widths) + 8, y: y + 15 }, numbers));
}

function picture(parts, width, height, label) {
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts);
}
