// Two answers with their claims: a click on a claim marks its evidence, and offers the labels.
import { post } from "./api.js";
import { el, fill, foreign } from "./dom.js";

const WORDS = { supported: "supported", contradicted: "contradicted", not_stated: "not stated", nothing_to_check: "nothing to check", failed: "judge failed" };
const LABELS = ["supported", "contradicted", "not_stated", "nothing_to_check"];

export function drawPair(node, context) {
  const { pair } = context;
  fill(
    node,
    el("h2", { class: "bench-query" }, foreign(pair.text || pair.query)),
    pair.references.map((text) => el("p", { class: "reference", dir: "auto" }, el("strong", {}, "Reference: "), text)),
    el("div", { class: "bench-sides stacked" }, pair.sides.map((side, at) => sideNode(side, at, context))),
  );
}

function sideNode(side, at, context) {
  const name = at === 0 ? "a" : "b";
  const options = context.view.systems.map((system) => el("option", { value: system, selected: system === side.system }, system));
  const select = el("select", { "aria-label": `System ${name.toUpperCase()}`, on: { change: () => context.change({ [name]: select.value }) } }, options);
  const values = Object.entries(side.values).map(([measure, value]) => el("span", { class: "amount" }, `${measure} ${value.toFixed(2)}`));
  const detail = el("div", { class: "claim-detail", "aria-live": "polite" });
  const sources = el("div", { class: "sources", tabindex: 0, role: "group", "aria-label": "Texts" });
  drawSources(sources, side, null);
  const open = (claim) => openClaim(claim, side, detail, sources, context);
  const inText = new Set(side.parts.map(({ claim }) => claim));
  const others = side.claims.filter((claim) => !inText.has(claim.id));
  const text = side.parts.map((part) => (part.claim ? claimNode(part.text, side.claims.find(({ id }) => id === part.claim), open) : part.text));
  return el(
    "section",
    { class: "bench-side answer-side", "aria-label": `System ${name.toUpperCase()}` },
    el("header", {}, el("strong", {}, name.toUpperCase()), select, values),
    side.state === "answered" ? null : el("p", { class: "bench-note" }, side.state),
    el("p", { class: "answer-text", dir: "auto" }, text.length ? text : "There is no text."),
    others.length ? el("ul", { class: "claims" }, others.map((claim) => el("li", {}, claimNode(claim.text, claim, open)))) : null,
    detail,
    sources,
  );
}

/** A claim as a button in the text, in the colour of its label, else of its verdict. */
function claimNode(text, claim, open) {
  const state = claim.label ?? claim.verdict;
  const node = el("button", { type: "button", class: `claim ${state}`, "data-claim": claim.id, title: WORDS[state], on: { click: () => open(claim) } }, text);
  return node;
}

function openClaim(claim, side, detail, sources, context) {
  for (const node of detail.parentElement.querySelectorAll("[data-claim]")) node.setAttribute("aria-expanded", String(node.dataset.claim === claim.id));
  drawSources(sources, side, claim);
  const given = claim.label ? `; your label: ${WORDS[claim.label]}` : "";
  const buttons = LABELS.map((label) => {
    const attributes = { type: "button", "aria-pressed": String(claim.label === label), "data-label": label };
    return el("button", { ...attributes, on: { click: () => save(claim.label === label ? null : label) } }, WORDS[label]);
  });
  fill(
    detail,
    el("p", {}, el("strong", {}, WORDS[claim.verdict]), ` by ${claim.judge}, against the ${claim.against}${given}`),
    context.view.allowed ? el("p", { class: "label-buttons", role: "group", "aria-label": "Your label" }, buttons) : null,
  );
  async function save(label) {
    try {
      const body = { query: context.pair.query, system: side.system, claim: claim.id, label };
      claim.label = (await post(`/api/r/${context.id}/answers/label`, body)).label;
      for (const node of detail.parentElement.querySelectorAll("[data-claim]")) {
        if (node.dataset.claim === claim.id) node.className = `claim ${claim.label ?? claim.verdict}`;
      }
      openClaim(claim, side, detail, sources, context);
      context.say(label === null ? "Taken back." : `Saved: ${WORDS[label]}. Labels of claims of your choice show agreement; they correct no judge.`);
    } catch (error) {
      context.say(`Not saved: ${error.message}`, true);
    }
  }
}

/** The texts of the claims; the evidence of the chosen claim is marked. */
function drawSources(node, side, claim) {
  const marked = new Set((claim?.evidence ?? []).map(([text, sentence]) => `${text} ${sentence}`));
  const texts = side.sources.map(({ number, sentences }) => {
    const shown = sentences.map((sentence, at) => (marked.has(`${number} ${at + 1}`) ? el("mark", {}, sentence) : sentence)).flatMap((sentence) => [sentence, " "]);
    return el("p", { class: "source", dir: "auto" }, el("span", { class: "number" }, `[${number}] `), shown);
  });
  fill(node, texts.length ? el("h3", {}, "Texts") : null, texts);
  node.querySelector("mark")?.scrollIntoView({ block: "nearest" });
}
