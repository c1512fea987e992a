"use strict";

// The answers of the systems, the claims in them, their citations, and the reference answers.
(function (rp) {
  const { el, foreign } = rp.dom;

  function citation(details, doc) {
    return el("li", {}, foreign(details.id(doc), "name"), " ", el("span", { class: "snippet", dir: "auto" }, details.text(doc)));
  }

  function answerBlock(name, answer, details, references, measure) {
    const cited = answer.cited.length ? el("ul", { class: "cited" }, answer.cited.map((doc) => citation(details, doc))) : null;
    const checks = rp.claims.checks(answer, details, references, measure);
    const isMarked = checks.some((check) => check.open && check.dataset.side === "answer" && check.querySelector(".claims"));
    return el(
      "div",
      { class: "answer" },
      el("h5", {}, foreign(name), " ", el("span", { class: "answer-state " + answer.state }, answer.state)),
      answer.text && !isMarked ? el("blockquote", { dir: "auto" }, answer.text) : null,
      checks,
      cited ? el("p", { class: "under" }, "Citations:") : el("p", { class: "under" }, "No citations."),
      cited
    );
  }

  function referenceBlock(references) {
    if (references === null || references === undefined) {
      return null;
    }
    if (!references.length) {
      return el("p", {}, "This query has no answer: the correct response is to abstain.");
    }
    const label = references.length > 1 ? "Reference answers:" : "Reference answer:";
    const list = references.map((text) => el("li", { dir: "auto" }, text));
    return el("div", {}, el("p", { class: "under" }, label), el("ul", { class: "references" }, list));
  }

  function answers(model, view, details, query) {
    const systems = rp.view.shownSystems(view, model).sort((x, y) => x - y);
    const given = systems.map((at) => [model.data.systems[at].name, details.answer(at, query)]).filter((pair) => pair[1]);
    const references = details.references(query);
    const reference = referenceBlock(references);
    if (!given.length && !reference) {
      return null;
    }
    const measure = model.data.measures[view.measure];
    const blocks = given.map(([name, answer]) => answerBlock(name, answer, details, references, measure));
    return el("div", { class: "answers" }, el("h4", {}, given.length ? "Answers" : "Answer"), reference, blocks);
  }

  rp.answers = { answers };
})((window.rankproof = window.rankproof || {}));
