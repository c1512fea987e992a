// Two answers side by side: claims and evidence marked, labels in place; or blind, to say which answer is better.
import { onAddressChange, readAddress, writeAddress } from "./address.js";
import { drawDuel } from "./answers_duel.js";
import { drawPair } from "./answers_pair.js";
import { get } from "./api.js";
import { el, fill, foreign } from "./dom.js";

const { id } = JSON.parse(document.getElementById("data").textContent);
const part = (name) => document.getElementById(name);
let view = null;
let asked = 0;

function say(text, isError = false) {
  part("status").textContent = text;
  part("status").classList.toggle("error", isError);
}

function change(changed) {
  writeAddress({ ...readAddress(), ...changed });
  show();
}

async function show() {
  const turn = ++asked;
  const state = readAddress();
  for (const [name, isOn] of [["compare", state.mode !== "prefer"], ["prefer", state.mode === "prefer"]]) part(name).setAttribute("aria-pressed", String(isOn));
  try {
    view ??= await get(`/api/r/${id}/answers`);
    if (state.mode === "prefer") return await drawDuel(part("answers"), { id, view, say });
    const { a, b, q } = completed(state);
    const pair = await get(`/api/r/${id}/answers/pair`, { query: q, a, b });
    if (turn !== asked) return;
    say(view.allowed ? "" : `Read-only: ${view.why}.`);
    fill(part("answers"), el("div", { class: "answer-grid" }, questionList(q), el("section", { id: "pair", "aria-label": "Answers side by side" })));
    drawPair(part("pair"), { id, view, pair, a, b, change, say });
  } catch (error) {
    if (turn === asked) say(error.message, true);
  }
}

function completed(state) {
  const [first, second = first] = view.systems;
  const a = view.systems.includes(state.a) ? state.a : first;
  const b = view.systems.includes(state.b) ? state.b : a === second ? first : second;
  return { a, b, q: view.questions.some((question) => question.id === state.q) ? state.q : view.questions[0].id };
}

function questionList(shown) {
  const items = view.questions.slice(0, 500).map((question) => {
    const attributes = { type: "button", class: "query", "aria-current": question.id === shown ? "true" : null };
    return el("li", {}, el("button", { ...attributes, on: { click: () => change({ q: question.id }) } }, foreign(question.text || question.id)));
  });
  return el("nav", { class: "bench-queries", "aria-label": "Questions" }, el("ol", {}, items));
}

part("compare").addEventListener("click", () => change({ mode: "" }));
part("prefer").addEventListener("click", () => change({ mode: "prefer" }));
onAddressChange(show);
show();
