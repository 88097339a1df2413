// Forms that insert pairs and components.

import { complete } from "./complete.js";
import { h, shortName } from "./dom.js";
import { call, fromJson, number } from "./rpc.js";

function field(name, placeholder = name) {
  return h("input", { name, placeholder, "aria-label": name, autocomplete: "off", spellcheck: "false" });
}

/**
 * A form whose fields are sent, and which says why they were refused. `cleared` are empty afterwards, but for what was written
 * while the answer was on its way.
 */
function form(kind, fields, cleared, send, done) {
  const message = h("p", { class: "bad", role: "alert", hidden: true });
  const written = new Set();
  let last = 0;
  const submit = async (event) => {
    event.preventDefault();
    const number = ++last;
    message.hidden = true;
    written.clear();
    try {
      await send();
    } catch (error) {
      if (number !== last) return;
      message.textContent = error instanceof SyntaxError ? `The value is not JSON: ${error.message}` : error.message;
      message.hidden = false;
      return;
    }
    if (number === last) for (const input of cleared) if (!written.has(input)) input.value = "";
    // The next refresh says what goes wrong here.
    await done().catch(() => {});
  };
  const around = fields.map((input) => h("span", { class: "around" }, input));
  const oninput = (event) => written.add(event.target);
  return h("form", { class: `insertion ${kind}`, onsubmit: submit, oninput }, around, h("button", {}, "Insert"), message);
}

/** A form that inserts a pair. */
export function pairInsertion(source, done) {
  const [relation, target, value] = [field("relation"), field("target"), field("value", "value, as JSON")];
  const send = async () => {
    const params = { source, relation: relation.value.trim(), target: target.value.trim() };
    if (value.value.trim() !== "") params.value = fromJson(value.value);
    await call("relations.insert", params);
  };
  const element = form("of-pair", [relation, target, value], [target, value], send, done);
  complete(relation, ["relation"], { whole: true });
  complete(target, ["entity", "component"], { whole: true });
  return element;
}

/** The path of the type that a name of a component means. */
async function componentPath(name) {
  const paths = await call("world.list_components");
  const meant = paths.filter((path) => path === name || shortName(path) === name);
  if (meant.length === 1) return meant[0];
  throw new Error(meant.length === 0 ? `No component \`${name}\` is registered for reflection.` : `\`${name}\` can be ${meant.join(", ")}.`);
}

/** A form that inserts a component. */
export function componentInsertion(entity, done) {
  const [component, value] = [field("component"), field("component value", "value, as JSON")];
  const send = async () => {
    // Without fields, no value has to be written.
    const written = value.value.trim() === "" ? {} : fromJson(value.value);
    const components = { [await componentPath(component.value.trim())]: written };
    await call("world.insert_components", { entity: number(entity), components });
  };
  const element = form("of-component", [component, value], [component, value], send, done);
  complete(component, ["component"], { whole: true });
  return element;
}
