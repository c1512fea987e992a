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
    const columns = [
      { key: "query", kind: "id", label: "query", cell: (at) => foreign(queries.ids[at]) },
      { key: "text", kind: "text", label: "text", cell: (at) => foreign(queries.texts[at]) },
    ];
    if (field) {
      const cell = (at) => foreign(model.segmentOf(view, at) || "–");
      columns.push({ key: "segment", kind: "segment", label: field.name, cell });
    }
    view.systems.forEach((system) => columns.push(valueColumn(model, view, system)));
    if (systems.length > 1) {
      columns.push({
        key: "difference",
        kind: "difference",
        label: "A − B",
        title: a + " minus " + b,
        cell: (at) => differenceCell(model, view, at),
      });
    }
    if (model.data.judged) {
      columns.push({
        key: "first",
        kind: "first",
        label: "first relevant",
        title: "rank of the first relevant document in " + a,
        cell: (at) => firstCell(model, view, at),
      });
    }
    return columns;
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

  // Widths in rem; the text takes the rest of the line.
  function widthsOf(model, view) {
    const { queries, systems, judged } = model.data;
    const longest = queries.ids.reduce((most, id) => Math.max(most, id.length), 0);
    const values = view.systems.map((system) => widthOf(systems[system].name));
    const before = [between(3.25, longest * 0.6, 8)];
    const after = [...(model.fieldOf(view) ? [5] : []), ...values, ...(systems.length > 1 ? [4] : []), ...(judged ? [3.75] : [])];
    const wide = [...before, TEXT_WIDTH, ...after].reduce((sum, width) => sum + width + 0.4, 1.5 - 0.4);
    const columns = [...before.map(rem), `minmax(${rem(TEXT_WIDTH)}, 1fr)`, ...after.map(rem)].join(" ");
    return { columns, wide: rem(wide) };
  }

  rp.columns = { columnsOf, widthsOf, tag };
})((window.rankproof = window.rankproof || {}));
