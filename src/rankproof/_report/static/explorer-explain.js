"use strict";

// How a value is computed, rank by rank.
(function (rp) {
  const { el, foreign, value } = rp.dom;
  const NEAR = 1e-4;
  const MOST_TERMS = 12;
  const MOST_ROWS = 50;
  const HEADS = {
    nDCG: ["gain", "discount", "gain × discount"],
    DCG: ["gain", "discount", "gain × discount"],
    RR: [null, null, "1 / rank"],
    AP: ["relevant so far", "1 / rank", "precision here"],
    P: [null, null, "counts"],
    R: [null, null, "counts"],
    Success: [null, null, "counts"],
  };

  function quoted(text) {
    return /^[\w@.-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";
  }

  function command(measure, system, query) {
    return `rankproof explain RESULTS --system=${quoted(system)} -m ${quoted(measure.name)} --query=${quoted(query)}`;
  }

  function commandHint(measure, system, query) {
    const shown = el("code", {}, foreign(command(measure, system, query)));
    const why = measure.tables.length ? "The verdicts are above; this command shows what they add up to: " : "This page does not explain this measure; run this command: ";
    return el("p", {}, why, shown);
  }

  // Shows the terms of the sum if they are few and not all 1.
  function added(terms, sum) {
    const few = terms.length > 1 && terms.length <= MOST_TERMS && terms.some((term) => term.adds !== 1);
    return few ? "(" + terms.map((term) => value(term.adds, null, 4)).join(" + ") + ")" : value(sum, null, 4);
  }

  function sentence(measure, counted) {
    const divided = counted.divisorName ? " / " + value(counted.divisor, null, 4) + " (" + counted.divisorName + ")" : "";
    return measure.name + " = " + added(counted.terms, counted.sum) + divided + " = " + value(counted.value, measure, 4);
  }

  function idealLine(counted) {
    const grades = counted.ideal.slice(0, MOST_TERMS).map((one) => one.grade).join(", ");
    const more = counted.ideal.length > MOST_TERMS ? ", …" : "";
    return el("p", {}, "The ideal ranking has the grades " + grades + more + ": its DCG is " + value(counted.divisor, null, 4) + ".");
  }

  function termRow(term, details, heads) {
    const numbers = [term.gain, term.factor, term.adds].filter((_, at) => heads[at] !== null);
    return el(
      "tr",
      {},
      el("td", { class: "number" }, String(term.rank)),
      el("td", {}, foreign(details.id(term.doc))),
      el("td", { class: "number" }, String(term.grade)),
      numbers.map((number) => el("td", { class: "number" }, value(number, null, 4)))
    );
  }

  function headOf(name) {
    return el("th", { scope: "col", class: name === "document" ? null : "number" }, name);
  }

  function termTable(measure, counted, details, caption) {
    const heads = HEADS[measure.kind];
    const names = ["rank", "document", "grade", ...heads.filter((head) => head !== null)];
    return el(
      "div",
      { class: "sideways", tabindex: "0", role: "region", "aria-label": caption },
      el(
        "table",
        {},
        el("caption", { class: "spoken" }, caption),
        el("thead", {}, el("tr", {}, names.map(headOf))),
        el("tbody", {}, counted.terms.slice(0, MOST_ROWS).map((term) => termRow(term, details, heads)))
      )
    );
  }

  function body(measure, counted, details, system, known) {
    const nodes = [el("p", { class: "sum" }, sentence(measure, counted))];
    if (counted.terms.length) {
      nodes.push(termTable(measure, counted, details, "Documents that add to " + measure.name + " of " + system));
    } else {
      nodes.push(el("p", {}, "No retrieved document adds to it."));
    }
    if (counted.terms.length > MOST_ROWS) {
      nodes.push(el("p", {}, "and " + (counted.terms.length - MOST_ROWS) + " more"));
    }
    if (counted.ideal && counted.ideal.length) {
      nodes.push(idealLine(counted));
    }
    if (Math.abs(counted.value - known) > NEAR) {
      const differs = "The results folder has " + value(known, measure, 4) + ", which differs from the value computed here.";
      nodes.push(el("p", { class: "warning" }, differs));
    }
    return nodes;
  }

  // The explanation of one system's value of the chosen measure, folded under its name.
  function explained(model, view, details, system, query, open) {
    const measure = model.data.measures[view.measure];
    const known = model.valueOf(view, system, query);
    const name = model.data.systems[system].name;
    if (known === null) {
      return el("p", {}, foreign(name), " has no value of " + measure.name + " for this query.");
    }
    const counted = rp.measures.counted(measure, details.ranked(system, query));
    const id = model.data.queries.ids[query];
    const nodes = counted ? body(measure, counted, details, name, known) : [commandHint(measure, name, id)];
    const summary = el("summary", {}, foreign(name), " ", el("span", { class: "number" }, value(known, measure, 4)));
    return el("details", { class: "explained", open }, summary, nodes);
  }

  rp.explain = { explained };
})((window.rankproof = window.rankproof || {}));
