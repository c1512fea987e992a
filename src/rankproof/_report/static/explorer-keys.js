"use strict";

// Keyboard control of the rows of the table and of the documents in side-by-side rankings.
(function (rp) {
  const STEPS = {
    ArrowDown: (grid) => grid.at() + 1,
    ArrowUp: (grid) => grid.at() - 1,
    PageDown: (grid) => grid.at() + grid.page(),
    PageUp: (grid) => grid.at() - grid.page(),
    Home: () => 0,
    End: (grid) => grid.count() - 1,
  };

  function plain(event) {
    return !(event.altKey || event.ctrlKey || event.metaKey || event.shiftKey);
  }

  function onRows(body, grid, open) {
    body.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (step && plain(event)) {
        event.preventDefault();
        grid.move(step(grid));
      } else if ((event.key === "Enter" || event.key === " ") && plain(event)) {
        event.preventDefault();
        open();
      }
    });
  }

  function onEscape(node, close) {
    node.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) {
        close(event);
      }
    });
  }

  function neighbour(columns, column, place, key) {
    const beside = { ArrowLeft: -1, ArrowRight: 1 }[key];
    const along = { ArrowUp: -1, ArrowDown: 1 }[key];
    if (along !== undefined) {
      return columns[column][place + along];
    }
    for (let at = column + beside; at >= 0 && at < columns.length; at += beside) {
      if (columns[at].length) {
        return columns[at][Math.min(place, columns[at].length - 1)];
      }
    }
    return undefined;
  }

  // The rankings are one Tab stop; arrow keys move between documents.
  function onDocuments(board, columns) {
    board.addEventListener("keydown", (event) => {
      const column = columns.findIndex((docs) => docs.includes(document.activeElement));
      if (column < 0 || !plain(event) || !/^Arrow(Up|Down|Left|Right)$/.test(event.key)) {
        return;
      }
      event.preventDefault();
      const place = columns[column].indexOf(document.activeElement);
      const next = neighbour(columns, column, place, event.key);
      if (next) {
        columns[column][place].tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      }
    });
  }

  // The letters work everywhere on the page but where a person types.
  function onLetters(next, previous) {
    const steps = { j: next, k: previous };
    document.addEventListener("keydown", (event) => {
      const isTyping = event.target.closest && event.target.closest("input, select, textarea, [contenteditable]");
      if (steps[event.key] && plain(event) && !isTyping) {
        event.preventDefault();
        steps[event.key]();
      }
    });
  }

  rp.keys = { onRows, onEscape, onDocuments, onLetters };
})((window.rankproof = window.rankproof || {}));
