// The bench: queries on the left, A and B in the middle, changes of B on the right. The address holds the whole view.
import "./bench_grading.js";
import "./bench_notes.js";
import "./bench_cases.js";
import { addressOf, onAddressChange, readAddress, writeAddress } from "./address.js";
import { get } from "./api.js";
import { drawPair } from "./bench_pair.js";
import { allGroups, changes, drawQueries, placesOf, pairGroups } from "./bench_queries.js";
import { slotNodes } from "./bench_slots.js";
import { el, fill } from "./dom.js";

const part = (name) => document.getElementById(name);
const listed = part("bench-results") ? JSON.parse(part("bench-results").textContent) : [];
const DEPTH = 10;

/** What the page shows; `state` is its address: r results, a and b systems, g group, q query, t typed text, ch changes of B. */
const page = { bench: null, groups: [], pair: null, state: {} };
let asked = 0;

function view() {
  const query = page.state.t ? null : page.bench.queries.find(({ id }) => id === page.state.q) ?? null;
  return { ...page, query, change, refresh: show };
}

function change(changed) {
  writeAddress({ ...readAddress(), ...changed });
  show();
}

/** The state of the address, completed with what the results have. */
function completed(read, bench, groups) {
  const names = bench.systems.map(({ name }) => name);
  const a = names.includes(read.a) ? read.a : bench.first;
  const b = names.includes(read.b) ? read.b : bench.second;
  const moved = changes(bench, a, b);
  const places = placesOf(bench, [...groups, ...pairGroups(moved)], read.g, moved);
  const isKnown = bench.queries.some(({ id }) => id === read.q);
  return { ...read, a, b, q: isKnown ? read.q : (bench.queries[places[0] ?? 0]?.id ?? "") };
}

async function show() {
  const turn = ++asked;
  try {
    await load(readAddress());
    if (turn !== asked) return;
    page.state = completed(readAddress(), page.bench, page.groups);
    drawFrame();
    const { a, b, q } = page.state;
    const pair = await get(`/api/r/${page.bench.id}/bench/pair`, { query: q, a, b, depth: DEPTH });
    if (turn !== asked) return;
    page.pair = pair;
    drawPair(part("pair-view"), view());
    say("");
  } catch (error) {
    if (turn === asked) say(error.message, true);
  }
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
  const moved = changes(bench, state.a, state.b);
  document.title = `Bench: ${bench.name} - rankproof`;
  part("results").value = bench.id;
  part("text").value = state.t || page.bench.queries.find(({ id }) => id === state.q)?.text || "";
  part("link").href = addressOf({ ...state, r: bench.id });
  drawQueries(part("queries"), view(), page.groups, moved);
  fill(part("panel"), slotNodes("panel", view()));
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
  part("ask").addEventListener("submit", (event) => event.preventDefault());
  onAddressChange(show);
}

if (listed.length) {
  listen();
  show();
}
