
const cards = [...parts.list.querySelectorAll(".disputed")];

function noteOf(card) {
  return card.querySelector("textarea");
}

/** Shows the grade that counts, as text. */
function showState(card, state) {
  const adjudication = state.adjudication;
  const note = adjudication && adjudication.note ? `: “${adjudication.note}”` : "";
  const when = adjudication ? adjudication.when.replace("T", " ").replace("Z", " UTC") : "";
  card.querySelector(".adjudicated").textContent = adjudication
    ? `Adjudicated: grade ${adjudication.grade} by ${adjudication.who} at ${when}${note}`
    : `Not adjudicated: grade ${state.counts} counts.`;
  card.querySelector(".take-back").disabled = adjudication === null;
}

async function save(card, url, more, words) {
  const at = cards.indexOf(card);
  const [query, doc] = data.pairs[at];
  const state = await change(url, { query, doc, assessor: data.assessor, ...more });
  if (state === null) return;
  showState(card, state);
  showStatus(words(state));
}

async function adjudicate(card, grade) {
  const doc = card.querySelectorAll("code")[1].textContent;
  await save(card, data.adjudicate, { grade, note: noteOf(card).value }, () => `Saved: grade ${grade} counts for ${doc}.`);
}

async function takeBack(card) {
  const doc = card.querySelectorAll("code")[1].textContent;
  if (card.querySelector(".take-back").disabled) return;
  await save(card, data.undo, {}, (state) => `Undone: grade ${state.counts} counts for ${doc}.`);
}

function current() {
  return document.activeElement.closest(".disputed");
}

function move(by) {
  const at = cards.indexOf(current()) + by;
  const card = cards[Math.min(Math.max(at, 0), cards.length - 1)];
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "start" });
}

function onKey(event) {
  const typing = document.activeElement.matches("textarea");
  if (event.key === "Escape" && typing) {
    current().focus();
    return;
  }
  if (cards.length === 0 || typing || !isShortcut(event)) return;
  const key = event.key.toLowerCase();
  const card = current();
  const onCard = card === null ? {} : { u: () => takeBack(card), n: () => noteOf(card).focus() };
  const isGrade = card?.querySelector(`button[data-grade="${CSS.escape(event.key)}"]`);
  const action = isGrade ? () => adjudicate(card, Number(event.key)) : { j: () => move(1), k: () => move(-1), ...onCard }[key];
  if (action === undefined) return;
  event.preventDefault();
  action();
}

for (const card of cards) {
  for (const button of card.querySelectorAll(".grades button")) {
    button.addEventListener("click", () => adjudicate(card, Number(button.dataset.grade)));
  }
  card.querySelector(".take-back").addEventListener("click", () => takeBack(card));
}
document.addEventListener("keydown", onKey);
