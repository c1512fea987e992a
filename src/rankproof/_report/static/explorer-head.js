"use strict";

// The head of the table: a button in each column sorts by it and shows the direction.
(function (rp) {
  const { el, fill, spoken } = rp.dom;

  function isSorted(view, column) {
    return view.sort === column.key && (!["value", "time"].includes(column.key) || view.of === column.of);
  }

  function direction(view, column) {
    if (column.key === "difference" && view.sort === "gap") {
      return "other";
    }
    return isSorted(view, column) ? (view.down ? "descending" : "ascending") : "none";
  }

  function headCell(column, at, onSort) {
    const button = el("button", { type: "button", title: column.title || column.label }, column.head || column.label);
    if (column.title) {
      button.append(spoken(": " + column.title));
    }
    button.append(el("span", { class: "arrow", "aria-hidden": "true" }));
    button.addEventListener("click", () => onSort(column));
    return rp.columns.pin(el("div", { role: "columnheader", class: "cell " + column.kind, "aria-colindex": at + 1 }, button), column);
  }

  // Unchanged columns keep their buttons and so the focus.
  function makeHead(row, onSort) {
    let shown = "";
    return function show(columns, view) {
      const signature = JSON.stringify(columns.map((column) => [column.key, column.of, column.kind, column.label, column.title, column.left]));
      const focused = shown === signature ? -1 : [...row.children].findIndex((cell) => cell.contains(document.activeElement));
      if (signature !== shown) {
        fill(row, columns.map((column, at) => headCell(column, at, onSort)));
        shown = signature;
      }
      [...row.children].forEach((cell, at) => cell.setAttribute("aria-sort", direction(view, columns[at])));
      if (focused >= 0 && row.children[focused]) {
        row.children[focused].firstChild.focus();
      }
    };
  }

  // Texts sort from A first; values from the worst, differences from the largest.
  function afterClick(view, column, lowerIsBetter) {
    if (isSorted(view, column)) {
      return { down: !view.down };
    }
    const down = column.key === "difference" || (column.key === "value" && lowerIsBetter) || column.key === "first" || column.key === "time";
    return { sort: column.key, of: column.key === "value" ? column.of : view.of, down };
  }

  rp.head = { makeHead, afterClick };
})((window.rankproof = window.rankproof || {}));
