"use strict";

// A view: what the table shows, in which order, and which query is open. Names in the address, places in the data here.
(function (rp) {
  const ONLY = ["better", "equal", "worse"];
  const SORTS = ["", "query", "text", "segment", "value", "difference", "gap", "spread", "first"];

  function initial(data) {
    const last = data.systems.length - 1;
    const baseline = last < 0 ? null : data.systems[last].baseline;
    return {
      measure: 0,
      a: last,
      b: baseline === null ? 0 : baseline,
      systems: data.systems.map((_, at) => at),
      sort: "",
      of: 0,
      down: false,
      text: "",
      field: -1,
      segment: -1,
      only: "",
      unjudged: false,
      query: null,
    };
  }

  function placeOf(names, name, otherwise) {
    const at = name === null ? -1 : names.indexOf(name);
    return at < 0 ? otherwise : at;
  }

  // Whatever the parameters name that the data does not have is as if it were not said.
  function viewOf(parameters, data) {
    const view = initial(data);
    const names = data.systems.map((system) => system.name);
    const sort = parameters.get("sort") || "";
    const shown = parameters.getAll("system").map((name) => names.indexOf(name)).filter((at) => at >= 0);
    view.measure = placeOf(data.measures.map((measure) => measure.name), parameters.get("measure"), 0);
    view.a = placeOf(names, parameters.get("a"), view.a);
    view.b = placeOf(names, parameters.get("b"), view.b);
    view.systems = shown.length ? view.systems.filter((at) => shown.includes(at)) : view.systems;
    view.sort = SORTS.includes(sort) ? sort : "";
    view.of = placeOf(names, parameters.get("of"), 0);
    view.down = parameters.get("down") === "1";
    view.text = (parameters.get("text") || "").slice(0, 200);
    view.field = placeOf(data.segments.map((segment) => segment.name), parameters.get("field"), -1);
    view.segment = view.field < 0 ? -1 : placeOf(data.segments[view.field].values, parameters.get("segment"), -1);
    view.only = ONLY.includes(parameters.get("only")) ? parameters.get("only") : "";
    view.unjudged = parameters.get("unjudged") === "1";
    view.query = placeOf(data.queries.ids, parameters.get("query"), null);
    return view;
  }

  // Only what differs from the first view is said.
  function parametersOf(view, data) {
    const first = initial(data);
    const said = new URLSearchParams();
    const say = (name, differs, value) => (differs ? said.append(name, value) : null);
    say("measure", view.measure !== first.measure, data.measures.length ? data.measures[view.measure].name : "");
    for (const side of ["a", "b"]) {
      say(side, view[side] !== first[side], data.systems.length ? data.systems[view[side]].name : "");
    }
    if (view.systems.length < data.systems.length) {
      view.systems.forEach((at) => say("system", true, data.systems[at].name));
    }
    say("sort", view.sort !== "", view.sort);
    say("of", view.sort === "value", view.sort === "value" ? data.systems[view.of].name : "");
    say("down", view.down, "1");
    say("text", view.text !== "", view.text);
    if (view.segment >= 0) {
      say("field", true, data.segments[view.field].name);
      say("segment", true, data.segments[view.field].values[view.segment]);
    }
    say("only", view.only !== "", view.only);
    say("unjudged", view.unjudged, "1");
    say("query", view.query !== null, view.query === null ? "" : data.queries.ids[view.query]);
    return said;
  }

  rp.view = { initial, viewOf, parametersOf };
})((window.rankproof = window.rankproof || {}));
