"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const parts = Object.fromEntries(
  ["bar", "count", "said", "wrong", "pair", "query", "query-id", "doc-id", "passage", "beginning", "grades", "moves", "skip", "undo", "keys", "done"]
    .map((id) => [id, document.getElementById(id)])
);
const beginnings = new Set(data.beginnings);
const state = {
  grades: new Map(Object.entries(data.grades).map(([at, grade]) => [Number(at), grade])),
  skipped: new Set(),
  judged: data.last === null ? [] : [data.last],
  at: null,
  busy: false,
};

/** The next pair without a grade: those not skipped first, in their order; null where all have one. */
function next() {
  const open = data.pairs.map((_, at) => at).filter((at) => !state.grades.has(at));
  const fresh = open.find((at) => !state.skipped.has(at));
  if (fresh !== undefined || open.length === 0) return fresh ?? null;
  const after = open.find((at) => at > (state.at ?? -1));
  return after ?? open[0];
}

function show(at) {
  state.at = at;
  const open = at !== null;
  for (const name of ["pair", "grades"]) parts[name].hidden = !open;
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
  parts.count.textContent = `${done} of ${data.pairs.length} judged`;
}

/** Where reading goes on: a screen reader reads the pair from its beginning. */
function attend() {
  (state.at === null ? parts.done : parts.pair).focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function say(words) {
  parts.said.textContent = words;
  parts.wrong.hidden = true;
}

function complain(words) {
  parts.wrong.textContent = words;
  parts.wrong.hidden = false;
}

/** One change at a time: a key that is pressed twice never grades a pair that nobody has read. */
async function change(url, body) {
  if (state.busy) return null;
  busy(true);
  try {
    const reply = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!reply.ok) throw new Error((await reply.text()).trim());
    const told = await reply.json();
    state.grades = new Map(Object.entries(told.grades).map(([at, grade]) => [Number(at), grade]));
    return told;
  } catch (error) {
    complain(`Not saved: ${error instanceof TypeError ? "the server does not answer" : error.message}`);
    return null;
  } finally {
    busy(false);
  }
}

function busy(on) {
  state.busy = on;
  for (const button of parts.grades.querySelectorAll("button")) {
    if (on) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  }
}

async function judge(grade) {
  const at = state.at;
  if (at === null) return;
  const [query, doc, asked, name] = data.pairs[at];
  const told = await change(data.judge, { query, doc, grade });
  if (told === null) return;
  state.judged.push(at);
  say(`Saved: ${grade} for ${name} and query ${asked}. It stands at: ${told.system_ranks}.`);
  show(next());
  attend();
}

async function undo() {
  const at = state.judged.at(-1);
  if (at === undefined) return;
  const [query, doc, , name] = data.pairs[at];
  const told = await change(data.undo, { query, doc });
  if (told === null) return;
  state.judged.pop();
  say(told.grade === null ? `Undone: ${name} has no grade.` : `Undone: ${name} has ${told.grade} again.`);
  show(at);
  attend();
}

function skip() {
  if (state.at === null || state.busy) return;
  const name = data.pairs[state.at][3];
  state.skipped.add(state.at);
  say(`Skipped: ${name} comes again at the end.`);
  show(next());
  attend();
}

function onKey(event) {
  if (!parts.keys.checked || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  const action = /^[0-3]$/.test(key) ? () => judge(Number(key)) : { s: skip, u: undo }[key];
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
