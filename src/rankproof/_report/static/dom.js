"use strict";

// Creates DOM nodes and sets their text as text: no string is ever parsed as markup.
(function (rp) {
  // Control, format and other invisible characters, except line breaks and tabs.
  const HIDDEN = /[^\P{C}\n\t]|[\u2028\u2029]/gu;

  // Python escapes, as in the rest of the page: \x1b, \u202e, \U000e0001.
  function escaped(char) {
    const code = char.codePointAt(0);
    const [letter, length] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return "\\" + letter + code.toString(16).padStart(length, "0");
  }

  function visible(text) {
    return text.replace(HIDDEN, escaped);
  }

  function nodesOf(children) {
    const some = children.flat(Infinity).filter((child) => child !== null && child !== undefined);
    return some.map((child) => (typeof child === "string" ? visible(child) : child));
  }

  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) {
        node.setAttribute(name, value === true ? "" : visible(String(value)));
      }
    }
    node.append(...nodesOf(children));
    return node;
  }

  function fill(node, ...children) {
    node.replaceChildren(...nodesOf(children));
    return node;
  }

  // Text for screen readers only.
  function spoken(text) {
    return el("span", { class: "spoken" }, text);
  }

  // Text from the data, isolated so that its writing direction does not affect the rest.
  function foreign(text, className) {
    return el("bdi", { class: className }, text);
  }

  function value(number, measure, digits) {
    if (number === null || number === undefined) {
      return "–";
    }
    const isCount = Number.isInteger(number) && !(measure && measure.share);
    return isCount ? count(number) : number.toFixed(digits === undefined ? 3 : digits);
  }

  function signed(number, measure, digits) {
    if (number === null || number === undefined) {
      return "–";
    }
    const size = value(Math.abs(number), measure, digits);
    return (number > 0 ? "+" : number < 0 ? "−" : "") + size;
  }

  function count(number) {
    return number.toLocaleString("en");
  }

  const blocks = new Map();

  async function expand(block) {
    const bytes = Uint8Array.from(atob(block.textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    blocks.set(block.id, await new Response(stream).text());
  }

  // The data of the page is compressed: `parsed` has it after `ready`.
  rp.ready = Promise.all([...document.querySelectorAll("script[type='text/plain']")].map(expand));

  function parsed(id) {
    return blocks.has(id) ? JSON.parse(blocks.get(id)) : null;
  }

  rp.dom = { visible, el, fill, spoken, foreign, value, signed, count, parsed };
})((window.rankproof = window.rankproof || {}));
