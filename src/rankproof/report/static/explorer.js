"use strict";

// Every query: the parts brought together, and the address kept in step.
(function (rp) {
  const { count, parsed } = rp.dom;

  function parts(section) {
    return Object.fromEntries([...section.querySelectorAll("[data-part]")].map((node) => [node.dataset.part, node]));
  }

  function start(section, data) {
    const at = parts(section);
    const model = rp.model.makeModel(data);
    let view = rp.view.viewOf(rp.state.read(), data);
    let rows = [];

    function change(part, replace) {
      view = { ...view, ...part };
      rp.state.write(rp.view.parametersOf(view, data), replace);
      show();
    }

    function open(query) {
      change({ query });
      grid.choose(rows.indexOf(query));
      panel.focus();
    }

    function close() {
      if (view.query !== null) {
        const back = rows.indexOf(view.query);
        change({ query: null });
        grid.move(back < 0 ? grid.at() : back);
      }
    }

    const showControls = rp.controls.makeControls(at.controls, model, () => view, change);
    const showHead = rp.head.makeHead(at.head, (column) => change(rp.head.afterClick(view, column, model.lowerIsBetter(view))));
    const grid = rp.grid.makeGrid(at.grid, at.head, at.body, open);
    const panel = rp.panel.makePanel(at.panel, model, { open, close });
    rp.keys.onRows(at.body, grid, () => open(rows[grid.at()]));
    rp.keys.onEscape(at.grid, close);

    function showCount() {
      const text = count(rows.length) + " of " + count(data.queries.ids.length) + " queries";
      if (at.count.textContent !== text) {
        at.count.textContent = text;
      }
    }

    function show() {
      rows = model.rows(view);
      const columns = rp.columns.columnsOf(model, view);
      const widths = rp.columns.widthsOf(model, view);
      showControls(view);
      showHead(columns, view);
      at.grid.setAttribute("aria-rowcount", rows.length + 1);
      at.grid.setAttribute("aria-colcount", columns.length);
      Object.entries(widths).forEach(([name, width]) => at.grid.style.setProperty("--" + name, width));
      at.grid.classList.toggle("unsegmented", !model.fieldOf(view));
      section.classList.toggle("opened", view.query !== null);
      showCount();
      grid.show(rows, columns, view.query);
      panel.show(view, rows);
    }

    // Another part of the page may be addressed meanwhile: the table stays as it is, an open query closes.
    function restore() {
      const elsewhere = window.location.hash !== "" && !rp.state.isHere();
      view = elsewhere ? { ...view, query: null } : rp.view.viewOf(rp.state.read(), data);
      show();
      if (view.query !== null) {
        panel.focus();
      }
    }

    window.addEventListener("hashchange", restore);
    show();
    if (view.query !== null) {
      grid.choose(Math.max(0, rows.indexOf(view.query)));
      panel.focus();
    } else if (rp.state.isHere()) {
      section.scrollIntoView();
    }
    return { model, view: () => view };
  }

  const section = document.getElementById("queries");
  const data = section ? parsed("data") : null;
  if (data) {
    rp.explorer = start(section, data);
  }
})((window.rankproof = window.rankproof || {}));
