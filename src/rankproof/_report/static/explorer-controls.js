"use strict";

// The controls that choose what the table shows.
(function (rp) {
  const { el, fill } = rp.dom;
  const ONLY = [
    ["", "all queries"],
    ["better", "A better than B"],
    ["equal", "A and B equal"],
    ["worse", "A worse than B"],
  ];

  const MOVED = [
    ["", "any"],
    ["found", "found by A alone"],
    ["lost", "lost by A"],
    ["promoted", "promoted by A"],
    ["demoted", "demoted by A"],
    ["kept", "at the same rank"],
  ];

  function option(value, label) {
    return el("option", { value }, label);
  }

  function labelled(label, control) {
    control.id = "queries-" + label.toLowerCase().replaceAll(" ", "-");
    return el("div", { class: "control" }, el("label", { for: control.id }, label), control);
  }

  function select(options, onPick) {
    const control = el("select", {}, options);
    control.addEventListener("change", () => onPick(control.value));
    return control;
  }

  function numbered(names) {
    return names.map((name, at) => option(at, name));
  }

  function segmentOptions(data) {
    const groups = data.segments.map((segment, field) =>
      el("optgroup", { label: segment.name }, segment.values.map((value, at) => option(field + ":" + at, value)))
    );
    return [option("", "all"), ...groups];
  }

  function segmentOf(value) {
    const [field, segment] = value ? value.split(":").map(Number) : [-1, -1];
    return { field, segment };
  }

  function search(onText) {
    const quiet = { autocomplete: "off", spellcheck: "false" };
    const control = el("input", { type: "search", placeholder: "id or words", maxlength: 200, ...quiet });
    control.addEventListener("input", () => onText(control.value));
    return control;
  }

  function checkbox(label, onPick) {
    const control = el("input", { type: "checkbox" });
    control.addEventListener("change", () => onPick(control.checked));
    return { control, node: el("label", { class: "check" }, control, " ", label) };
  }

  function button(label, onPress) {
    const control = el("button", { type: "button" }, label);
    control.addEventListener("click", onPress);
    return control;
  }

  function shownSystems(data, view, at, checked) {
    return view.systems.filter((one) => one !== at).concat(checked ? [at] : []).sort((x, y) => x - y);
  }

  // The systems of both results; a choice shows one of them before and after.
  function pairSelect(data, change) {
    const choose = (value) => {
      const { a, b } = data.pairs[Number(value)];
      change({ a, b, systems: [a, b].sort((x, y) => x - y) });
    };
    const control = select(numbered(data.pairs.map((pair) => pair.name)), choose);
    const show = (view) => (control.value = String(data.pairs.findIndex((pair) => pair.a === view.a && pair.b === view.b)));
    return { control, show };
  }

  function changePresets(model, change) {
    const isUp = (view, isGain) => isGain !== model.lowerIsBetter(view);
    return [["Largest losses", false], ["Largest gains", true]].map(([label, isGain]) => ({
      node: button(label, () => change((view) => ({ sort: "difference", down: isUp(view, isGain) }))),
      isOn: (view) => view.sort === "difference" && view.down === isUp(view, isGain),
    }));
  }

  function presets(model, now, change) {
    const worst = () => change({ sort: "value", of: now().a, down: model.lowerIsBetter(now()) });
    const isWorst = (view) => view.sort === "value" && view.of === view.a && view.down === model.lowerIsBetter(view);
    return [
      [model.data.systems.length > 1 ? "Worst first in A" : "Worst first", worst, isWorst],
      ["Largest difference", () => change({ sort: "gap", down: true }), (view) => view.sort === "gap"],
      ["Largest spread", () => change({ sort: "spread", down: true }), (view) => view.sort === "spread"],
    ]
      .slice(0, model.data.systems.length > 1 ? 3 : 1)
      .map(([label, press, isOn]) => ({ node: button(label, press), isOn }));
  }

  function makeControls(place, model, now, change) {
    const { data } = model;
    const names = data.systems.map((system) => system.name);
    const measure = select(numbered(data.measures.map((one) => one.name)), (value) => change({ measure: Number(value) }));
    const a = select(numbered(names), (value) => change({ a: Number(value) }));
    const b = select(numbered(names), (value) => change({ b: Number(value) }));
    const segment = select(segmentOptions(data), (value) => change(segmentOf(value)));
    const only = select(ONLY.map(([value, label]) => option(value, label)), (value) => change({ only: value }));
    const moved = select(MOVED.map(([value, label]) => option(value, label)), (value) => change({ moved: value }));
    const text = search((value) => change({ text: value }, true));
    const unjudged = checkbox("unjudged documents in the top " + data.top, (on) => change({ unjudged: on }));
    const shown = names.map((name, at) => checkbox(name, (on) => change({ systems: shownSystems(data, now(), at, on) })));
    const summary = el("summary", {});
    const orders = presets(model, now, change);
    const pairs = data.pairs ? pairSelect(data, change) : null;
    if (pairs) {
      orders.splice(0, 3, orders[1], ...changePresets(model, (part) => change(part(now()))));
    }
    const others = button("", () => change({ systems: now().systems.length < names.length ? names.map((_, at) => at) : [now().a, now().b] }));
    const reset = button("Reset", () => change({ ...rp.view.initial(data), query: now().query }));
    const chosen = pairs ? [["System", pairs.control]] : [["System A", a], ["System B", b]];
    const pair = names.length > 1 ? [...chosen, ["Only", only], ...(data.judged && data.ranked ? [["Relevant documents", moved]] : [])] : [];
    const labels = [["Find", text], ["Measure", measure], ...pair];
    const choices = labels.map(([label, control]) => labelled(label, control));
    const order = el("div", { class: "presets", role: "group", "aria-label": "Order" }, orders.map((one) => one.node), reset);
    const systems = el("details", { class: "systems" }, summary, el("div", { class: "checks" }, shown.map((one) => one.node)));
    const isWide = names.length > 2 && !pairs;
    fill(
      place,
      el("div", { class: "controls choices" }, choices, data.segments.length ? labelled("Segment", segment) : null),
      el("div", { class: "controls" }, order, data.judged ? unjudged.node : null, isWide ? [others, systems] : null)
    );

    return function show(view) {
      measure.value = String(view.measure);
      a.value = String(view.a);
      b.value = String(view.b);
      if (pairs) {
        pairs.show(view);
      }
      segment.value = view.segment < 0 ? "" : view.field + ":" + view.segment;
      only.value = view.only;
      moved.value = view.moved;
      if (text.value !== view.text) {
        text.value = view.text;
      }
      unjudged.control.checked = view.unjudged;
      const visible = rp.view.shownSystems(view, model);
      shown.forEach((one, at) => {
        one.control.checked = visible.includes(at);
        one.control.disabled = at === view.a || at === view.b;
      });
      const hidden = names.length - visible.length;
      others.textContent = hidden ? "+" + hidden + (hidden === 1 ? " system" : " systems") : "A and B alone";
      summary.textContent = "Systems shown: " + visible.length + " of " + names.length;
      orders.forEach((one) => one.node.setAttribute("aria-pressed", String(one.isOn(view))));
    };
  }

  rp.controls = { makeControls };
})((window.rankproof = window.rankproof || {}));
