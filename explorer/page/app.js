// The frame of the page: connection, tabs, theme, keys.

import { arrows, count } from "./dom.js";
import { callPages, on, selected, tell } from "./rpc.js";
import { showTree } from "./tree.js";
import { showDetails } from "./details.js";
import { showQuery } from "./query.js";
import { showGraph } from "./graph.js";
import { showStatistics } from "./statistics.js";

const POLL = 1000;
const $ = (id) => document.getElementById(id);

showTree($("entities"));
showDetails($("details"));
showQuery($("query"));
showGraph($("graph"));
showStatistics($("statistics"));

// Relations are asked for each second: they say whether the app answers, and what has changed.
async function poll() {
  const start = performance.now();
  try {
    const options = { wanted: Infinity, start: 0 };
    const { entries: relations } = await callPages("relations.list", "relations", (offset) => ({ offset }), options);
    online(true, `running · answers in ${Math.max(1, Math.round(performance.now() - start))} ms`);
    const pairs = relations.reduce((sum, relation) => sum + relation.pairs, 0);
    $("totals").textContent = `${count(relations.length)} relations · ${count(pairs)} pairs`;
    tell("relations", { relations, at: performance.now() });
  } catch (error) {
    online(false, error.code === -32601 ? "the app has no RelationsRemotePlugin" : "no app answers");
  }
  setTimeout(poll, document.hidden ? 4 * POLL : POLL);
}

function online(is, text) {
  const state = $("state");
  if (is && !state.classList.contains("on")) tell("online");
  state.classList.toggle("on", is);
  state.classList.toggle("off", !is);
  if (state.textContent !== text) state.textContent = text;
}

poll();

// Tabs.
const tabs = [...document.querySelectorAll("[role=tab]")];

function open(tab) {
  for (const other of tabs) {
    const is = other === tab;
    other.setAttribute("aria-selected", is);
    other.tabIndex = is ? 0 : -1;
    $(other.getAttribute("aria-controls")).hidden = !is;
  }
  tell("tab", tab.getAttribute("aria-controls"));
}

for (const tab of tabs) {
  tab.addEventListener("click", () => open(tab));
  tab.addEventListener("keydown", (event) => {
    if (arrows(event, tabs, ["ArrowLeft", "ArrowRight"])) open(document.activeElement);
  });
}
on("expression", () => open(tabs[0]));

// Light and dark: what the system says, until the button is pressed.
const stored = localStorage.getItem("theme");
if (stored) document.documentElement.dataset.theme = stored;
$("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const theme = (document.documentElement.dataset.theme ?? dark) === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  tell("theme");
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => tell("theme"));

// Keys.
$("help").addEventListener("click", () => $("keys").showModal());
document.addEventListener("keydown", (event) => {
  const writes = event.target.closest("input, textarea, select, [contenteditable], dialog");
  if (writes || event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = {
    "/": () => $("search").focus(),
    e: () => (open(tabs[0]), $("expression").focus()),
    1: () => (open(tabs[0]), tabs[0].focus()),
    2: () => (open(tabs[1]), tabs[1].focus()),
    3: () => (open(tabs[2]), tabs[2].focus()),
    "?": () => $("keys").showModal(),
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
});

addEventListener("hashchange", () => tell("select", selected()));
if (selected()) tell("select", selected());
