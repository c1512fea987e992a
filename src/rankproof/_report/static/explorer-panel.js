"use strict";

// One query, opened below the table.
(function (rp) {
  const { el, fill, foreign } = rp.dom;

  function button(label, press, disabled, name) {
    const node = el("button", { type: "button", disabled, "aria-label": name || null }, label);
    node.addEventListener("click", press);
    return node;
  }

  function title(model, query) {
    const { ids, texts } = model.data.queries;
    const id = el("span", { class: "id" }, foreign(ids[query]));
    return el("h3", { tabindex: "-1" }, id, " ", el("span", { dir: "auto" }, texts[query]));
  }

  function facts(model, query) {
    const own = model.data.segments.filter((segment) => segment.of[query] >= 0);
    const valueOf = (segment) => foreign(segment.values[segment.of[query]]);
    const pairs = own.map((segment) => [el("dt", {}, foreign(segment.name)), el("dd", {}, valueOf(segment))]);
    return pairs.length ? el("dl", { class: "segments" }, pairs) : null;
  }

  function explanations(model, view, details, query) {
    const measure = model.data.measures[view.measure];
    const order = rp.view.shownSystems(view, model);
    return [
      el("h4", {}, "How " + measure.name + " is computed"),
      el("p", { class: "under" }, measure.title + ". " + measure.definition),
      order.map((system, at) => rp.explain.explained(model, view, details, system, query, at === 0)),
    ];
  }

  function makePanel(node, model, actions) {
    rp.keys.onEscape(node, actions.close);

    function bar(rows, query) {
      const at = rows.indexOf(query);
      return el(
        "div",
        { class: "steps" },
        button("← Previous", () => actions.open(rows[at - 1]), at <= 0),
        button("Next →", () => actions.open(rows[at + 1]), at < 0 || at >= rows.length - 1),
        button("Close ✕", actions.close, false, "Close this query")
      );
    }

    function show(view, rows) {
      const { query } = view;
      node.hidden = query === null;
      if (query === null) {
        fill(node);
        return;
      }
      const details = rp.details();
      fill(
        node,
        el("div", { class: "top" }, title(model, query), bar(rows, query)),
        rp.served.benchLink(view, model.data),
        facts(model, query),
        rp.answers.answers(model, view, details, query),
        rp.rankings.rankings(model, view, details, query),
        explanations(model, view, details, query)
      );
    }

    function focus(behavior) {
      const heading = node.querySelector("h3");
      if (heading) {
        node.scrollIntoView({ block: "start", behavior: behavior || "auto" });
        heading.focus({ preventScroll: true });
      }
    }

    return { show, focus };
  }

  rp.panel = { makePanel };
})((window.rankproof = window.rankproof || {}));
