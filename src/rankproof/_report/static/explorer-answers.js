"use strict";

// What systems answered, what they cited, and what would have been right.
(function (rp) {
  const { el, foreign } = rp.dom;

  function citation(details, doc) {
    return el("li", {}, foreign(details.id(doc), "name"), " ", el("span", { class: "snippet", dir: "auto" }, details.text(doc)));
  }

  function answerBlock(name, answer, details) {
    const cited = answer.cited.length ? el("ul", { class: "cited" }, answer.cited.map((doc) => citation(details, doc))) : null;
    return el(
      "div",
      { class: "answer" },
      el("h5", {}, foreign(name), " ", el("span", { class: "answer-state " + answer.state }, answer.state)),
      answer.text ? el("blockquote", { dir: "auto" }, answer.text) : null,
      cited ? el("p", { class: "under" }, "It cites:") : el("p", { class: "under" }, "It cites nothing."),
      cited
    );
  }

  function referenceBlock(references) {
    if (references === null || references === undefined) {
      return null;
    }
    if (!references.length) {
      return el("p", {}, "Nothing answers this query: the right thing is to say so.");
    }
    const any = references.length > 1 ? "Any of these would be right:" : "The answer should be:";
    const list = references.map((text) => el("li", { dir: "auto" }, text));
    return el("div", {}, el("p", { class: "under" }, any), el("ul", { class: "references" }, list));
  }

  function answers(model, view, details, query) {
    const said = view.systems.map((at) => [model.data.systems[at].name, details.answer(at, query)]).filter((pair) => pair[1]);
    const known = referenceBlock(details.references(query));
    if (!said.length && !known) {
      return null;
    }
    const blocks = said.map(([name, answer]) => answerBlock(name, answer, details));
    return el("div", { class: "answers" }, el("h4", {}, said.length ? "Answers" : "Answer"), known, blocks);
  }

  rp.answers = { answers };
})((window.rankproof = window.rankproof || {}));
