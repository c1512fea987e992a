// Two answers without their systems, in random order: which is better?
import { get, post } from "./api.js";
import { el, fill, foreign } from "./dom.js";

let shown = null;
let last = null;
let context = null;
let node = null;

export async function drawDuel(place, given) {
  [node, context] = [place, given];
  if (!given.view.allowed) {
    fill(node);
    return given.say(`Read-only: ${given.view.why}.`, true);
  }
  show(await get(`/api/r/${given.id}/answers/duel`));
  given.say("");
}

function show(duel) {
  shown = duel;
  const count = el("p", { class: "beside" }, `${duel.done} of ${duel.of} pairs of answers decided`);
  const undo = el("button", { type: "button", disabled: last === null, on: { click: () => send(last, null) } }, el("kbd", {}, "u"), " Undo");
  if (!duel.key) {
    fill(node, count, el("h2", {}, duel.of ? "All pairs are decided" : "No two answers differ"), el("p", {}, undo), countsButton());
    return;
  }
  const button = (key, choice, words) => el("button", { type: "button", class: "main", on: { click: () => send(duel.key, choice) } }, el("kbd", {}, key), ` ${words}`);
  fill(
    node,
    count,
    el("h2", { class: "bench-query" }, foreign(duel.text)),
    duel.references.map((text) => el("p", { class: "reference", dir: "auto" }, el("strong", {}, "Reference: "), text)),
    el("div", { class: "bench-sides stacked" }, [duel.first, duel.second].map((text, at) => el("section", { class: "bench-side", "aria-label": `Answer ${at + 1}` }, el("p", { class: "answer-text", dir: "auto" }, text)))),
    el("p", { class: "duel-buttons", role: "group", "aria-label": "Which answer is better?" }, button("1", "first", "The left one"), button("2", "second", "The right one"), button("0", "tie", "Neither"), undo),
    countsButton(),
  );
}

async function send(key, preferred) {
  if (key === null) return;
  try {
    const next = await post(`/api/r/${context.id}/answers/duel`, { key, preferred });
    last = preferred === null ? null : key;
    context.say(preferred === null ? "Taken back." : "Saved.");
    show(next);
  } catch (error) {
    context.say(`Not saved: ${error.message}`, true);
  }
}

/** The counts are shown only on request: to know who is ahead would bias the next choice. */
function countsButton() {
  const list = el("ul", { class: "preference-counts" });
  const button = el("button", { type: "button", on: { click: load } }, "Show the counts");
  async function load() {
    const { pairs } = await get(`/api/r/${context.id}/answers/counts`);
    fill(list, pairs.length ? pairs.map((pair) => el("li", {}, `${pair.a} ${pair.a_preferred}, ${pair.b} ${pair.b_preferred}, neither ${pair.ties}`)) : el("li", {}, "There are none."));
  }
  return el("p", {}, button, list);
}

const KEYS = { 1: "first", 2: "second", 0: "tie" };

document.addEventListener("keydown", (event) => {
  if (!node?.querySelector(".duel-buttons") || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in KEYS && shown?.key) send(shown.key, KEYS[event.key]);
  else if (event.key === "u") send(last, null);
});
