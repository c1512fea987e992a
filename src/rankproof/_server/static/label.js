
const labelButtons = [...parts.grades.querySelectorAll("button")];
const state = {
  labels: new Map(Object.entries(data.labels)),
  skipped: new Set(),
  labelled: data.last === null ? [] : [data.last],
  at: null,
};

/** The next claim without a label, skipped claims last; null if all have one. */
function next() {
  const open = data.claims.filter((id) => !state.labels.has(id));
  const fresh = open.find((id) => !state.skipped.has(id));
  if (fresh !== undefined || open.length === 0) return fresh ?? null;
  const place = data.claims.indexOf(state.at);
  return open.find((id) => data.claims.indexOf(id) > place) ?? open[0];
}

async function show(id) {
  const claim = id === null ? null : await send(`${data.claim}/${id}`, "Not loaded");
  if (id !== null && claim === null) return;
  state.at = id;
  for (const name of ["claim", "grades"]) parts[name].hidden = claim === null;
  parts.done.hidden = claim !== null;
  if (claim !== null) showClaim(claim);
  parts.skip.disabled = claim === null;
  parts.back.disabled = data.claims.indexOf(id) === 0 || data.claims.length === 0;
  parts.undo.disabled = state.labelled.length === 0;
  count();
}

async function showAndFocus(id) {
  await show(id);
  focusOn(state.at === null ? parts.done : parts.claim, parts.progress.offsetTop);
}

function showClaim(claim) {
  parts.question.textContent = claim.question;
  parts.asked.textContent = claim.asked;
  parts.statement.hidden = claim.claim === null;
  parts["statement-name"].textContent = claim.claim_name;
  parts["statement-text"].replaceChildren(highlighted(claim.claim ?? ""));
  parts.whole.hidden = claim.text.join("") === "";
  parts.side.textContent = claim.side;
  const [before, marked, after] = claim.text;
  parts.text.replaceChildren(before, marked === "" ? "" : highlighted(marked), after);
  scrollToClaim();
  parts.sources.replaceChildren(...claim.sources.map(source));
  const evidence = new Set(claim.evidence.map((pair) => pair.join(".")));
  for (const option of options()) mark(option, evidence.has(option.dataset.at));
  for (const option of options().slice(0, 1)) option.tabIndex = 0;
  showButtons(claim);
}

/** The labels of a claim, or the grades of a rubric. */
function showButtons(claim) {
  const graded = claim.grades !== undefined;
  const buttons = graded ? claim.grades.map(gradeButton) : labelButtons;
  parts.grades.replaceChildren(...buttons);
  for (const button of buttons) {
    const chosen = graded ? Number(button.dataset.grade) === claim.grade : button.dataset.label === claim.label;
    button.setAttribute("aria-pressed", String(chosen));
  }
}

function gradeButton([grade, meaning], at) {
  const made = element("button", "", element("kbd", "", String(at + 1)), " ", element("span", "", element("b", "", String(grade)), ` ${meaning}`));
  made.type = "button";
  made.dataset.grade = String(grade);
  made.dataset.key = String(at + 1);
  made.addEventListener("click", () => press(made));
  return made;
}

function press(button) {
  const { label: name, grade } = button.dataset;
  return grade === undefined ? label(name) : save({ grade: Number(grade) }, [], `grade ${grade}`);
}

/** Shows the claim in the middle of a long text, which scrolls by itself; of a long claim the beginning. */
function scrollToClaim() {
  const { text } = parts;
  const made = text.querySelector("mark");
  const above = made === null ? 0 : Math.max((text.clientHeight - made.getBoundingClientRect().height) / 2, 8);
  text.scrollTop = made === null ? 0 : made.offsetTop - text.offsetTop - above;
  if (text.scrollHeight > text.clientHeight) text.tabIndex = 0;
  else text.removeAttribute("tabindex");
}

function highlighted(text) {
  const made = document.createElement("mark");
  made.append(unseen("Claim: "), text, unseen(" End of the claim."));
  return made;
}

/** Words for screen readers; with a direction of their own they do not decide that of the text. */
function unseen(text) {
  const made = element("span", "unseen", text);
  made.dir = "ltr";
  return made;
}

function element(name, className, ...children) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...children);
  return made;
}

function source({ number, name, sentences }) {
  const group = element("div", "source", element("p", "beside", name));
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", name);
  group.firstChild.setAttribute("role", "presentation");
  for (const [at, text] of sentences.entries()) {
    const words = element("span", "words", text);
    words.dir = "auto";
    const option = element("div", "sentence", element("span", "number", `${number}.${at + 1}`), words);
    option.setAttribute("role", "option");
    option.dataset.at = `${number}.${at + 1}`;
    option.tabIndex = -1;
    option.addEventListener("click", () => toggle(option));
    group.append(option);
  }
  return group;
}

function options() {
  return [...parts.sources.querySelectorAll("[role=option]")];
}

function mark(option, on) {
  option.setAttribute("aria-selected", String(on));
}

function toggle(option) {
  if (document.getSelection().toString() !== "") return; // A text that is being copied.
  mark(option, option.getAttribute("aria-selected") !== "true");
  focusSentence(option);
}

function focusSentence(option) {
  for (const one of options()) one.tabIndex = one === option ? 0 : -1;
  option.focus();
  option.scrollIntoView({ block: "nearest" });
}

/** Moves to the sentence so many places on; from elsewhere to the first one. */
function move(steps) {
  const all = options();
  if (all.length === 0) return;
  const at = all.indexOf(document.activeElement);
  focusSentence(all[at === -1 ? 0 : Math.min(Math.max(at + steps, 0), all.length - 1)]);
}

function evidence() {
  const marked = options().filter((option) => option.getAttribute("aria-selected") === "true");
  return marked.map((option) => option.dataset.at.split(".").map(Number));
}

function count() {
  const done = data.claims.filter((id) => state.labels.has(id)).length;
  parts.bar.value = done;
  if (done > 0 || data.claims.length > 0) {
    parts.count.textContent = questionProgress(data.sizes, (at) => state.labels.has(data.claims[at]), "claim");
  }
}

async function label(label) {
  const marked = data.marked.includes(label) ? evidence() : [];
  await save({ label, evidence: marked }, marked, data.names[label].toLowerCase());
}

async function save(given, marked, name) {
  const claim = state.at;
  if (claim === null) return;
  const saved = await change(data.label, { claim, ...given });
  if (saved === null) return;
  state.labels = new Map(Object.entries(saved.labels));
  state.labelled.push(claim);
  count();
  const sentences = marked.length === 0 ? "" : `, with ${marked.length} ${marked.length === 1 ? "sentence" : "sentences"}`;
  showStatus(`Saved: ${name}${sentences}.`);
  await showAndFocus(next());
}

async function undo() {
  const claim = state.labelled.at(-1);
  if (claim === undefined) return;
  const saved = await change(data.undo, { claim });
  if (saved === null) return;
  state.labels = new Map(Object.entries(saved.labels));
  state.labelled.pop();
  const left = saved.labels[claim];
  showStatus(left === undefined ? "Undone: the claim has no label." : `Undone: the claim is ${data.names[left].toLowerCase()} again.`);
  await showAndFocus(claim);
}

async function skip() {
  if (state.at === null || isBusy) return;
  if (!state.labels.has(state.at)) state.skipped.add(state.at);
  showStatus(state.labels.has(state.at) ? "" : "Skipped: the claim comes last.");
  await showAndFocus(next());
}

async function back() {
  if (parts.back.disabled || isBusy) return;
  const place = state.at === null ? data.claims.length : data.claims.indexOf(state.at);
  const id = data.claims[place - 1];
  const given = state.labels.get(id);
  showStatus(given === undefined ? "Back: this claim has no label." : `Back: your label is ${data.names[given].toLowerCase()}.`);
  await showAndFocus(id);
}

function onKey(event) {
  if (!isShortcut(event)) return;
  const key = event.key.toLowerCase();
  const button = parts.grades.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const actions = { s: skip, b: back, u: undo, j: () => move(1), k: () => move(-1), x: toggleFocused };
  const action = button === null ? actions[key] : () => press(button);
  if (action === undefined) return;
  event.preventDefault();
  action();
}

function toggleFocused() {
  if (options().includes(document.activeElement)) toggle(document.activeElement);
}

/** The keys of a list box, which need no shortcuts. */
function onListKey(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey || (steps === undefined && event.key !== " ")) return;
  event.preventDefault();
  if (steps === undefined) toggleFocused();
  else move(steps);
}

for (const button of labelButtons) button.addEventListener("click", () => press(button));
parts.skip.addEventListener("click", skip);
parts.back.addEventListener("click", back);
parts.undo.addEventListener("click", undo);
parts.sources.addEventListener("keydown", onListKey);
document.addEventListener("keydown", onKey);
show(next());
