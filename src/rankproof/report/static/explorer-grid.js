"use strict";

// The rows of the table: only those in sight are in the document, and the one that has the focus.
(function (rp) {
  const { el, fill } = rp.dom;
  const MARGIN = 6;

  function makeRow(columns, query, position, opened) {
    const cells = columns.map((column, at) => {
      const said = { role: "gridcell", class: "cell " + column.kind, "aria-colindex": at + 1, "data-label": column.label };
      return el("div", said, column.cell(query));
    });
    const said = { role: "row", class: "row", "aria-rowindex": position + 2, "aria-selected": String(opened === query) };
    return el("div", { ...said, tabindex: "-1" }, cells);
  }

  function makeGrid(scroller, headRow, body, onOpen) {
    const grid = { rows: [], columns: [], opened: null, active: 0, height: 44 };
    const made = new Map();

    function place(row, position) {
      row.style.top = position * grid.height + "px";
      row.tabIndex = position === grid.active ? 0 : -1;
      row.classList.toggle("odd", position % 2 === 1);
    }

    function add(position) {
      const row = makeRow(grid.columns, grid.rows[position], position, grid.opened);
      place(row, position);
      row.addEventListener("click", () => onOpen(grid.rows[position], position));
      made.set(position, row);
      return row;
    }

    function room() {
      return Math.max(0, scroller.clientHeight - headRow.offsetHeight);
    }

    // Rows stay in their order in the document, as a screen reader meets them.
    function draw() {
      const first = Math.max(0, Math.floor(scroller.scrollTop / grid.height) - MARGIN);
      const last = Math.min(grid.rows.length, Math.ceil((scroller.scrollTop + room()) / grid.height) + MARGIN);
      const wanted = new Set([grid.active].filter((at) => at < grid.rows.length));
      for (let at = first; at < last; at += 1) {
        wanted.add(at);
      }
      for (const [position, row] of made) {
        if (!wanted.has(position)) {
          row.remove();
          made.delete(position);
        }
      }
      let before = null;
      for (const position of [...wanted].sort((x, y) => x - y)) {
        const row = made.get(position) || add(position);
        const next = before ? before.nextSibling : body.firstChild;
        if (row !== next) {
          body.insertBefore(row, next);
        }
        before = row;
      }
    }

    function measureRow() {
      const probe = el("div", { class: "row" });
      body.append(probe);
      grid.height = probe.offsetHeight || grid.height;
      probe.remove();
      body.style.height = Math.max(1, grid.rows.length) * grid.height + "px";
    }

    function show(rows, columns, opened) {
      const held = body.contains(document.activeElement);
      const same = rows.length === grid.rows.length && rows.every((query, at) => query === grid.rows[at]);
      Object.assign(grid, { rows, columns, opened });
      grid.active = same ? grid.active : Math.max(0, opened === null ? 0 : rows.indexOf(opened));
      fill(body);
      made.clear();
      measureRow();
      if (!same) {
        scroller.scrollTop = 0;
      }
      draw();
      if (held) {
        move(grid.active);
      }
    }

    function reveal(position) {
      const top = position * grid.height;
      if (top < scroller.scrollTop) {
        scroller.scrollTop = top;
      } else if (top + grid.height > scroller.scrollTop + room()) {
        scroller.scrollTop = top + grid.height - room();
      }
    }

    function choose(position) {
      grid.active = Math.max(0, Math.min(grid.rows.length - 1, position));
      reveal(grid.active);
      draw();
      made.forEach((row, at) => place(row, at));
    }

    function move(position) {
      if (grid.rows.length) {
        choose(position);
        made.get(grid.active).focus({ preventScroll: true });
      }
    }

    function again() {
      measureRow();
      made.forEach((row, at) => place(row, at));
      draw();
    }

    scroller.addEventListener("scroll", draw, { passive: true });
    window.addEventListener("resize", again);
    const page = () => Math.max(1, Math.floor(room() / grid.height) - 1);
    return { show, move, choose, page, at: () => grid.active, count: () => grid.rows.length };
  }

  rp.grid = { makeGrid };
})((window.rankproof = window.rankproof || {}));
