"use strict";

// The differences between two systems, query by query, from the largest gain of A to its largest loss.
(function (rp) {
  const { el, fill, foreign, signed } = rp.dom;
  const SVG = "http://www.w3.org/2000/svg";
  const HEIGHT = 150;
  const ONLY = ["better", "equal", "worse"];

  function shape(tag, attributes) {
    const node = document.createElementNS(SVG, tag);
    Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    return node;
  }

  // The queries in their order with their differences; those without a value of both systems are left out.
  function differences(model, view, queries) {
    const all = queries.map((query) => ({ query, size: model.difference(view, query), outcome: model.outcome(view, query) }));
    const sign = model.lowerIsBetter(view) ? -1 : 1;
    return all.filter((one) => one.size !== null).sort((x, y) => sign * (y.size - x.size) || x.query - y.query);
  }

  function outline(list, first, count, x, y) {
    const steps = list.map((one, at) => "L" + x(first + at) + " " + y(one.size) + "H" + x(first + at + 1)).join("");
    return "M" + x(first) + " " + y(0) + steps + "L" + x(first + count) + " " + y(0) + "Z";
  }

  function drawing(list, width, title) {
    const highest = Math.max(0, ...list.map((one) => one.size));
    const lowest = Math.min(0, ...list.map((one) => one.size));
    const span = highest - lowest || 1;
    const round = (number) => Math.round(number * 100) / 100;
    const x = (at) => round((width * at) / Math.max(list.length, 1));
    const y = (size) => round(4 + ((HEIGHT - 8) * (highest - size)) / span);
    const svg = shape("svg", { viewBox: "0 0 " + width + " " + HEIGHT, width, height: HEIGHT, role: "img" });
    svg.append(shape("title", {}));
    svg.firstChild.textContent = title;
    for (const [outcome, kind] of [[1, "gain"], [-1, "loss"]]) {
      const part = list.filter((one) => one.outcome === outcome);
      if (part.length) {
        svg.append(shape("path", { class: kind, d: outline(part, list.indexOf(part[0]), part.length, x, y) }));
      }
    }
    svg.append(shape("line", { class: "zero", x1: 0, x2: width, y1: y(0), y2: y(0) }));
    return svg;
  }

  function counts(model, view, list) {
    const words = { better: "better in A", equal: "equal", worse: "worse in A" };
    const wanted = { better: 1, equal: 0, worse: -1 };
    const link = (only) => {
      const parameters = rp.view.parametersOf({ ...view, only, sort: "difference", down: (only === "better") !== model.lowerIsBetter(view), query: null }, model.data);
      const number = list.filter((one) => one.outcome === wanted[only]).length;
      return el(number ? "a" : "span", { href: number ? "#queries?" + parameters : null, class: only }, number + " " + words[only]);
    };
    return el("p", { class: "counts" }, ONLY.map(link));
  }

  // Draws the differences of the rows; `open` opens a query, which also the table below can.
  function draw(node, model, view, rows, open) {
    const { data } = model;
    const list = view.a === view.b || !data.systems.length ? [] : differences(model, view, rows);
    node.hidden = list.length === 0;
    if (node.hidden) {
      fill(node);
      return;
    }
    const measure = data.measures[view.measure];
    const [a, b] = [data.systems[view.a].name, data.systems[view.b].name];
    const title = measure.name + ", query by query";
    const hint = el("p", { class: "hint", "aria-hidden": "true" }, "Point at a query to see it, click to open it.");
    const place = el("div", { class: "bars" });
    const width = Math.max(200, Math.round(node.clientWidth || 440));
    place.append(drawing(list, width, title + ": " + a + " minus " + b));
    const at = (event) => {
      const box = place.getBoundingClientRect();
      return list[Math.max(0, Math.min(list.length - 1, Math.floor(((event.clientX - box.left) / box.width) * list.length)))];
    };
    place.addEventListener("pointermove", (event) => {
      const { query, size } = at(event);
      fill(hint, foreign(data.queries.texts[query] || data.queries.ids[query]), " ", el("strong", {}, signed(size, measure)));
    });
    place.addEventListener("click", (event) => open(at(event).query));
    fill(
      node,
      el("figcaption", {}, el("strong", {}, title), el("span", { class: "beside" }, "A ", foreign(a), " minus B ", foreign(b))),
      place,
      counts(model, view, list),
      hint
    );
  }

  rp.waterfall = { draw };
})((window.rankproof = window.rankproof || {}));
