"use strict";

// The claims of an answer, marked by verdict in their text, with the evidence of each beside it.
(function (rp) {
  const { el, foreign, spoken, value, count } = rp.dom;
  const VERDICTS = {
    supported: ["✓", "supported"],
    contradicted: ["✗", "contradicted"],
    not_stated: ["?", "not stated"],
    nothing_to_check: ["–", "nothing to check"],
    failed: ["!", "failed"],
  };
  const TITLES = {
    "answer-contexts": "Answer checked against its contexts",
    "answer-reference": "Answer checked against the reference",
    "reference-contexts": "Reference checked against the contexts",
    "reference-answer": "Reference checked against the answer",
    "answer-question": "Answer checked against the question",
    "context-question": "Contexts checked against the question",
    "answer-cited": "Answer checked against its citations",
    "nugget-answer": "Nuggets checked against the answer",
  };
  const SOURCES = { contexts: "context", cited: "context", reference: "reference", answer: "answer", question: "question" };

  const LONGEST_WORD = 24;

  function readRow(row, shared) {
    const [n, place, text, verdict, score, evidence, reason, shown, importance] = row;
    return { n, place, text: text === null ? null : shared.texts[text], verdict: shared.verdicts[verdict], score, evidence, reason, shown, importance };
  }

  function readCheck(check, shared) {
    const table = shared.tables[check.table];
    const [side, against] = table.split("-");
    const rows = check.rows.map((row) => readRow(row, shared));
    return { ...check, table, side, against, judge: shared.judges[check.judge], rows };
  }

  function sign(verdict) {
    return el("span", { class: "sign " + verdict, "aria-hidden": "true" }, VERDICTS[verdict][0]);
  }

  // The number stays on the line of the last word.
  function withNumber(text, number) {
    const last = text.lastIndexOf(" ") + 1;
    const fits = text.length - last <= LONGEST_WORD;
    return fits ? [text.slice(0, last), el("span", { class: "last" }, text.slice(last), number)] : [text, number];
  }

  // The text with a mark around each claim that has a place in it.
  function markedText(check, text, rows) {
    const nodes = [];
    let end = 0;
    rows.forEach((row, at) => {
      if (row.place === null || row.place[0] < end) {
        return;
      }
      nodes.push(text.slice(end, row.place[0]));
      const number = el("sup", { "aria-hidden": "true" }, VERDICTS[row.verdict][0] + row.n);
      const words = spoken(" (claim " + row.n + ": " + VERDICTS[row.verdict][1] + ") ");
      const about = { class: "claim " + row.verdict, "data-claim": at, tabindex: nodes.length > 1 ? "-1" : "0" };
      nodes.push(el("mark", about, withNumber(text.slice(row.place[0], row.place[1]), number), words));
      end = row.place[1];
    });
    return end ? el("blockquote", { class: "claims", dir: "auto" }, nodes, text.slice(end)) : null;
  }

  function evidenceItem(check, given, details, [source, sentence, text]) {
    const id = SOURCES[check.against] === "context" && given[source - 1] !== undefined ? details.id(given[source - 1]) : null;
    const number = SOURCES[check.against] === "answer" || SOURCES[check.against] === "question" ? "" : " " + source;
    const where = [SOURCES[check.against] + number, id === null ? null : [" (", foreign(id), ")"], ", sentence " + sentence + ": "];
    return el("li", {}, el("span", { class: "where" }, where), el("span", { dir: "auto" }, text === null ? "…" : details.claims.texts[text]));
  }

  function shownNote(check, row) {
    if (row.shown === null || SOURCES[check.against] !== "context") {
      return null;
    }
    const numbers = row.shown.length ? row.shown.join(", ") : "none";
    return el("span", { class: "where" }, " checked against context " + numbers);
  }

  function claimRow(check, given, details, row, at) {
    const score = row.score === null ? null : el("span", { class: "number" }, " " + row.score.toFixed(2));
    const facts = [sign(row.verdict), " ", el("strong", {}, VERDICTS[row.verdict][1]), score, shownNote(check, row)];
    const importance = row.importance ? " · " + row.importance : null;
    const evidence = row.evidence.map((one) => evidenceItem(check, given, details, one));
    return el(
      "li",
      { class: "verdict " + row.verdict, "data-claim": at, tabindex: "-1" },
      el("p", {}, el("span", { class: "of" }, String(row.n)), " ", facts, importance),
      row.text === null ? null : el("p", { class: "said", dir: "auto" }, row.text),
      row.reason ? el("p", { class: "where", dir: "auto" }, row.reason) : null,
      evidence.length ? el("ul", {}, evidence) : null
    );
  }

  function plural(number, one, many) {
    return count(number) + " " + (number === 1 ? one : many);
  }

  // What the verdicts say together: a mean where the judge gives scores, else how many claims are supported.
  function outcome(rows) {
    const failed = rows.filter((row) => row.verdict === "failed").length;
    const counted = rows.filter((row) => row.verdict !== "nothing_to_check");
    if (failed || !counted.length) {
      return failed ? plural(failed, "verdict", "verdicts") + " failed" : "nothing to check";
    }
    const scores = counted.map((row) => row.score).filter((score) => score !== null);
    if (scores.length && scores.length === counted.length) {
      const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
      return plural(scores.length, "claim", "claims") + ", mean score " + value(mean, { share: true });
    }
    const supported = counted.filter((row) => row.verdict === "supported").length;
    return supported + " of " + plural(counted.length, "claim", "claims") + " supported";
  }

  function legend(rows) {
    const kinds = Object.keys(VERDICTS).filter((verdict) => rows.some((row) => row.verdict === verdict));
    const number = (verdict) => rows.filter((row) => row.verdict === verdict).length;
    const item = (verdict) => el("li", {}, sign(verdict), " " + count(number(verdict)) + " " + VERDICTS[verdict][1]);
    return el("ul", { class: "legend" }, kinds.map(item));
  }

  // The focused or pointed claim and its verdict are marked together; the marks are one Tab stop, and arrow keys move between them.
  function connect(body) {
    const marks = [...body.querySelectorAll("mark.claim")];
    const together = (event) => {
      const item = event.type === "mouseleave" || !event.target.closest ? null : event.target.closest("[data-claim]");
      body.querySelectorAll(".together").forEach((node) => node.classList.remove("together"));
      if (item) {
        body.querySelectorAll('[data-claim="' + Number(item.dataset.claim) + '"]').forEach((node) => node.classList.add("together"));
      }
    };
    ["mouseover", "mouseleave", "focusin"].forEach((name) => body.addEventListener(name, together));
    rp.keys.onDocuments(body, marks.map((mark) => [mark]));
  }

  function titleOf(check, references) {
    const of = references > 1 && (check.side === "reference" || check.against === "reference") ? ", reference " + check.reference : "";
    return TITLES[check.table] + of + (check.unit === "claim" ? ", claim by claim" : "");
  }

  function checkBlock(check, text, answer, details, references, open) {
    const rows = [...check.rows].sort((x, y) => (x.place && y.place ? x.place[0] - y.place[0] : x.n - y.n));
    const list = el("ol", { class: "verdicts" }, rows.map((row, at) => claimRow(check, answer.given, details, row, at)));
    const body = el("div", { class: "checked" }, text ? markedText(check, text, rows) : null, list);
    connect(body);
    const baseline = check.judge.startsWith("overlap:") ? " (baseline)" : null;
    const judge = el("span", { class: "under" }, " by ", foreign(check.judge), baseline);
    return el("details", { class: "claim-check", "data-side": check.side, open }, el("summary", {}, titleOf(check, references), ": ", outcome(rows), ",", judge), legend(rows), body);
  }

  function textOf(check, answer, references) {
    return { answer: answer.text, reference: (references || [])[check.reference - 1] }[check.side] || "";
  }

  // The checks of one answer; those of the measure are open, or the first one if the measure has none.
  function checks(answer, details, references, measure) {
    const found = (answer.checks || []).map((check) => readCheck(check, details.claims));
    const uses = (check) => measure.tables.includes(check.table) && check.judge === measure.judge && check.unit === measure.unit;
    const some = found.some(uses);
    const known = (references || []).length;
    return found.map((check, at) =>
      checkBlock(check, textOf(check, answer, references), answer, details, known, some ? uses(check) : at === 0)
    );
  }

  rp.claims = { checks };
})((window.rankproof = window.rankproof || {}));
