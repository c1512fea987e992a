
const state = { at: null, edits: new Map() };

/** The next question that is not confirmed, after the current one first; null if all are. */
function next() {
  const open = data.questions.map((_, at) => at).filter((at) => !data.questions[at].confirmed);
  return open.find((at) => at > (state.at ?? -1)) ?? open[0] ?? null;
}

function show(at) {
  keepEdits();
  state.at = at;
  for (const name of ["question-part", "confirm", "draft", "add", "skip"]) parts[name].hidden = at === null;
  parts.done.hidden = at !== null;
  parts.back.disabled = at === 0 || data.questions.length === 0;
  count();
  if (at === null) return;
  const { name, question, references, passages, nuggets, confirmed } = data.questions[at];
  parts.name.textContent = name;
  parts.question.textContent = question || name;
  parts.references.replaceChildren(...references.map((text) => element("li", text)));
  parts["references-part"].hidden = references.length === 0;
  parts.passages.replaceChildren(...passages.map((text) => element("li", text)));
  parts["passages-part"].hidden = passages.length === 0;
  parts.state.textContent = confirmed ? "confirmed" : "draft";
  const rows = state.edits.get(at) ?? nuggets.map(([text, importance], from) => ({ text, importance, from, dropped: false }));
  parts.nuggets.replaceChildren(...rows.map(nuggetRow));
  renumber();
}

function showAndFocus(at) {
  show(at);
  focusOn(at === null ? parts.done : parts["question-part"], parts.progress.offsetTop);
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function nuggetRow({ text, importance, from, dropped }) {
  const row = element("li", "", { class: "nugget", tabindex: "-1" });
  row.dataset.from = from ?? "";
  const area = element("textarea", "", { rows: "1", maxlength: data.longest, dir: "auto", spellcheck: "true" });
  area.value = text;
  const drop = element("button", "", { type: "button", class: "drop" });
  drop.addEventListener("click", () => setDropped(row, !row.classList.contains("dropped")));
  row.append(area, importanceChoice(importance), drop);
  setDropped(row, dropped);
  return row;
}

function importanceChoice(importance) {
  const group = element("div", "", { class: "importance", role: "radiogroup" });
  const name = `importance-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  for (const value of ["vital", "okay"]) {
    const label = element("label", "");
    const radio = element("input", "", { type: "radio", name, value });
    radio.checked = value === importance;
    label.append(radio, ` ${value}`);
    group.append(label);
  }
  return group;
}

function setDropped(row, on) {
  row.classList.toggle("dropped", on);
  for (const field of row.querySelectorAll("textarea, input")) field.disabled = on;
  row.querySelector(".drop").textContent = on ? "Keep" : "Drop";
  renumber();
}

function rows() {
  return [...parts.nuggets.children];
}

/** Names each row for screen readers, by its place. */
function renumber() {
  for (const [at, row] of rows().entries()) {
    const dropped = row.classList.contains("dropped") ? ", dropped" : "";
    row.setAttribute("aria-label", `Nugget ${at + 1}${dropped}`);
    row.querySelector("textarea").setAttribute("aria-label", `Text of nugget ${at + 1}`);
    row.querySelector(".importance").setAttribute("aria-label", `Importance of nugget ${at + 1}`);
    row.querySelector(".drop").setAttribute("aria-label", `${row.querySelector(".drop").textContent} nugget ${at + 1}`);
  }
}

function valueOf(row) {
  const from = row.dataset.from === "" ? null : Number(row.dataset.from);
  const importance = row.querySelector("input:checked").value;
  return { text: row.querySelector("textarea").value, importance, from, dropped: row.classList.contains("dropped") };
}

/** Keeps what was changed on this question until it is saved. */
function keepEdits() {
  if (state.at === null) return;
  const made = rows().map(valueOf);
  const before = data.questions[state.at].nuggets;
  const same = made.length === before.length && made.every((one, at) => !one.dropped && one.text === before[at][0] && one.importance === before[at][1]);
  if (same) state.edits.delete(state.at);
  else state.edits.set(state.at, made);
}

function count() {
  const done = data.questions.filter((one) => one.confirmed).length;
  parts.bar.value = done;
  parts.count.textContent = `${done} of ${data.questions.length} confirmed`;
}

async function save(confirmed) {
  const at = state.at;
  if (at === null) return;
  const { query, version } = data.questions[at];
  const kept = rows().map(valueOf).filter((one) => !one.dropped && one.text.trim() !== "");
  const nuggets = kept.map(({ text, importance, from }) => ({ text, importance, from }));
  const saved = await change(data.url, { query, version, nuggets, confirmed });
  if (saved === null) return;
  data.questions[at] = saved;
  state.edits.delete(at);
  const vital = kept.filter((one) => one.importance === "vital").length;
  showStatus(`${confirmed ? "Confirmed" : "Saved as a draft"}: ${vital} vital and ${kept.length - vital} okay.`);
  const following = confirmed ? next() : at;
  state.at = null; // The rows on the page are saved.
  showAndFocus(following);
}

function add() {
  if (state.at === null) return;
  const row = nuggetRow({ text: "", importance: "vital", from: null, dropped: false });
  parts.nuggets.append(row);
  renumber();
  row.querySelector("textarea").focus();
}

function skip() {
  if (state.at === null || isBusy) return;
  keepEdits();
  showStatus(state.edits.has(state.at) ? "Skipped: the changes are not saved yet." : "Skipped.");
  showAndFocus(next());
}

function back() {
  if (parts.back.disabled || isBusy) return;
  showStatus("");
  showAndFocus((state.at ?? data.questions.length) - 1);
}

/** Moves to the row so many places on; from elsewhere to the first one. */
function move(steps) {
  const all = rows();
  const at = all.indexOf(document.activeElement.closest(".nugget"));
  all[at === -1 ? 0 : Math.min(Math.max(at + steps, 0), all.length - 1)]?.focus();
}

function onRow(act) {
  const row = document.activeElement.closest(".nugget");
  if (row !== null) act(row);
}

function choose(value) {
  onRow((row) => {
    row.querySelector(`input[value=${value}]`).checked = true;
  });
}

function onKey(event) {
  if (event.key === "Escape" && document.activeElement.matches("textarea")) {
    onRow((row) => row.focus());
    return;
  }
  if (!isShortcut(event) || document.activeElement.matches("textarea")) return;
  const actions = {
    ...{ c: () => save(true), a: add, s: skip, b: back, j: () => move(1), k: () => move(-1) },
    ...{ v: () => choose("vital"), o: () => choose("okay"), e: () => onRow((row) => row.querySelector("textarea").focus()) },
    x: () => onRow((row) => setDropped(row, !row.classList.contains("dropped"))),
  };
  const action = actions[event.key.toLowerCase()];
  if (action === undefined) return;
  event.preventDefault();
  action();
}

parts.confirm.addEventListener("click", () => save(true));
parts.draft.addEventListener("click", () => save(false));
parts.add.addEventListener("click", add);
parts.skip.addEventListener("click", skip);
parts.back.addEventListener("click", back);
document.addEventListener("keydown", onKey);
window.addEventListener("beforeunload", (event) => {
  keepEdits();
  if (state.edits.size > 0) event.preventDefault();
});
show(next());
