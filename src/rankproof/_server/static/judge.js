
const beginnings = new Set(data.beginnings);
const state = {
  grades: gradesByIndex(data.grades),
  skipped: new Set(),
  judged: data.last === null ? [] : [data.last],
  at: null,
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
  const open = at !== null;
  for (const name of ["pair", "grades", "noted"]) parts[name].hidden = !open;
  parts.done.hidden = open;
  parts.skip.disabled = !open;
  parts.undo.disabled = state.judged.length === 0;
  if (open) {
    const [, , query, doc, text, passage] = data.pairs[at];
    parts["query-id"].textContent = query;
    parts["doc-id"].textContent = doc;
    parts.query.textContent = text;
    parts.passage.textContent = passage;
    parts.beginning.hidden = !beginnings.has(at);
  }
  count();
}

function count() {
  const done = state.grades.size;
  parts.bar.value = done;
  const isQuestions = data.sizes.length > 0;
  parts.count.textContent = isQuestions
    ? questionProgress(data.sizes, (at) => state.grades.has(at), "grade")
    : `${done} of ${data.pairs.length} judged`;
}

function showNext(at) {
  show(at);
  focusOn(state.at === null ? parts.done : parts.pair);
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
}

function skip() {
  if (state.at === null || isBusy) return;
  const name = data.pairs[state.at][3];
  state.skipped.add(state.at);
  showStatus(`Skipped: ${name} comes last.`);
  showNext(next());
}

const moves = { s: skip, u: undo, n: () => parts.note.focus(), d: () => parts.decision.click(), a: () => parts.agreement.click() };

function onKey(event) {
  const typing = document.activeElement === parts.note;
  if (event.key === "Escape" && typing) focusOn(parts.pair, window.scrollY);
  if (typing || !isShortcut(event)) return;
  const key = event.key.toLowerCase();
  const action = /^[0-3]$/.test(key) ? () => judge(Number(key)) : moves[key];
  if (action === undefined) return;
  event.preventDefault();
  action();
}

for (const button of parts.grades.querySelectorAll("button")) {
  button.addEventListener("click", () => judge(Number(button.dataset.grade)));
}
parts.skip.addEventListener("click", skip);
parts.undo.addEventListener("click", undo);
document.addEventListener("keydown", onKey);
show(next());
