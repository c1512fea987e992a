"use strict";

// The table of queries: connects its parts and keeps the page address up to date.
(function (rp) {
  const { count, parsed } = rp.dom;

  function parts(section) {
    return Object.fromEntries([...section.querySelectorAll("[data-part]")].map((node) => [node.dataset.part, node]));
  }

  function change(explorer, part, replace) {
    explorer.view = { ...explorer.view, ...part };
    rp.state.write(rp.view.parametersOf(explorer.view, explorer.data), replace);
    show(explorer);
  }

  // The measure of the whole page: the address stays at its section.
  function setMeasure(explorer, measure) {
    explorer.view = { ...explorer.view, measure };
    rp.state.write(rp.view.parametersOf(explorer.view, explorer.data), true, rp.state.section() || "decision");
    show(explorer);
  }

  // To the next query that is open, or the next row.
  function step(explorer, by) {
    const { view, rows, grid } = explorer;
    const at = view.query === null ? grid.at() : rows.indexOf(view.query);
    const next = rows[at + by];
    if (next === undefined) {
      return;
    }
    if (view.query !== null) {
      open(explorer, next);
    } else {
      explorer.at.grid.scrollIntoView({ block: "nearest" });
      grid.move(at + by);
    }
  }

  function open(explorer, query) {
    change(explorer, { query });
    explorer.grid.choose(explorer.rows.indexOf(query));
    explorer.panel.focus();
  }

  function close(explorer) {
    const { view, rows, grid } = explorer;
    if (view.query !== null) {
      const back = rows.indexOf(view.query);
      change(explorer, { query: null });
      grid.move(back < 0 ? grid.at() : back);
    }
  }

  function showCount({ at, rows, data }) {
    const text = count(rows.length) + " of " + count(data.queries.ids.length) + (data.queries.ids.length === 1 ? " query" : " queries");
    if (at.count.textContent !== text) {
      at.count.textContent = text;
    }
  }

  function showSize({ at, rows }, columns) {
    at.grid.setAttribute("aria-rowcount", rows.length + 1);
    at.grid.setAttribute("aria-colcount", columns.length);
    const widths = Object.entries(rp.columns.widthsOf(columns));
    widths.forEach(([name, width]) => at.grid.style.setProperty("--" + name, width));
  }

  function show(explorer) {
    const { section, model, view, grid, panel } = explorer;
    explorer.rows = model.rows(view);
    const columns = rp.columns.columnsOf(model, view);
    explorer.showControls(view);
    explorer.showHead(columns, view);
    showSize(explorer, columns);
    section.classList.toggle("opened", view.query !== null);
    showCount(explorer);
    grid.show(explorer.rows, columns, view.query);
    panel.show(view, explorer.rows);
    showWaterfalls(explorer);
    explorer.listeners.forEach((listener) => listener(view.measure));
  }

  // One of the rows of the table, and one of the decision, which keeps its two systems and all queries.
  function showWaterfalls(explorer) {
    const { model, view, start } = explorer;
    const opened = (query) => open(explorer, query);
    rp.waterfall.draw(explorer.at.waterfall, model, view, explorer.rows, opened);
    const place = document.querySelector('[data-part="decision-waterfall"]');
    if (place) {
      const first = { ...start, measure: view.measure };
      const openFirst = (query) => {
        change(explorer, { a: start.a, b: start.b });
        opened(query);
      };
      rp.waterfall.draw(place, model, first, model.rows(first), openFirst);
    }
  }

  // If the address points at another section, the table stays as it is and an open query closes.
  function restore(explorer) {
    const elsewhere = window.location.hash !== "" && !rp.state.isHere();
    explorer.view = elsewhere ? { ...explorer.view, query: null } : rp.view.viewOf(rp.state.read(), explorer.data);
    show(explorer);
    if (explorer.view.query !== null) {
      explorer.panel.focus();
    } else if (rp.state.isHere()) {
      explorer.section.scrollIntoView();
    }
  }

  function makeExplorer(section, data) {
    const at = parts(section);
    const model = rp.model.makeModel(data);
    const explorer = { section, data, at, model, view: rp.view.viewOf(rp.state.read(), data), rows: [], listeners: [] };
    explorer.start = rp.view.initial(data);
    const changed = (part, replace) => change(explorer, part, replace);
    const opened = (query) => open(explorer, query);
    const closed = () => close(explorer);
    const sorted = (column) => changed(rp.head.afterClick(explorer.view, column, model.lowerIsBetter(explorer.view)));
    explorer.showControls = rp.controls.makeControls(at.controls, model, () => explorer.view, changed);
    explorer.showHead = rp.head.makeHead(at.head, sorted);
    explorer.grid = rp.grid.makeGrid(at.grid, at.head, at.body, opened);
    explorer.panel = rp.panel.makePanel(at.panel, model, { open: opened, close: closed });
    rp.keys.onRows(at.body, explorer.grid, () => opened(explorer.rows[explorer.grid.at()]));
    rp.keys.onEscape(at.grid, closed);
    rp.keys.onLetters(() => step(explorer, 1), () => step(explorer, -1));
    window.addEventListener("resize", () => showWaterfalls(explorer));
    return explorer;
  }

  function start(section, data) {
    const explorer = makeExplorer(section, data);
    window.addEventListener("hashchange", () => restore(explorer));
    show(explorer);
    if (explorer.view.query !== null) {
      explorer.grid.choose(Math.max(0, explorer.rows.indexOf(explorer.view.query)));
      explorer.panel.focus("instant");
    } else if (rp.state.isHere()) {
      section.scrollIntoView({ behavior: "instant" });
    }
    const onMeasure = (listener) => {
      explorer.listeners.push(listener);
      listener(explorer.view.measure);
    };
    return { model: explorer.model, view: () => explorer.view, setMeasure: (measure) => setMeasure(explorer, measure), onMeasure };
  }

  // The table makes the page longer, so a section that the address names is shown again.
  function begin() {
    const data = section ? parsed("data") : null;
    if (data) {
      rp.explorer = start(section, data);
      const named = rp.state.isHere() ? null : document.getElementById(rp.state.section());
      if (named) {
        named.scrollIntoView({ behavior: "instant" });
      }
    }
  }

  function explain() {
    parts(section).count.textContent = "This browser cannot expand the data of the page: use a browser of 2023 or later.";
  }

  const section = document.getElementById("queries");
  rp.ready.then(begin, explain);
})((window.rankproof = window.rankproof || {}));
