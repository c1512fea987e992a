"use strict";

// The columns of the table of queries: heads, sort keys and cells.
(function (rp) {
  const { el, foreign, spoken, value, signed } = rp.dom;

  function tag(view, system) {
    if (view.a === view.b) {
      return null;
    }
    const sides = [view.a === system ? "A" : "", view.b === system ? "B" : ""].filter(Boolean).join(" ");
    return sides ? el("span", { class: "side" }, sides) : null;
  }

  function valueCell(model, view, system, query) {
    const number = model.valueOf(view, system, query);
    const measure = model.data.measures[view.measure];
    const cell = el("span", { class: "number" }, value(number, measure));
    if (number !== null && measure.share) {
      const bar = el("span", { class: "bar", "aria-hidden": "true" });
      bar.style.width = Math.max(0, Math.min(1, number)) * 100 + "%";
      cell.append(bar);
    }
    return cell;
  }

  function valueColumn(model, view, system) {
    const name = model.data.systems[system].name;
    const side = view.a === system || view.b === system ? "" : " other";
    return {
      key: "value",
      of: system,
      kind: "value" + side,
      label: name,
      head: [foreign(name), tag(view, system)],
      cell: (query) => valueCell(model, view, system, query),
    };
  }

  function differenceCell(model, view, query) {
    const outcome = model.outcome(view, query);
    const kind = outcome === null ? "" : outcome > 0 ? " better" : outcome < 0 ? " worse" : " equal";
    return el("span", { class: "number" + kind }, signed(model.difference(view, query), model.data.measures[view.measure]));
  }

  function firstCell(model, view, query) {
    const rank = (model.data.first[view.a] || [])[query];
    return el("span", { class: "number" }, rank ? String(rank) : "–", rank ? null : spoken("not found"));
  }

  function columnsOf(model, view) {
    const { queries, systems } = model.data;
    const field = model.fieldOf(view);
    const a = systems.length ? systems[view.a].name : "";
    const b = systems.length ? systems[view.b].name : "";
    const columns = [{ key: "query", kind: "id", label: "query", pinned: true, cell: (at) => foreign(queries.ids[at]) }];
    const shown = rp.view.shownSystems(view, model).map((system) => valueColumn(model, view, system));
    const pinned = view.a === view.b ? 1 : 2;
    columns.push(...shown.slice(0, pinned).map((column) => ({ ...column, pinned: true })));
    if (systems.length > 1) {
      columns.push({
        key: "difference",
        kind: "difference",
        label: "A − B",
        title: a + " minus " + b,
        pinned: true,
        cell: (at) => differenceCell(model, view, at),
      });
    }
    columns.push({ key: "text", kind: "text", label: "text", cell: (at) => foreign(queries.texts[at]) });
    if (field) {
      const cell = (at) => foreign(model.segmentOf(view, at) || "–");
      columns.push({ key: "segment", kind: "segment", label: field.name, cell });
    }
    columns.push(...shown.slice(pinned));
    if (model.data.judged) {
      columns.push({
        key: "first",
        kind: "first",
        label: "first relevant",
        title: "rank of the first relevant document in " + a,
        cell: (at) => firstCell(model, view, at),
      });
    }
    if (view.sort === "time") {
      columns.push({
        key: "time",
        of: view.of,
        kind: "time",
        label: "ms",
        title: "milliseconds in " + systems[view.of].name,
        cell: (at) => el("span", { class: "number" }, value(model.timeOf(view, at), null, 2)),
      });
    }
    return placed(model, columns);
  }

  const TEXT_WIDTH = 9;

  function rem(width) {
    return width + "rem";
  }

  function between(least, width, most) {
    return Math.max(least, Math.min(most, width));
  }

  // The width of the longest word of a name, so that names break between words.
  function widthOf(name) {
    return between(4, Math.max(...name.split(/[\s_-]+/).map((word) => word.length)) * 0.48, 7);
  }

  const WIDTHS = { text: TEXT_WIDTH, segment: 5, difference: 4, first: 3.75, time: 4 };
  const GAP = 0.4;
  const EDGE = 0.75;

  // The width of each column in rem, and for pinned ones how far they stay from the left.
  function placed(model, columns) {
    const longest = model.data.queries.ids.reduce((most, id) => Math.max(most, id.length), 0);
    let left = 0;
    return columns.map((column) => {
      const own = column.key === "query" ? between(3.25, longest * 0.6, 8) : column.key === "value" ? widthOf(column.label) : WIDTHS[column.key];
      const start = left;
      left += own + GAP + (start ? 0 : EDGE);
      return { ...column, width: own, left: column.pinned ? rem(start) : null };
    });
  }

  // The text takes the rest of the line.
  function widthsOf(columns) {
    const wide = columns.reduce((sum, column) => sum + column.width + GAP, 2 * EDGE - GAP);
    const tracks = columns.map(({ key, width }) => (key === "text" ? `minmax(${rem(width)}, 1fr)` : rem(width)));
    return { columns: tracks.join(" "), wide: rem(wide) };
  }

  function pin(cell, column) {
    if (column.left !== null) {
      cell.classList.add("pinned");
      cell.style.left = column.left;
    }
    return cell;
  }

  rp.columns = { columnsOf, widthsOf, tag, pin };
})((window.rankproof = window.rankproof || {}));
