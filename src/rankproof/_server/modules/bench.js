// The bench: queries on the left, A and B in the middle, changes of B on the right. The address holds the whole view.
import "./bench_knobs.js";
import "./bench_grading.js";
import "./bench_notes.js";
import "./bench_cases.js";
import { addressOf, onAddressChange, readAddress, writeAddress } from "./address.js";
import { get } from "./api.js";
import { effectChanges, flippedPlaces } from "./bench_effect.js";
import { changedSides, mayRun, typedPair } from "./bench_live.js";
import { drawPair } from "./bench_pair.js";
import { allGroups, changes, drawQueries, placesOf, pairGroups } from "./bench_queries.js";
import { slotNodes } from "./bench_slots.js";
import { el, fill } from "./dom.js";

const part = (name) => document.getElementById(name);
const listed = part("bench-results") ? JSON.parse(part("bench-results").textContent) : [];
const DEPTH = 10;

/** What the page shows; `state` is its address: r results, a and b systems, g group, q query, t typed text, ch changes of B. */
const page = { bench: null, groups: [], pair: null, state: {}, effect: null };
let asked = 0;

function view() {
  const query = page.state.t ? null : page.bench.queries.find(({ id }) => id === page.state.q) ?? null;
  const { moved, before } = differences(page.bench, page.state);
  return { ...page, query, change, refresh: show, setEffect, moved, before };
}

/** The change of each query from A to B as stored, and as it is shown now. */
function differences(bench, { a, b }) {
  const before = changes(bench, a, b);
  return { before, moved: page.effect ? effectChanges(bench, a, page.effect) : before };
}

/** The groups of A against B, with the queries on which changes of B turned the sides round. */
function shownGroups(moved, before) {
  const flipped = page.effect ? [{ key: "flipped", kind: "pair", label: "changed sides", queries: flippedPlaces(before, moved) }] : [];
  return [...page.groups, ...flipped];
}

/** Shows the values of B with its changes in the list of queries; null shows the stored ones. */
function setEffect(effect) {
  page.effect = effect;
  drawList();
}

function drawList() {
  const { moved, before } = differences(page.bench, page.state);
  drawQueries(part("queries"), view(), shownGroups(moved, before), moved);
}

function change(changed) {
  writeAddress({ ...readAddress(), ...changed });
  show();
}

/** The state of the address, completed with what the results have. */
function completed(read, bench) {
  const names = bench.systems.map(({ name }) => name);
  const a = names.includes(read.a) ? read.a : bench.first;
  const b = names.includes(read.b) ? read.b : bench.second;
  const { moved, before } = differences(bench, { a, b });
  const places = placesOf(bench, [...shownGroups(moved, before), ...pairGroups(moved)], read.g, moved);
  const isKnown = bench.queries.some(({ id }) => id === read.q);
  return { ...read, a, b, q: isKnown ? read.q : (bench.queries[places[0] ?? 0]?.id ?? "") };
}

async function show() {
  const turn = ++asked;
  try {
    await load(readAddress());
    if (turn !== asked) return;
    if (changesKey(readAddress()) !== changesKey(page.state)) page.effect = null;
    // Without the results, the address would show newer ones to a colleague.
    if (!readAddress().r) writeAddress({ r: page.bench.id, ...readAddress() }, { replace: true });
    page.state = completed(readAddress(), page.bench);
    drawFrame();
    await (page.state.t ? showTyped(turn) : showStored(turn));
  } catch (error) {
    if (turn === asked) say(error.message, true);
  }
}

const changesKey = ({ a, b, ch }) => JSON.stringify([a, b, ch ?? ""]);

async function showStored(turn) {
  const { a, b, q, ch } = page.state;
  const pair = await get(`/api/r/${page.bench.id}/bench/pair`, { query: q, a, b, depth: DEPTH });
  const changed = ch && mayRun(ch) ? await changedSides(page, DEPTH).catch(() => null) : null;
  if (turn !== asked) return;
  const isNew = changed && !changed.needs_rebuild;
  page.pair = isNew ? { ...pair, sides: changed.sides, why: [] } : pair;
  if (isNew) page.pair.sides[1].detail = "with changes";
  drawPair(part("pair-view"), view());
  say(changed?.needs_rebuild ? "B is shown as stored: run it with the changes to see them." : "");
}

/** Asks both systems a typed query; each side is drawn when it arrives. */
async function showTyped(turn) {
  const draw = () => {
    if (turn === asked) drawPair(part("pair-view"), view());
  };
  const { pair, done } = typedPair(page, DEPTH, draw);
  page.pair = pair;
  say("Asking A and B…");
  draw();
  await done;
  if (turn === asked) say("");
}

function submit(event) {
  event.preventDefault();
  const text = part("text").value.trim();
  const known = page.bench?.queries.find((query) => query.text === text);
  if (text) change(known ? { q: known.id, t: "" } : { t: text });
}

/** Loads the results that the address names, the newest without a name. */
async function load(read) {
  const id = listed.some((results) => results.id === read.r) ? read.r : listed[0].id;
  if (page.bench?.id === id) return;
  say("Loading the results…");
  page.bench = await get(`/api/r/${id}/bench`);
  page.groups = await allGroups(page.bench);
}

function drawFrame() {
  const { bench, state } = page;
  document.title = `Bench: ${bench.name} - rankproof`;
  part("results").value = bench.id;
  part("text").value = state.t || page.bench.queries.find(({ id }) => id === state.q)?.text || "";
  part("link").href = addressOf({ ...state, r: bench.id });
  drawList();
  const focused = document.activeElement;
  fill(part("panel"), slotNodes("panel", view()));
  // A node that is put back has lost the focus, which the keys of a slider need.
  if (part("panel").contains(focused)) focused.focus();
}

function say(text, isError = false) {
  part("status").textContent = text;
  part("status").classList.toggle("error", isError);
}

async function copyLink(event) {
  event.preventDefault();
  try {
    await navigator.clipboard.writeText(part("link").href);
    part("copied").textContent = "copied";
  } catch {
    window.history.replaceState(null, "", part("link").href);
    part("copied").textContent = "now in the address bar";
  }
}

function listen() {
  const names = new Map();
  for (const { name } of listed) names.set(name, (names.get(name) || 0) + 1);
  fill(part("results"), listed.map(({ id, name, folder }) => el("option", { value: id }, names.get(name) > 1 ? `${name} (${folder})` : name)));
  part("results").addEventListener("change", () => change({ r: part("results").value, a: "", b: "", g: "", q: "", ch: "" }));
  part("link").addEventListener("click", copyLink);
  part("ask").addEventListener("submit", submit);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "")) {
      event.preventDefault();
      part("text").select();
    }
  });
  onAddressChange(show);
}

if (listed.length) {
  listen();
  show();
}
