// Values as text, which can be edited where they stand. What is saved is the whole value with the part that was changed:
// that works for enums, tuples and maps too, which have no path by which Bevy would reach a part of them.

import { h } from "./dom.js";

const MAX_PARTS = 100;

function short(value) {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** A copy of `whole` in which the part at a path is another one. */
function replaced(whole, path, value) {
  if (path.length === 0) return value;
  const copy = Array.isArray(whole) ? [...whole] : { ...whole };
  copy[path[0]] = replaced(whole[path[0]], path.slice(1), value);
  return copy;
}

/** An element that shows a value. `save` gets the whole value when a part was changed, and may fail; without it nothing can be. */
export function valueView(whole, save, name = "value") {
  function part(value, path) {
    if (value !== null && typeof value === "object") {
      const entries = Object.entries(value);
      if (entries.length === 0) return h("span", { class: "value" }, Array.isArray(value) ? "[]" : "{}");
      const rest = entries.length - MAX_PARTS;
      return h("dl", { class: "parts" },
        entries.slice(0, MAX_PARTS).map(([key, inner]) => [h("dt", {}, key), h("dd", {}, part(inner, [...path, key]))]),
        rest > 0 ? h("dt", { class: "note" }, `${rest} more`) : null);
    }
    const text = short(value);
    if (!save) return h("span", { class: "value" }, text);
    const label = [name, ...path].join(" ");
    const button = h("button", { class: "value edit", title: "Edit", "aria-label": `${label}: ${text}` }, text);
    button.addEventListener("click", () => edit(button, value, path, label));
    return button;
  }

  function edit(button, value, path, label) {
    const input = h("input", { class: "value", value: typeof value === "string" ? value : text(value), "aria-label": label, spellcheck: "false" });
    const error = h("span", { class: "bad", role: "alert" });
    const box = h("span", { class: "editing" }, input, error);
    let isDone = false;
    const end = () => {
      if (isDone) return;
      isDone = true;
      box.replaceWith(button);
    };
    input.addEventListener("keydown", async (event) => {
      if (event.key === "Escape") {
        end();
        button.focus();
      }
      if (event.key !== "Enter") return;
      event.preventDefault();
      try {
        await save(replaced(whole, path, parsed(input.value, value)));
        end();
      } catch (problem) {
        error.textContent = problem.message;
      }
    });
    input.addEventListener("blur", () => setTimeout(() => error.textContent === "" && end(), 100));
    button.replaceWith(box);
    input.focus();
    input.select();
  }

  return part(whole, []);
}

function text(value) {
  return value === null ? "null" : String(value);
}

/** What was written, as JSON if the value before was no text. */
function parsed(text, before) {
  if (typeof before === "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
