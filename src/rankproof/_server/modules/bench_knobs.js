// The settings of B: sliders whose effect is shown at once, a run where one is needed, and the proof.
import { get, post } from "./api.js";
import { approve, changesOf, mayRun, textOf } from "./bench_live.js";
import { addSlot } from "./bench_slots.js";
import { effectNode } from "./bench_effect.js";
import { el, fill } from "./dom.js";

const ASK_AGAIN = 400;
const replies = new Map();
let section = null;
let turn = 0;

addSlot("panel", (view) => {
  const key = `${view.bench.id} ${view.state.b}`;
  if (section?.key !== key) section = { key, node: el("section", { class: "knobs", "aria-label": "Change B" }), work: el("div", { class: "job", role: "status" }), verdictOf: null };
  draw(section, view);
  return section.node;
});

const pathOf = (view, name) => `/api/r/${view.bench.id}/bench/${name}`;

/** The settings of B with the changes; asked once for each of them. */
function knobsOf(view) {
  const key = `${section.key} ${view.state.ch ?? ""}`;
  if (!replies.has(key)) replies.set(key, post(pathOf(view, "knobs"), { b: view.state.b, changes: changesOf(view.state.ch) }));
  return replies.get(key);
}

async function draw(own, view) {
  own.view = view;
  const asked = ++turn;
  try {
    const reply = await knobsOf(view);
    if (asked !== turn) return;
    own.reply = reply;
    const focused = document.activeElement?.dataset?.knob;
    fill(own.node, el("h2", {}, `Change B: ${view.state.b}`), ...body(own, reply));
    if (focused) own.node.querySelector(`[data-knob="${CSS.escape(focused)}"]`)?.focus();
    await drawEffect(own, changesOf(view.state.ch));
  } catch (error) {
    if (asked === turn) fill(own.node, el("h2", {}, "Change B"), el("p", { class: "bench-note" }, error.message), resetButton(own));
  }
}

function body(own, reply) {
  const now = reply.knobs.filter(({ is_immediate }) => is_immediate);
  const later = reply.knobs.filter(({ is_immediate }) => !is_immediate);
  const open = later.some(({ key }) => key in changesOf(own.view.state.ch));
  own.effect = el("div", { class: "effect", role: "status" });
  return [
    own.view.state.ch && !mayRun(own.view.state.ch) ? useButton(own) : null,
    now.map((knob) => knobNode(own, knob)),
    now.length ? null : fusionChoice(own),
    later.length ? el("details", { open }, el("summary", {}, "Settings that need a run"), later.map((knob) => knobNode(own, knob))) : null,
    reply.why_not_rebuild && later.length ? el("p", { class: "beside" }, `${reply.why_not_rebuild}.`) : null,
    own.effect,
    own.view.state.ch ? el("p", {}, resetButton(own)) : null,
    own.work,
  ];
}

function useButton(own) {
  const agree = () => {
    approve(own.view.state.ch);
    own.view.refresh();
  };
  return el("p", { class: "bench-note" }, "This link changes settings of B. ", el("button", { type: "button", on: { click: agree } }, "Use these changes"));
}

function resetButton(own) {
  return el("button", { type: "button", class: "reset", on: { click: () => own.view.change({ ch: "" }) } }, "Reset B");
}

/** Any stored systems can be fused with B at once, whatever B is. */
function fusionChoice(own) {
  const { bench, state } = own.view;
  const others = bench.systems.filter(({ name }) => name !== state.b);
  if (!others.length) return null;
  const choose = () => set(own, { of: [state.b, choice.value] }, true);
  const choice = el("select", { "data-knob": "of", on: { change: choose } }, el("option", { value: "" }, "nothing"), others.map(({ name }) => el("option", { value: name }, name)));
  return el("p", {}, el("label", {}, "Fuse B with ", choice));
}

function set(own, changed, isFinal) {
  const before = changesOf(own.pending ?? own.view.state.ch);
  const merged = { ...before, ...changed };
  for (const knob of own.reply.knobs) {
    if (JSON.stringify(merged[knob.key]) === JSON.stringify(knob.default)) delete merged[knob.key];
  }
  const text = textOf(merged);
  approve(text);
  own.pending = text;
  if (isFinal) {
    own.pending = undefined;
    own.view.change({ ch: text });
  } else {
    drawEffect(own, changesOf(text));
  }
}

function knobNode(own, knob) {
  const label = (shown) => el("span", { class: "knob-name", title: knob.about }, knob.key, " ", shown);
  if (knob.kind === "weights") return weightsNode(own, knob);
  if (knob.kind === "choice") {
    const choose = () => set(own, { [knob.key]: choice.value }, true);
    const choice = el("select", { "data-knob": knob.key, on: { change: choose } }, knob.choices.map((name) => el("option", { value: name, selected: name === knob.value }, name)));
    return el("label", { class: "knob" }, label(null), choice);
  }
  if (knob.kind === "number" || knob.kind === "integer") return numberNode(own, knob, label);
  return writtenNode(own, knob, label);
}

/** A slider over the usual values, else a number. */
function numberNode(own, knob, label) {
  const numbers = knob.values.filter((value) => typeof value === "number");
  const shown = el("output", {}, String(knob.value));
  const isSlider = numbers.length > 1;
  const [low, high] = isSlider ? [Math.min(...numbers, knob.value), Math.max(...numbers, knob.value)] : [knob.least, knob.most];
  const step = knob.kind === "integer" ? 1 : isSlider ? Number(((high - low) / 40).toPrecision(1)) : "any";
  const input = el("input", { type: isSlider ? "range" : "number", min: low, max: high, step, "data-knob": knob.key });
  input.value = knob.value;
  const read = (isFinal) => {
    shown.textContent = input.value;
    if (input.value !== "") set(own, { [knob.key]: Number(input.value) }, isFinal);
  };
  if (isSlider && knob.is_immediate) input.addEventListener("input", () => read(false));
  input.addEventListener("change", () => read(true));
  return el("label", { class: "knob" }, label(isSlider ? shown : null), input);
}

/** The weights of the fused systems as shares that add up to 1: one slider for two systems, else one for each. */
function weightsNode(own, knob) {
  const given = knob.value ?? knob.choices.map(() => 1);
  const total = given.reduce((sum, weight) => sum + weight, 0) || 1;
  const shares = given.map((weight) => weight / total);
  const two = knob.choices.length === 2;
  const rows = knob.choices.map((name, at) => {
    if (two && at === 0) return null;
    const shown = el("output", {}, shares[at].toFixed(2));
    const input = el("input", { type: "range", min: 0, max: 1, step: 0.05, "data-knob": `${knob.key}:${name}` });
    input.value = shares[at];
    const read = (isFinal) => {
      shares[at] = Number(input.value);
      if (two) shares[0] = Number((1 - shares[1]).toFixed(4));
      shown.textContent = shares[at].toFixed(2);
      if (shares.some((share) => share > 0)) set(own, { [knob.key]: shares.map((share) => Number(share.toFixed(4))) }, isFinal);
    };
    if (knob.is_immediate) input.addEventListener("input", () => read(false));
    input.addEventListener("change", () => read(true));
    return el("label", { class: "knob" }, el("span", { class: "knob-name", title: knob.about }, `weight of ${name} `, shown), input);
  });
  return knob.choices.length ? rows : null;
}

/** A text, a list of words, or a table as JSON. */
function writtenNode(own, knob, label) {
  const text = knob.kind === "table" ? JSON.stringify(knob.value, null, 1) : knob.kind === "list" ? (knob.value ?? []).join(", ") : (knob.value ?? "");
  const input = el(knob.kind === "table" ? "textarea" : "input", { "data-knob": knob.key, dir: "auto", rows: knob.kind === "table" ? 6 : null });
  input.value = text;
  input.addEventListener("change", () => {
    const words = input.value.split(",").map((word) => word.trim()).filter(Boolean);
    try {
      set(own, { [knob.key]: knob.kind === "table" ? JSON.parse(input.value) : knob.kind === "list" ? words : input.value }, true);
      input.setCustomValidity("");
    } catch {
      input.setCustomValidity("this is not JSON");
      input.reportValidity();
    }
  });
  return el("label", { class: "knob" }, label(null), input);
}

/** What a verdict is of: system A, and the changes of B. */
const subjectOf = (view, changes) => JSON.stringify([view.state.a, changes]);

async function drawEffect(own, changes) {
  const view = own.view;
  markVerdict(own, changes);
  const asked = (own.asked = (own.asked ?? 0) + 1);
  if (!Object.keys(changes).length) {
    view.setEffect(null);
    fill(own.effect, el("p", { class: "beside" }, "Move a setting: its effect on all judged queries is shown here."));
    return;
  }
  let effect;
  try {
    effect = await post(pathOf(view, "effect"), { a: view.state.a, b: view.state.b, changes });
  } catch (error) {
    if (asked === own.asked) fill(own.effect, el("p", { class: "bench-note" }, error.message));
    return;
  }
  if (asked !== own.asked) return;
  view.setEffect(effect.needs_rebuild ? null : effect);
  fill(own.effect, effect.needs_rebuild ? rebuildNode(own) : [effectNode(effect, view), proveNode(own)]);
}

/** Says of a verdict on the page that it is of another system A or of other settings than those that are shown. */
function markVerdict(own, changes) {
  const note = own.work.querySelector(".other-settings");
  if (note) note.hidden = own.verdictOf === subjectOf(own.view, changes);
}

function rebuildNode(own) {
  const words = own.reply.why_not_rebuild;
  const button = el("button", { type: "button", class: "main rebuild", disabled: Boolean(words), on: { click: () => startJob(own, "rebuild") } }, "Run B with these settings");
  return [el("p", {}, "These settings change what B retrieves, so it has to run on all queries."), button, proveNode(own)];
}

function proveNode(own) {
  const words = own.reply.why_not_prove || (isFusion(own) ? "" : own.reply.why_not_rebuild);
  const button = el("button", { type: "button", class: "main prove", disabled: Boolean(words), on: { click: () => startJob(own, "prove") } }, "Prove it");
  return el(
    "div",
    { class: "banner" },
    el("p", {}, el("strong", {}, "Tuned on the queries you see: no proof."), " “Prove it” chooses the changed settings on some queries and measures them on others (5-fold cross-validation)."),
    el("p", { class: "beside" }, "By the judgements of the results: grades given in the bench count neither in the effect nor in the proof, only in “Decision so far”."),
    el("p", {}, button, words ? ` ${words}.` : ""),
  );
}

const isFusion = (own) => own.reply.knobs.some(({ is_immediate }) => is_immediate);

async function startJob(own, name) {
  const { view } = own;
  try {
    const changes = changesOf(view.state.ch);
    const job = await post(pathOf(view, name), { a: view.state.a, b: view.state.b, changes });
    own.verdictOf = subjectOf(view, changes);
    await follow(own, name, job);
  } catch (error) {
    fill(own.work, el("p", { class: "bench-note" }, error.message));
  }
}

/** Shows the progress of a job until it ends. */
async function follow(own, name, job) {
  const stop = () => post("/api/job/stop", { job: job.job }).catch(() => {});
  let state = job;
  while (state.status === "running") {
    fill(own.work, el("p", {}, `${state.label} `, el("progress", { max: state.total || 1, value: state.total ? state.done : null, "aria-label": state.label }), " ", el("button", { type: "button", on: { click: stop } }, "Stop")));
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN));
    state = await get("/api/job", { job: job.job });
  }
  if (state.status === "failed") return fill(own.work, el("p", { class: "bench-note" }, state.message));
  if (state.status === "stopped") return fill(own.work, el("p", {}, "Stopped."));
  if (name === "rebuild") {
    fill(own.work);
    replies.clear();
    return own.view.refresh();
  }
  fill(own.work, proofNode(state.result));
  markVerdict(own, changesOf(own.pending ?? own.view.state.ch));
}

function proofNode(proof) {
  return el(
    "div",
    { class: proof.proven ? "proof proven" : "proof" },
    el("p", { class: "bench-note other-settings", hidden: true }, "This verdict is of another system A or other settings than those shown now."),
    el("p", { class: "plan" }, proof.sentence),
    el("p", {}, `Chosen by all queries: ${proof.settings}. Measured on the queries that chose them: ${proof.naive.toFixed(4)}, which is too optimistic.`),
    el("p", { dir: "auto" }, proof.decision),
    el("p", {}, el("a", { href: `/r/${proof.results}` }, "The results"), ", ", el("a", { href: `/bench?r=${proof.results}` }, "in the bench"), "."),
    proof.toml ? el("p", { class: "beside" }, `Experiment file: ${proof.toml}`) : null,
  );
}
