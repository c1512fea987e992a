// The queue of pairs to judge: one pair at a time by mouse or keyboard, with the plan and the decision so far beside it.
import { get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { showProgress } from "./judge_progress.js";
import { marked, stemsOf } from "./words.js";

const data = JSON.parse(document.getElementById("data").textContent);
const parts = Object.fromEntries([...document.querySelectorAll("main [id], header [id]")].map((node) => [node.id, node]));
const beginnings = new Set(data.beginnings);
const state = {
  grades: gradesByIndex(data.grades),
  skipped: new Set(),
  judged: data.last === null ? [] : [data.last],
  at: null,
  busy: false,
};

function gradesByIndex(grades) {
  return new Map(Object.entries(grades).map(([at, grade]) => [Number(at), grade]));
}

/** The next pair without a grade, skipped pairs last; null if all have one. */
function next() {
  const open = data.pairs.map((_, at) => at).filter((at) => data.pairs[at] && !state.grades.has(at));
  const fresh = open.find((at) => !state.skipped.has(at));
  if (fresh !== undefined || open.length === 0) return fresh ?? null;
  const after = open.find((at) => at > (state.at ?? -1));
  return after ?? open[0];
}

function show(at) {
  if (at === null && state.grades.size < data.pairs.length) {
    location.reload(); // A long list is shown in parts.
    return;
  }
  state.at = at;
  const isOpen = at !== null;
  for (const name of ["pair", "grades", "noted"]) parts[name].hidden = !isOpen;
  parts.done.hidden = isOpen;
  parts.skip.disabled = !isOpen;
  parts.undo.disabled = state.judged.length === 0;
  if (isOpen) showPair(at);
  count();
}

function showPair(at) {
  const [, , query, doc, text, passage] = data.pairs[at];
  parts["query-id"].textContent = query;
  parts["doc-id"].textContent = doc;
  parts.query.textContent = text;
  fill(parts.passage, marked(passage, stemsOf(text)));
  parts.beginning.hidden = !beginnings.has(at);
}

function count() {
  parts.bar.value = state.grades.size;
  const isDrawn = data.sizes.length > 0;
  parts.count.textContent = isDrawn ? questionProgress() : `${state.grades.size} of ${data.pairs.length} judged`;
}

/** How far whole questions are judged; `sizes` has the pairs of each question, in the order of the pairs. */
function questionProgress() {
  let start = 0;
  const open = data.sizes.map((size) => {
    const places = Array.from({ length: size }, (_, at) => start + at);
    start += size;
    return places.filter((at) => !state.grades.has(at)).length;
  });
  const left = open.reduce((sum, size) => sum + size, 0);
  const ahead = `${left} grade${left === 1 ? "" : "s"} left`;
  const first = open.findIndex((size) => size > 0);
  const complete = first === -1 ? data.sizes.length : first;
  const isBegun = first !== -1 && open[first] < data.sizes[first];
  if (complete > 0 && !isBegun) return `Question ${complete} of ${data.sizes.length} complete; you can stop. ${ahead}`;
  return `Question ${complete + 1} of ${data.sizes.length}: ${data.sizes[first] - open[first]} of ${data.sizes[first]}. ${ahead}`;
}

function showNext(at) {
  show(at);
  const node = state.at === null ? parts.done : parts.pair;
  node.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function showStatus(words) {
  parts.status.textContent = words;
  parts.error.hidden = true;
}

/** Sends one change at a time: a key pressed twice never changes the next pair. Null if it failed. */
async function change(address, body) {
  if (state.busy) return null;
  busy(true);
  try {
    return await post(address, body);
  } catch (error) {
    parts.error.textContent = `Not saved: ${error.status === 0 ? "the server does not respond" : error.message}`;
    parts.error.hidden = false;
    return null;
  } finally {
    busy(false);
  }
}

function busy(isBusy) {
  state.busy = isBusy;
  for (const button of parts.grades.querySelectorAll("button")) button.toggleAttribute("aria-disabled", isBusy);
}

async function judge(grade) {
  const at = state.at;
  if (at === null) return;
  const [query, doc, queryName, name] = data.pairs[at];
  const saved = await change(data.judge, { query, doc, grade, note: parts.note.value, assessor: data.assessor });
  if (saved === null) return;
  parts.note.value = "";
  state.grades = gradesByIndex(saved.grades);
  state.judged.push(at);
  const ranks = saved.system_ranks ? ` Ranks: ${saved.system_ranks}.` : "";
  showStatus(`Saved: grade ${grade} for ${name}, query ${queryName}.${ranks}`);
  showNext(next());
  progress();
}

async function undo() {
  const at = state.judged.at(-1);
  if (at === undefined) return;
  const [query, doc, , name] = data.pairs[at];
  const saved = await change(data.undo, { query, doc, assessor: data.assessor });
  if (saved === null) return;
  state.grades = gradesByIndex(saved.grades);
  state.judged.pop();
  showStatus(saved.grade === null ? `Undone: ${name} has no grade.` : `Undone: ${name} has grade ${saved.grade} again.`);
  showNext(at);
  progress();
}

function skip() {
  if (state.at === null || state.busy) return;
  const name = data.pairs[state.at][3];
  state.skipped.add(state.at);
  showStatus(`Skipped: ${name} comes last.`);
  showNext(next());
}

let turn = 0;

/** Shows the decision so far; a reply that a later grade has overtaken is dropped. */
async function progress() {
  const own = ++turn;
  try {
    const reply = await get(data.progress);
    if (own === turn) showProgress(parts.progress, reply, { isDrawn: data.sizes.length > 0 });
  } catch (error) {
    if (own === turn) fill(parts.progress, el("p", {}, `The decision so far is not known: ${error.message}`));
  }
}

const moves = { s: skip, u: undo, n: () => parts.note.focus(), d: () => parts.decision.click(), a: () => parts.agreement.click() };

function onKey(event) {
  const isTyping = document.activeElement === parts.note;
  if (event.key === "Escape" && isTyping) parts.pair.focus({ preventScroll: true });
  if (isTyping || !isShortcut(event)) return;
  const button = parts.grades.querySelector(`button[data-grade="${CSS.escape(event.key)}"]`);
  const action = button ? () => judge(Number(event.key)) : moves[event.key.toLowerCase()];
  if (action === undefined) return;
  event.preventDefault();
  action();
}

/** Whether a key is a shortcut here: not with a modifier, held down, or turned off. */
function isShortcut(event) {
  return parts.keys.checked && !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey;
}

for (const button of parts.grades.querySelectorAll("button")) {
  button.addEventListener("click", () => judge(Number(button.dataset.grade)));
}
parts.skip.addEventListener("click", skip);
parts.undo.addEventListener("click", undo);
document.addEventListener("keydown", onKey);
show(next());
progress();
