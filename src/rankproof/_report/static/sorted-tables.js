"use strict";

// A click on the head of a column sorts the table: numbers by size, the largest first, texts by name.
(function (rp) {
  const { el } = rp.dom;

  // The first number of a cell, as "+2.6", "<0.1%" and "[-0.4, 5.6]" have it; null for a text.
  function numberOf(text) {
    const match = /[-+−]?\d[\d,]*(\.\d+)?/.exec(text);
    return match && /^[<>[(]?[-+−]?\d/.test(text) ? Number(match[0].replace("−", "-").replaceAll(",", "")) : null;
  }

  function compare(x, y) {
    return typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y), "en", { numeric: true }) : x - y;
  }

  // Empty cells come last in both directions.
  function sort(table, column, down) {
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const text = row.cells[column].textContent.trim();
      return { row, isEmpty: text === "–", key: column === 0 ? text : numberOf(text) ?? text };
    });
    keyed.sort((x, y) => x.isEmpty - y.isEmpty || (down ? -1 : 1) * compare(x.key, y.key));
    body.append(...keyed.map((one) => one.row));
  }

  function prepare(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = el("button", { type: "button" }, head.textContent);
      button.addEventListener("click", () => {
        const isNumber = [...table.tBodies[0].rows].some((row) => column > 0 && numberOf(row.cells[column].textContent.trim()) !== null);
        const sorted = head.getAttribute("aria-sort");
        const down = sorted ? sorted === "ascending" : isNumber;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, column, down);
      });
      head.replaceChildren(button);
    });
  }

  document.querySelectorAll(".sortable table").forEach(prepare);
  rp.sortedTables = { numberOf };
})((window.rankproof = window.rankproof || {}));
