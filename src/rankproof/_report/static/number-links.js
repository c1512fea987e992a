"use strict";

// Each number of a table leads where the first link of its row leads, by the measure or for the system that its column names.
(function (rp) {
  const { el } = rp.dom;

  function addressOf(start, head, data) {
    const parameters = new URLSearchParams(start.slice(start.indexOf("?") + 1));
    const measure = data.measures.find(({ name }) => head === name || head.startsWith(name + " "));
    if (measure) {
      parameters.set("measure", measure.name);
    } else if (data.systems.some(({ name }) => name === head)) {
      parameters.set("a", head);
    }
    return "#queries?" + parameters;
  }

  function linkRow(row, heads, data) {
    const first = row.querySelector("a[href^='#queries?']");
    const cells = first ? [...row.cells].slice(1).filter((cell) => !cell.querySelector("a")) : [];
    for (const cell of cells.filter((cell) => rp.sortedTables.numberOf(cell.textContent.trim()) !== null)) {
      const href = addressOf(first.getAttribute("href"), heads[cell.cellIndex], data);
      const number = cell.firstChild;
      const link = el("a", { href, class: "number", tabindex: "-1" });
      number.replaceWith(link);
      link.append(number);
    }
  }

  function linkAll() {
    for (const table of rp.explorer ? document.querySelectorAll(".table-block table") : []) {
      const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
      [...table.tBodies[0].rows].forEach((row) => linkRow(row, heads, rp.explorer.model.data));
    }
  }

  rp.ready.then(linkAll, () => {});
})((window.rankproof = window.rankproof || {}));
