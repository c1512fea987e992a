// Creates DOM nodes and sets their text as text: no string is ever parsed as markup.

// Control, format and other invisible characters, except line breaks and tabs.
const HIDDEN = /[^\P{C}\n\t]|[\u2028\u2029]/gu;

/** Python escapes, as in the rest of the pages: \x1b, \u202e, \U000e0001. */
function escaped(char) {
  const code = char.codePointAt(0);
  const [letter, length] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return "\\" + letter + code.toString(16).padStart(length, "0");
}

export function visible(text) {
  return String(text).replace(HIDDEN, escaped);
}

function nodesOf(children) {
  const some = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  return some.map((child) => (child instanceof Node ? child : visible(child)));
}

/** A node with attributes, listeners (`on` has them by event) and children: nodes and texts. */
export function el(tag, { on = {}, ...attributes } = {}, ...children) {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  node.append(...nodesOf(children));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  setAttributes(node, attributes);
  node.append(...nodesOf(children));
  return node;
}

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : visible(value));
  }
}

export function fill(node, ...children) {
  node.replaceChildren(...nodesOf(children));
  return node;
}

/** Text from the data, isolated so that its writing direction does not affect the rest. */
export function foreign(text, className) {
  return el("bdi", { class: className }, text);
}

/** A number with its sign and a real minus. */
export function signed(number, digits = 3) {
  const size = Math.abs(number).toFixed(digits);
  return (number > 0 ? "+" : number < 0 ? "−" : "") + size;
}
