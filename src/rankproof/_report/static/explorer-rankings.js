"use strict";

// Rankings side by side.
(function (rp) {
  const { el, foreign, spoken, value, count } = rp.dom;
  const LEVELS = 4;
  const MOST_MISSED = 20;
  const TITLE = " · ";

  function level(grade, highest) {
    return grade <= 0 ? 0 : Math.max(1, Math.ceil((grade / Math.max(highest, 1)) * LEVELS));
  }

  function gradeChip(grade, highest) {
    if (grade === undefined) {
      return el("span", { class: "grade unjudged" }, "unjudged");
    }
    return el("span", { class: "grade grade-" + level(grade, highest) }, spoken("grade "), String(grade));
  }

  function movement(entry, other) {
    if (entry.otherRank === null) {
      return null;
    }
    if (entry.otherRank === 0) {
      return el("span", { class: "shift new" }, "new", spoken(", not retrieved by " + other));
    }
    const steps = entry.otherRank - entry.rank;
    const kind = steps > 0 ? "up" : steps < 0 ? "down" : "same";
    const shown = steps > 0 ? "▲" + steps : steps < 0 ? "▼" + -steps : "=";
    const words = steps ? kind + " " + Math.abs(steps) + ", " : "";
    const where = "rank " + entry.otherRank + " in " + other;
    return el("span", { class: "shift " + kind, title: where }, el("span", { "aria-hidden": "true" }, shown), spoken(words + where));
  }

  function textOf(details, doc, stems) {
    const text = details.text(doc);
    const length = details.title(doc);
    const after = text.slice(length);
    const rest = length && after.startsWith(TITLE) ? after.slice(TITLE.length) : after;
    const head = length ? el("strong", { dir: "auto" }, rp.words.marked(text.slice(0, length), stems)) : null;
    return text ? el("div", { class: "snippet" }, head, el("span", { dir: "auto" }, rp.words.marked(rest, stems))) : null;
  }

  function address(url) {
    if (!url) {
      return null;
    }
    const link = /^https?:\/\//.test(url) ? el("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, url) : url;
    return el("p", { class: "where address" }, link);
  }

  function fieldLine(fields) {
    const shown = fields.map(([name, value]) => el("span", { dir: "auto" }, name + ": " + value));
    return shown.length ? el("p", { class: "where fields" }, shown) : null;
  }

  function documentItem(context, entry, other) {
    const { details, grades, stems, highest } = context;
    return el(
      "li",
      { class: "document", "data-doc": entry.doc, tabindex: "-1" },
      el(
        "div",
        { class: "facts" },
        el("span", { class: "rank" }, spoken("rank "), String(entry.rank)),
        gradeChip(grades.get(entry.doc), highest),
        movement(entry, other),
        entry.score === null ? null : el("span", { class: "where", title: "score" }, String(entry.score)),
        foreign(details.id(entry.doc), "name")
      ),
      textOf(details, entry.doc, stems),
      rp.served.wholeText(details.id(entry.doc), (text) => rp.words.marked(text, stems)),
      fieldLine(details.fields(entry.doc)),
      address(details.url(entry.doc))
    );
  }

  function missedItem(context, one) {
    const where = one.rank ? "rank " + count(one.rank) : "not retrieved";
    const name = foreign(context.details.id(one.doc), "name");
    return el(
      "li",
      { class: "document missed", "data-doc": one.doc, tabindex: "-1" },
      el("div", { class: "facts" }, gradeChip(one.grade, context.highest), el("span", { class: "where" }, where), name),
      textOf(context.details, one.doc, context.stems)
    );
  }

  function missedList(context, system) {
    const { data } = context.model;
    const isMissed = (one) => one.grade >= data.rel && (one.rank === 0 || one.rank > data.top);
    const all = context.details.ranked(system, context.query).filter(isMissed);
    if (!all.length) {
      return null;
    }
    const shown = all.slice(0, MOST_MISSED).map((one) => missedItem(context, one));
    const more = all.length > MOST_MISSED ? el("p", { class: "more" }, "and " + count(all.length - MOST_MISSED) + " more") : null;
    return el("div", {}, el("h5", {}, "Relevant, not in the top " + data.top), el("ul", {}, shown), more);
  }

  // The documents that left the top, compared with the other system.
  function leftList(context, system, index) {
    const { details, grades, highest, model, query, stems } = context;
    const left = model.data.pairs && index !== null ? details.left(system, index, query) : [];
    const item = (one) =>
      el(
        "li",
        { class: "document missed", "data-doc": one.doc, tabindex: "-1" },
        el(
          "div",
          { class: "facts" },
          gradeChip(grades.get(one.doc), highest),
          el("span", { class: "where" }, "rank " + one.otherRank + " → " + (one.rank ? count(one.rank) : "not retrieved")),
          foreign(details.id(one.doc), "name")
        ),
        textOf(details, one.doc, stems)
      );
    return left.length ? el("div", {}, el("h5", {}, "Left the top " + model.data.top), el("ul", {}, left.map(item))) : null;
  }

  function retrievalFacts(details, system, query) {
    const time = details.time(system, query);
    const retrieved = count(details.retrieved(system, query)) + " retrieved";
    return time ? retrieved + " · " + value(time, null, time < 10 ? 2 : 0) + " ms" : retrieved;
  }

  function column(context, system) {
    const { model, view, details, query } = context;
    const { data } = model;
    const { name, compared: index } = data.systems[system];
    const other = index === null ? null : data.systems[index].name;
    const top = details.top(system, query);
    const number = value(model.valueOf(view, system, query), data.measures[view.measure]);
    return el(
      "div",
      { class: system === view.a || system === view.b ? "ranking pinned" : "ranking", role: "group", "aria-label": name },
      el("h4", {}, el("span", {}, foreign(name), rp.columns.tag(view, system)), " ", el("span", { class: "number" }, number)),
      el("p", { class: "under" }, retrievalFacts(details, system, query), other === null ? null : [el("br"), "ranks compared with ", foreign(other)]),
      top.length ? el("ol", {}, top.map((entry) => documentItem(context, entry, other))) : el("p", {}, "No documents retrieved."),
      leftList(context, system, index),
      missedList(context, system)
    );
  }

  // Highlights the same document in every ranking.
  function highlightSame(board) {
    function mark(event) {
      const item = event.target.closest ? event.target.closest(".document") : null;
      board.querySelectorAll(".document.alike").forEach((one) => one.classList.remove("alike"));
      if (item && event.type !== "mouseleave") {
        const alike = '.document[data-doc="' + Number(item.dataset.doc) + '"]';
        board.querySelectorAll(alike).forEach((one) => one.classList.add("alike"));
      }
    }
    ["mouseover", "mouseleave", "focusin"].forEach((name) => board.addEventListener(name, mark));
  }

  function rankings(model, view, details, query) {
    if (!model.data.ranked) {
      return null;
    }
    const grades = new Map(details.judged(query).map((one) => [one.doc, one.grade]));
    const stems = rp.words.stemsOf(model.data.queries.texts[query]);
    const context = { model, view, details, query, grades, stems, highest: model.data.highest };
    const about = "Rankings side by side; arrow keys move between documents";
    const board = el("div", { class: "board", role: "group", "aria-label": about });
    board.append(...rp.view.shownSystems(view, model).map((system) => column(context, system)));
    const columns = [...board.children].map((one) => [...one.querySelectorAll(".document")]);
    const first = columns.flat()[0];
    if (first) {
      first.tabIndex = 0;
    }
    rp.keys.onDocuments(board, columns);
    highlightSame(board);
    return board;
  }

  rp.rankings = { rankings };
})((window.rankproof = window.rankproof || {}));
