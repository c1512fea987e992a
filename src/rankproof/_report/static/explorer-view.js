"use strict";

// A view: what the table shows, its order, and the open query. The address has names, the view has indices into the data.
(function (rp) {
  const ONLY = ["better", "equal", "worse"];
  const MOVED = ["found", "lost", "promoted", "demoted", "kept"];
  const SORTS = ["", "query", "text", "segment", "value", "difference", "gap", "spread", "first", "time"];

  // `start` of the data replaces parts of the first view.
  function initial(data) {
    const last = data.systems.length - 1;
    const compared = last < 0 ? null : data.systems[last].compared;
    return {
      measure: 0,
      a: last,
      b: compared === null ? 0 : compared,
      systems: data.systems.map((_, at) => at),
      sort: "",
      of: 0,
      down: false,
      text: "",
      field: -1,
      segment: -1,
      only: "",
      moved: "",
      unjudged: false,
      query: null,
      ...data.start,
    };
  }

  function indexOf(names, name, otherwise) {
    const at = name === null ? -1 : names.indexOf(name);
    return at < 0 ? otherwise : at;
  }

  // Parameters with names that the data does not have are ignored.
  function viewOf(parameters, data) {
    const view = initial(data);
    const names = data.systems.map((system) => system.name);
    const sort = parameters.has("sort") ? parameters.get("sort") : view.sort;
    const shown = parameters.getAll("system").map((name) => names.indexOf(name)).filter((at) => at >= 0);
    view.measure = indexOf(data.measures.map((measure) => measure.name), parameters.get("measure"), 0);
    view.a = indexOf(names, parameters.get("a"), view.a);
    view.b = indexOf(names, parameters.get("b"), view.b);
    view.systems = shown.length ? names.map((_, at) => at).filter((at) => shown.includes(at)) : view.systems;
    view.sort = SORTS.includes(sort) ? sort : view.sort;
    view.of = indexOf(names, parameters.get("of"), view.a);
    view.down = parameters.has("down") || parameters.has("sort") ? parameters.get("down") === "1" : view.down;
    view.text = (parameters.get("text") || "").slice(0, 200);
    view.field = indexOf(data.segments.map((segment) => segment.name), parameters.get("field"), -1);
    view.segment = view.field < 0 ? -1 : indexOf(data.segments[view.field].values, parameters.get("segment"), -1);
    view.only = ONLY.includes(parameters.get("only")) ? parameters.get("only") : "";
    view.moved = MOVED.includes(parameters.get("moved")) ? parameters.get("moved") : "";
    view.unjudged = parameters.get("unjudged") === "1";
    view.query = indexOf(data.queries.ids, parameters.get("query"), null);
    return view;
  }

  // Only differences from the initial view are written.
  function parametersOf(view, data) {
    const first = initial(data);
    const parameters = new URLSearchParams();
    const add = (name, differs, value) => (differs ? parameters.append(name, value) : null);
    add("measure", view.measure !== first.measure, data.measures.length ? data.measures[view.measure].name : "");
    for (const side of ["a", "b"]) {
      add(side, view[side] !== first[side], data.systems.length ? data.systems[view[side]].name : "");
    }
    if (view.systems.join() !== first.systems.join()) {
      view.systems.forEach((at) => add("system", true, data.systems[at].name));
    }
    const isOrdered = view.sort !== first.sort || view.down !== first.down;
    add("sort", isOrdered && (view.sort !== "" || first.sort !== ""), view.sort);
    const isOf = (view.sort === "value" || view.sort === "time") && view.of !== view.a;
    add("of", isOf, isOf ? data.systems[view.of].name : "");
    add("down", isOrdered && view.down, "1");
    add("text", view.text !== "", view.text);
    if (view.segment >= 0) {
      add("field", true, data.segments[view.field].name);
      add("segment", true, data.segments[view.field].values[view.segment]);
    }
    add("only", view.only !== "", view.only);
    add("moved", view.moved !== "", view.moved);
    add("unjudged", view.unjudged, "1");
    add("query", view.query !== null, view.query === null ? "" : data.queries.ids[view.query]);
    return parameters;
  }

  // The systems that are shown: A and B first, or before and after, then the others from the best to the worst.
  function shownSystems(view, model) {
    const others = model.bestFirst(view).filter((at) => view.systems.includes(at));
    const pair = model.data.pairs ? [view.b, view.a] : [view.a, view.b];
    return [...new Set([...pair, ...others])].filter((at) => at >= 0);
  }

  rp.view = { initial, viewOf, parametersOf, shownSystems };
})((window.rankproof = window.rankproof || {}));
