// The plan of an expression as a picture: a box for each stage, with the rows that were expected and those that were made.

import { count, h, svg } from "./dom.js";

const [WIDTH, HEIGHT, GAP, INDENT, BAR] = [430, 40, 14, 28, 130];

/** The stages of a plan in words, each with its indentation. */
function stages(text) {
  const lines = text.split("\n");
  const physical = lines.slice(lines.indexOf("physical") + 1).filter((line) => line.trim() !== "");
  return physical.map((line) => {
    const label = line.trim();
    const numbers = label.match(/^(.*) \(~([\d.]+)(?:, made (\d+))?\)$/);
    const depth = line.length - line.trimStart().length;
    return numbers
      ? { depth, label: numbers[1], expected: Number(numbers[2]), made: numbers[3] === undefined ? null : Number(numbers[3]) }
      : { depth, label };
  });
}

/** The picture, and the plan in words below it. */
export function planView(text) {
  const all = stages(text).filter(({ label }) => label !== "-");
  const least = Math.min(...all.map(({ depth }) => depth));
  const most = Math.max(1, ...all.map(({ expected, made }) => Math.max(expected ?? 0, made ?? 0)));
  const width = (rows) => Math.max(2, BAR * Math.log1p(rows) / Math.log1p(most));
  const picture = svg("svg", { class: "plan", role: "img", "aria-label": "The plan of the expression" });
  let y = 4;
  let wide = 0;
  all.forEach((stage, index) => {
    const x = 4 + (stage.depth - least) / 2 * INDENT;
    const isStage = stage.expected !== undefined;
    const height = isStage ? HEIGHT : 24;
    wide = Math.max(wide, x + WIDTH);
    if (index > 0) picture.append(svg("path", { class: "flow", d: `M ${x + 14} ${y - GAP} v ${GAP}` }));
    const box = svg("g", { transform: `translate(${x} ${y})`, class: isStage ? "stage" : "step" });
    const { label } = stage;
    const shown = label.length > 42 ? `${label.slice(0, 41)}…` : label;
    box.append(svg("rect", { class: "box", width: isStage ? WIDTH : WIDTH - 150, height, rx: 6 }), svg("text", { x: 10, y: isStage ? 17 : 16 }, shown));
    box.append(svg("title", {}, label));
    if (isStage) {
      const off = stage.made !== null && Math.max(stage.expected, 1) / Math.max(stage.made, 1);
      const isOff = off !== false && (off > 10 || off < 0.1);
      box.append(
        svg("rect", { class: "expected", x: WIDTH - BAR - 10, y: 8, width: width(stage.expected), height: 8, rx: 2 }),
        svg("text", { class: "small", x: 10, y: 33 }, `expected ${count(Math.round(stage.expected))}${stage.made === null ? "" : `, made ${count(stage.made)}`}`),
      );
      if (stage.made !== null) box.append(svg("rect", { class: isOff ? "made off" : "made", x: WIDTH - BAR - 10, y: 22, width: width(stage.made), height: 8, rx: 2 }));
    }
    picture.append(box);
    y += height + GAP;
  });
  picture.setAttribute("viewBox", `0 0 ${wide + 8} ${y}`);
  picture.setAttribute("width", wide + 8);
  picture.setAttribute("height", y);
  return h("div", { class: "explained" }, picture,
    h("p", { class: "note" }, "Bars grow with the logarithm of the number of rows: above what was expected, below what was made."),
    h("details", {}, h("summary", {}, "In words"), h("pre", {}, text)));
}
