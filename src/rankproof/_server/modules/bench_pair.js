// A and B side by side on one query, and why they differ.
import { cardNode } from "./bench_card.js";
import { slotNodes } from "./bench_slots.js";
import { el, fill, foreign } from "./dom.js";
import { stemsOf } from "./words.js";

export const LETTERS = ["A", "B"];

/** Draws both rankings; `view.pair` is the reply of the server. */
export function drawPair(node, view) {
  const { pair, change } = view;
  const stems = stemsOf(pair.text);
  fill(
    node,
    el("h2", { class: "bench-query" }, foreign(pair.text || pair.query)),
    fieldLine(pair.fields),
    pair.why.length ? el("p", { class: "bench-why" }, el("strong", {}, "Why: "), pair.why.join(" ")) : null,
    el("div", { class: "bench-sides" }, pair.sides.map((side, at) => sideNode(side, at, view, stems))),
    slotNodes("query", view),
  );
  for (const [at, select] of node.querySelectorAll(".bench-side select").entries()) {
    // The changes are those of B.
    select.addEventListener("change", () => change(at === 0 ? { a: select.value } : { b: select.value, ch: "" }));
  }
}

function fieldLine(fields) {
  const shown = Object.entries(fields);
  return shown.length ? el("p", { class: "beside" }, shown.map(([name, value]) => `${name}: ${value}`).join(" · ")) : null;
}

function sideNode(side, at, view, stems) {
  const { bench, state } = view;
  const chosen = state[LETTERS[at].toLowerCase()];
  const options = bench.systems.map(({ name }) => el("option", { value: name, selected: name === chosen }, name));
  const value = side.value === null ? null : el("span", { class: "amount", title: bench.measure }, side.value.toFixed(3));
  return el(
    "section",
    { class: "bench-side", "aria-label": `System ${LETTERS[at]}` },
    el("header", {}, el("strong", {}, LETTERS[at]), el("select", { "aria-label": `System ${LETTERS[at]}` }, options), value, el("span", { class: "beside" }, side.detail || `${side.retrieved} retrieved`)),
    side.notes.map((note) => el("p", { class: "bench-note" }, note)),
    el("ol", {}, side.cards.map((card) => cardNode(card, view, stems))),
  );
}
