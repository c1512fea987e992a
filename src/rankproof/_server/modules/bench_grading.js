// Grade buttons on the cards of the bench, the values of the query with these grades, and the decision so far.
import { get, post } from "./api.js";
import { addSlot } from "./bench_slots.js";
import { el, fill } from "./dom.js";
import { showProgress } from "./judge_progress.js";

const states = new Map();
const gradesByPair = new WeakMap();

/** Whether and how the results are graded; asked once for each results. */
export function gradingState(id) {
  if (!states.has(id)) states.set(id, get(`/api/r/${id}/grading`));
  return states.get(id);
}

/** The test case of a typed text, null without one. */
export async function caseOf(id, text) {
  const words = text.split(/\s+/).filter(Boolean).join(" ");
  const { cases } = await get(`/api/r/${id}/cases`);
  return cases.find((saved) => saved.text === words) ?? null;
}

/** The grades of the documents of the shown query: a map from document to { grade, by }; asked once for each shown pair. */
export function shownGrades(view) {
  if (!gradesByPair.has(view.pair)) gradesByPair.set(view.pair, loadedGrades(view));
  return gradesByPair.get(view.pair);
}

async function loadedGrades({ bench, query, state }) {
  if (query) {
    const { grades } = await get(`/api/r/${bench.id}/grades`, { query: query.id });
    return new Map(grades.map(({ doc, grade, by }) => [doc, { grade, by }]));
  }
  const saved = await caseOf(bench.id, state.t);
  return new Map(Object.entries(saved?.grades ?? {}).map(([doc, grade]) => [doc, { grade, by: saved.who }]));
}

/** Why the shown query cannot be graded, empty if it can. */
async function whyNot(view) {
  const { allowed, why } = view.query ? await gradingState(view.bench.id) : await get(`/api/r/${view.bench.id}/cases`);
  return allowed ? "" : why;
}

const mayGrade = new WeakMap();

function canGrade(view) {
  if (!mayGrade.has(view.pair)) mayGrade.set(view.pair, whyNot(view).then((why) => !why));
  return mayGrade.get(view.pair);
}

addSlot("card", (card, view) => {
  const node = el("span", { class: "grade-buttons", role: "group", "aria-label": `Grade of ${card.doc}`, "data-graded": card.doc });
  drawButtons(node, card.doc, view);
  return node;
});

async function drawButtons(node, doc, view) {
  try {
    const [{ scale }, grades, isAllowed] = await Promise.all([gradingState(view.bench.id), shownGrades(view), canGrade(view)]);
    if (!isAllowed) return;
    node.closest(".card")?.querySelector(".grade, .unjudged")?.remove();
    fill(node, scale.map(({ grade, meaning }) => gradeButton(grade, meaning, doc, view, grades)));
  } catch (error) {
    fill(node, el("span", { class: "bench-note" }, error.message));
  }
}

function gradeButton(grade, meaning, doc, view, grades) {
  const known = grades.get(doc);
  const isGiven = known?.grade === grade;
  const attributes = { type: "button", class: "grade-button", "aria-pressed": String(isGiven), title: meaning || `grade ${grade}`, "data-grade": grade };
  return el("button", { ...attributes, on: { click: () => save(doc, isGiven && known.by ? null : grade, view) } }, String(grade));
}

/** Saves a grade, null to take it back; then shows it on both sides, with the values and the decision that follow. */
async function save(doc, grade, view) {
  try {
    const grades = await shownGrades(view);
    if (view.query) await saveJudgement(doc, grade, view, grades);
    else await saveInCase(doc, grade, view, grades);
    say(grade === null ? `Taken back: the grade of ${doc}.` : `Saved: grade ${grade} for ${doc}.`);
    for (const node of document.querySelectorAll(".grade-buttons")) if (node.dataset.graded === doc) await drawButtons(node, doc, view);
    document.dispatchEvent(new CustomEvent("graded", { detail: view }));
  } catch (error) {
    say(`Not saved: ${error.message}`, true);
  }
}

async function saveJudgement(doc, grade, view, grades) {
  const { assessor } = await gradingState(view.bench.id);
  const saved = await post(`/api/r/${view.bench.id}/grades`, { query: view.query.id, doc, grade, assessor });
  if (saved.grade === null && saved.counts === null) grades.delete(doc);
  else grades.set(doc, { grade: saved.grade ?? saved.counts, by: saved.grade === null ? "" : "you" });
}

async function saveInCase(doc, grade, view, grades) {
  const measure = view.bench.measure || undefined;
  const { case: saved } = await post(`/api/r/${view.bench.id}/cases/grades`, { text: view.state.t, doc, grade, measure });
  grades.clear();
  for (const [graded, value] of Object.entries(saved?.grades ?? {})) grades.set(graded, { grade: value, by: saved.who });
}

function say(text, isError = false) {
  const node = document.getElementById("graded");
  if (!node) return;
  node.textContent = text;
  node.classList.toggle("bench-note", isError);
}

/** The value of the shown query in A and B with the grades known here; null without a grade. */
export async function shownValues(view) {
  const grades = await shownGrades(view);
  if (!grades.size) return null;
  const rankings = view.pair.sides.map(({ cards }) => cards.map(({ doc }) => doc));
  const plain = Object.fromEntries([...grades].map(([doc, { grade }]) => [doc, grade]));
  return (await post(`/api/r/${view.bench.id}/values`, { measure: view.bench.measure || undefined, grades: plain, rankings })).values;
}

addSlot("query", (view) => {
  const values = el("p", { class: "query-values", role: "status" });
  const status = el("p", { id: "graded", role: "status" });
  const why = el("p", { class: "beside" });
  drawValues(values, view);
  whyNot(view).then((words) => fill(why, words ? `Not graded here: ${words}.` : ""), () => {});
  return [values, status, why];
});

async function drawValues(node, view) {
  try {
    const [values, grades] = await Promise.all([shownValues(view), shownGrades(view)]);
    const isNew = [...grades.values()].some(({ by }) => by);
    const words = (values ?? []).map((value, at) => `${"AB"[at]} ${value === null ? "–" : value.toFixed(3)}`).join(", ");
    fill(node, values && isNew ? `With the grades given here: ${words} ${view.bench.measure || "nDCG@10"}, over the documents shown.` : "");
  } catch (error) {
    fill(node, error.message);
  }
}

document.addEventListener("graded", ({ detail: view }) => {
  const node = document.querySelector(".query-values");
  if (node) drawValues(node, view);
  const panel = document.getElementById("judged-here");
  if (panel) drawProgress(panel, view.bench.id);
});

addSlot("panel", (view) => {
  const node = el("div", { id: "judged-here", class: "judged-here" });
  drawProgress(node, view.bench.id);
  return el("section", { "aria-label": "Judging" }, el("h2", {}, "Judging"), node, blindChoice(view));
});

async function drawProgress(node, id) {
  try {
    const state = await gradingState(id);
    if (!state.allowed) return fill(node, el("p", { class: "beside" }, `${state.why}.`));
    if (!state.assessor) return fill(node, el("p", {}, el("a", { href: `/r/${id}/assessor` }, "Choose who you are"), " to grade."));
    showProgress(node, await get(`/api/r/${id}/progress`));
    node.append(el("p", {}, el("a", { href: `/r/${id}/judge` }, "Judge as a queue")));
  } catch (error) {
    fill(node, el("p", { class: "bench-note" }, error.message));
  }
}

/** Blind: names, values, ranks elsewhere and reasons are hidden, and the sides change places at random from query to query. */
function blindChoice({ state, change }) {
  const box = el("input", { type: "checkbox", id: "blind", checked: state.blind === "1", on: { change: () => change({ blind: box.checked ? "1" : "" }) } });
  document.body.classList.toggle("blind", state.blind === "1");
  document.body.classList.toggle("swapped", state.blind === "1" && isSwapped(state.t || state.q));
  return el("p", {}, el("label", {}, box, " Blind: hide which system is which"));
}

/** Whether the sides of a query change places: half of the queries, the same ones each time. */
export function isSwapped(text) {
  let hash = 2166136261;
  for (const char of text) hash = Math.imul(hash ^ char.codePointAt(0), 16777619);
  hash ^= hash >>> 15;
  return (Math.imul(hash, 2246822519) >>> 13) % 2 === 1;
}
