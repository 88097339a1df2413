// Making elements. Whatever comes from the app becomes text, never markup.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else if (key === "value" || key === "checked" || key === "disabled") element[key] = value;
    else if (key === "style") for (const [name, part] of Object.entries(value)) element.style.setProperty(name, part);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Waits until `ms` have passed without another call. `cancel` takes back what waits. */
export function debounce(ms, run) {
  let timer;
  const later = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...args), ms);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Answers can come in another order than they were asked for. Called when something begins, says later whether it is the newest. */
export function latest() {
  let last = 0;
  return () => {
    const mine = ++last;
    return () => mine === last;
  };
}

/** Gives a list these children. The one with the focus is not moved: that would take the focus from it. */
export function arrange(list, children) {
  if (children.length === list.children.length && children.every((child, index) => child === list.children[index])) return;
  const kept = new Set(children);
  for (const child of [...list.children]) if (!kept.has(child)) child.remove();
  const still = children.findIndex((child) => child.contains(document.activeElement));
  children.forEach((child, index) => {
    if (index !== still) list.insertBefore(child, index < still ? children[still] : null);
  });
}

/** The last part of a path such as `Sol.Earth`, or of a type such as `game::Ship`, with what is in brackets. */
export function shortName(name) {
  if (name.startsWith("#")) return name;
  if (/^[A-Za-z_]\w*::/.test(name)) return name.replace(/(?:[A-Za-z_]\w*::)+/g, "");
  // In a path, a character that means something else is written with a backslash before it.
  const last = /(?:\\.|[^.\\])*$/su.exec(name)[0];
  return last.replace(/\\(.)/gsu, "$1") || name;
}

/** A number with blanks between thousands. */
export function count(number) {
  return number.toLocaleString("en").replaceAll(",", "\u2009");
}

/** A colour for a name, the same each time: those that are close in the list differ. */
export function colour(index) {
  const hues = [262, 28, 172, 338, 205, 92, 48, 300, 140, 5];
  // With commas, as the graph library reads it.
  return `hsl(${hues[index % hues.length]}, 62%, ${index < hues.length ? 58 : 44}%)`;
}

/** Moves the focus between elements with the arrow keys. */
export function arrows(event, elements, [before, after] = ["ArrowUp", "ArrowDown"]) {
  const at = elements.indexOf(document.activeElement);
  const to = { [before]: at - 1, [after]: at + 1, Home: 0, End: elements.length - 1 }[event.key];
  if (to === undefined || at < 0 || !elements[to]) return false;
  event.preventDefault();
  elements[to].focus();
  return true;
}
