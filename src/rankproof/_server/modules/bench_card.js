// A card: a document in a ranking, with its text, score and grade, and a place for grade buttons.
import { get } from "./api.js";
import { slotNodes } from "./bench_slots.js";
import { el, fill, foreign } from "./dom.js";
import { marked } from "./words.js";

/** The list item of a document; `stems` are the words of the query that are marked. */
export function cardNode(card, view, stems) {
  const text = el("p", { class: "text short", dir: "auto" }, marked(card.text, stems));
  const item = el("li", { class: card.grade > 0 ? "card relevant" : "card", "data-doc": card.doc });
  fill(
    item,
    el("header", {}, el("span", {}, `${card.rank}`), moved(card), foreign(card.doc), scoreNode(card), gradeNode(card), el("span", { class: "slot" }, slotNodes("card", card, view))),
    card.title ? el("h3", { dir: "auto" }, marked(card.title, stems)) : null,
    card.text ? text : el("p", { class: "beside" }, "No text is known."),
    fieldLine(card),
    card.text ? wholeButton(card, view, text, stems) : null,
  );
  return item;
}

/** How far the document is above or below its rank in the other ranking. */
export function moved(card) {
  if (card.elsewhere === null) return el("span", { class: "better", title: "not in the other ranking" }, "new");
  const steps = card.elsewhere - card.rank;
  if (steps === 0) return null;
  const words = `rank ${card.elsewhere} in the other ranking`;
  return el("span", { class: steps > 0 ? "better" : "worse", title: words }, `${steps > 0 ? "▲" : "▼"}${Math.abs(steps)}`);
}

function scoreNode(card) {
  return card.score === null ? null : el("span", { title: "score" }, shownScore(card.score));
}

function shownScore(score) {
  return Math.abs(score) >= 0.001 && Math.abs(score) < 1e6 ? String(Number(score.toPrecision(4))) : score === 0 ? "0" : score.toExponential(2);
}

function gradeNode(card) {
  if (card.grade === null) return el("span", { class: "unjudged" }, "unjudged");
  return el("span", { class: "grade" }, `grade ${card.grade}`);
}

function fieldLine(card) {
  const fields = Object.entries(card.fields).map(([name, value]) => el("span", { dir: "auto" }, `${name}: ${value}`));
  const address = /^https?:\/\//.test(card.url) ? el("a", { href: card.url, rel: "noreferrer noopener", target: "_blank" }, card.url) : card.url;
  return fields.length || card.url ? el("p", { class: "facts" }, fields, card.url ? el("span", {}, address) : null) : null;
}

/** Shows the whole text, part by part for a long document. */
function wholeButton(card, view, text, stems) {
  let shown = card.text;
  let length = card.is_complete ? card.text.length : null;
  let isOpen = false;
  const button = el("button", { type: "button", class: "plain", on: { click: toggle } }, "Whole text");
  async function toggle() {
    if (!isOpen) {
      isOpen = true;
      text.classList.replace("short", "whole");
      text.tabIndex = 0;
    } else if (length !== null && shown.length >= length) {
      isOpen = false;
      text.classList.replace("whole", "short");
      text.removeAttribute("tabindex");
    }
    if (isOpen && (length === null || shown.length < length)) await more();
    button.textContent = !isOpen ? "Whole text" : length === null || shown.length >= length ? "Less" : `More (${shown.length.toLocaleString("en")} of ${length.toLocaleString("en")} characters)`;
  }
  async function more() {
    button.disabled = true;
    try {
      const start = length === null ? 0 : shown.length;
      const part = await get(`/api/r/${view.bench.id}/bench/document`, { doc: card.doc, start });
      length = part.length;
      shown = start === 0 ? part.text : shown + part.text;
      if (start === 0) fill(text, marked(part.text, stems));
      else text.append(...marked(part.text, stems));
    } catch (error) {
      length = shown.length;
      text.after(el("p", { class: "bench-note" }, error.message));
    }
    button.disabled = false;
  }
  return button;
}
