// What the bench asks of the systems: typed queries, and B with changed settings.
import { post } from "./api.js";

/** The changes of B that an address holds: an object of settings, empty if it is none. */
export function changesOf(text) {
  try {
    const value = JSON.parse(text || "{}");
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

/** The changes as text for the address, empty without any. */
export function textOf(changes) {
  const kept = Object.entries(changes).filter(([, value]) => value !== undefined && value !== null);
  return kept.length ? JSON.stringify(Object.fromEntries(kept)) : "";
}

const approved = new Set();

/** Says that this person made the changes: those of a link that was sent are not run before somebody agrees. */
export function approve(text) {
  approved.add(text);
}

/** Whether changes may be sent to a system that is run or asked; a fusion of stored rankings runs nothing. */
export function mayRun(text) {
  return !text || approved.has(text) || Object.keys(changesOf(text)).every((key) => key === "of" || !key.includes("."));
}

/** The pair of a typed query; each side is asked on its own and drawn when it arrives, so that a slow one hides nothing. */
export function typedPair({ bench, state }, depth, arrived) {
  const pair = { query: "", text: state.t, fields: {}, why: [], sides: ["a", "b"].map((side) => emptySide(state[side], "asking…")) };
  const changed = changesOf(state.ch);
  const ask = async (at, system, changes) => {
    pair.sides[at] = await answered(bench.id, { system, text: state.t, changes, depth });
    placeElsewhere(pair.sides);
    arrived(pair);
  };
  const isHeld = !mayRun(state.ch);
  if (isHeld) pair.sides[1] = emptySide(state.b, "not asked", "The link changes B: press “Use these changes” to ask it.");
  const asked = [ask(0, state.a, {}), ...(isHeld ? [] : [ask(1, state.b, changed)])];
  return { pair, done: Promise.all(asked) };
}

async function answered(id, request) {
  try {
    return await post(`/api/r/${id}/bench/search`, request);
  } catch (error) {
    return { ...emptySide(request.system, "no answer", error.message), failed: true };
  }
}

function emptySide(system, detail, note) {
  return { system, value: null, retrieved: 0, cards: [], notes: note ? [note] : [], detail };
}

/** Gives each card its rank in the other ranking. */
function placeElsewhere(sides) {
  const ranks = sides.map(({ cards }) => new Map(cards.map(({ doc, rank }) => [doc, rank])));
  for (const [at, side] of sides.entries()) {
    const other = sides[1 - at];
    if (!other.cards.length) continue;
    for (const card of side.cards) card.elsewhere = ranks[1 - at].get(card.doc) ?? null;
  }
}

/** A and the changed B on a query of the results: { needs_rebuild, sides }. */
export function changedSides({ bench, state }, depth) {
  const { q: query, a, b } = state;
  return post(`/api/r/${bench.id}/bench/changed`, { query, a, b, changes: changesOf(state.ch), depth });
}
