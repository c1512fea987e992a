"use strict";

// The rows of the table: only visible rows and the active one are in the document.
(function (rp) {
  const { el, fill } = rp.dom;
  const MARGIN = 6;

  function makeRow(columns, query, position, opened) {
    const cells = columns.map((column, at) => {
      const attributes = { role: "gridcell", class: "cell " + column.kind, "aria-colindex": at + 1, "data-label": column.label };
      return rp.columns.pin(el("div", attributes, column.cell(query)), column);
    });
    const attributes = { role: "row", class: "row", "aria-rowindex": position + 2, "aria-selected": String(opened === query) };
    return el("div", { ...attributes, tabindex: "-1" }, cells);
  }

  function place(grid, row, position) {
    row.style.top = position * grid.height + "px";
    row.tabIndex = position === grid.active ? 0 : -1;
    row.classList.toggle("odd", position % 2 === 1);
  }

  function add(grid, position) {
    const row = makeRow(grid.columns, grid.rows[position], position, grid.opened);
    place(grid, row, position);
    row.addEventListener("click", () => grid.onOpen(grid.rows[position]));
    grid.made.set(position, row);
    return row;
  }

  function bodyHeight(grid) {
    return Math.max(0, grid.scroller.clientHeight - grid.headRow.offsetHeight);
  }

  // The positions of the visible rows and of the active one, in order.
  function visibleRows(grid) {
    const top = grid.scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / grid.height) - MARGIN);
    const last = Math.min(grid.rows.length, Math.ceil((top + bodyHeight(grid)) / grid.height) + MARGIN);
    const wanted = new Set([grid.active].filter((at) => at < grid.rows.length));
    for (let at = first; at < last; at += 1) {
      wanted.add(at);
    }
    return new Set([...wanted].sort((x, y) => x - y));
  }

  function drop(grid, wanted) {
    for (const [position, row] of grid.made) {
      if (!wanted.has(position)) {
        row.remove();
        grid.made.delete(position);
      }
    }
  }

  // Rows keep their order in the document for screen readers.
  function draw(grid) {
    const wanted = visibleRows(grid);
    drop(grid, wanted);
    let before = null;
    for (const position of wanted) {
      const row = grid.made.get(position) || add(grid, position);
      const next = before ? before.nextSibling : grid.body.firstChild;
      if (row !== next) {
        grid.body.insertBefore(row, next);
      }
      before = row;
    }
  }

  function measureRow(grid) {
    const probe = el("div", { class: "row" });
    grid.body.append(probe);
    grid.height = probe.offsetHeight || grid.height;
    probe.remove();
    grid.body.style.height = Math.max(1, grid.rows.length) * grid.height + "px";
  }

  function show(grid, rows, columns, opened) {
    const hadFocus = grid.body.contains(document.activeElement);
    const same = rows.length === grid.rows.length && rows.every((query, at) => query === grid.rows[at]);
    Object.assign(grid, { rows, columns, opened });
    grid.active = same ? grid.active : Math.max(0, opened === null ? 0 : rows.indexOf(opened));
    fill(grid.body);
    grid.made.clear();
    measureRow(grid);
    if (!same) {
      grid.scroller.scrollTop = 0;
    }
    draw(grid);
    if (hadFocus) {
      move(grid, grid.active);
    }
  }

  function reveal(grid, position) {
    const top = position * grid.height;
    if (top < grid.scroller.scrollTop) {
      grid.scroller.scrollTop = top;
    } else if (top + grid.height > grid.scroller.scrollTop + bodyHeight(grid)) {
      grid.scroller.scrollTop = top + grid.height - bodyHeight(grid);
    }
  }

  function choose(grid, position) {
    grid.active = Math.max(0, Math.min(grid.rows.length - 1, position));
    reveal(grid, grid.active);
    draw(grid);
    grid.made.forEach((row, at) => place(grid, row, at));
  }

  function move(grid, position) {
    if (grid.rows.length) {
      choose(grid, position);
      grid.made.get(grid.active).focus({ preventScroll: true });
    }
  }

  function again(grid) {
    measureRow(grid);
    grid.made.forEach((row, at) => place(grid, row, at));
    draw(grid);
  }

  function makeGrid(scroller, headRow, body, onOpen) {
    const found = { rows: [], columns: [], opened: null, active: 0, height: 44, made: new Map() };
    const grid = { ...found, scroller, headRow, body, onOpen };
    scroller.addEventListener("scroll", () => draw(grid), { passive: true });
    window.addEventListener("resize", () => again(grid));
    return {
      show: (rows, columns, opened) => show(grid, rows, columns, opened),
      move: (position) => move(grid, position),
      choose: (position) => choose(grid, position),
      page: () => Math.max(1, Math.floor(bodyHeight(grid) / grid.height) - 1),
      at: () => grid.active,
      count: () => grid.rows.length,
    };
  }

  rp.grid = { makeGrid };
})((window.rankproof = window.rankproof || {}));
