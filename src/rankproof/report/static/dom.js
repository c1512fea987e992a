"use strict";

// Nodes are made one by one and their text is set as text: nothing in this page is ever read as markup.
(function (rp) {
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) {
        node.setAttribute(name, value === true ? "" : String(value));
      }
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }

  function fill(node, ...children) {
    node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }

  // Read aloud, not shown.
  function spoken(text) {
    return el("span", { class: "spoken" }, text);
  }

  // Text from outside: whatever direction it writes in ends with it.
  function foreign(text, className) {
    return el("bdi", { class: className }, text);
  }

  function value(number, measure, digits) {
    if (number === null || number === undefined) {
      return "–";
    }
    return Number.isInteger(number) && !(measure && measure.share) ? count(number) : number.toFixed(digits || 3);
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

  function parsed(id) {
    const block = document.getElementById(id);
    return block ? JSON.parse(block.textContent) : null;
  }

  rp.dom = { el, fill, spoken, foreign, value, signed, count, parsed };
})((window.rankproof = window.rankproof || {}));
