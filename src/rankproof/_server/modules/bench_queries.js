// The list of queries on the left: its groups, and the value of each query in B minus that in A.
import { slotGroups } from "./bench_slots.js";
import { el, fill, foreign } from "./dom.js";

const KINDS = [["outcome", "Outcome"], ["pair", "A against B"], ["segment", "Segment"], ["tag", "Tag"]];
const EPSILON = 1e-12;
const SHOWN = 200;

/** The groups of the results, those of other modules, and those of A against B. */
export async function allGroups(bench) {
  return [...bench.groups, ...(await slotGroups(bench))];
}

/** The change of each query from A to B, larger is better; null where a value is missing. */
export function changes(bench, a, b) {
  const [first, second] = [a, b].map((name) => bench.systems.findIndex((system) => system.name === name));
  const sign = bench.higher_is_better ? 1 : -1;
  return bench.queries.map(({ values }) => {
    const [mine, theirs] = [values[first] ?? null, values[second] ?? null];
    return mine === null || theirs === null ? null : sign * (theirs - mine);
  });
}

export function pairGroups(moved) {
  const groups = [
    ["worse", "B is worse", (change) => change < -EPSILON],
    ["better", "B is better", (change) => change > EPSILON],
    ["same", "no difference", (change) => Math.abs(change) <= EPSILON],
  ];
  return groups.map(([key, label, holds]) => ({
    key,
    kind: "pair",
    label,
    queries: moved.flatMap((change, place) => (change !== null && holds(change) ? [place] : [])),
  }));
}

/** The places of the queries of a group, those with the largest loss first; all queries without a group. */
export function placesOf(bench, groups, key, moved) {
  const group = groups.find((candidate) => candidate.key === key);
  const places = group ? [...group.queries] : bench.queries.map((_, place) => place);
  const order = (place) => moved[place] ?? 0;
  return key === "better" ? places.sort((x, y) => order(y) - order(x)) : places.sort((x, y) => order(x) - order(y));
}

/** Draws the list; `view` is that of the slots. */
export function drawQueries(node, view, groups, moved) {
  const { bench, state, change } = view;
  const every = [...groups, ...pairGroups(moved)];
  const places = placesOf(bench, every, state.g, moved);
  const choice = el(
    "select",
    { id: "group", on: { change: () => change({ g: choice.value }) } },
    el("option", { value: "" }, `all queries (${bench.queries.length})`),
    KINDS.map(([kind, label]) => {
      const some = every.filter((group) => group.kind === kind);
      return some.length ? el("optgroup", { label }, some.map((group) => el("option", { value: group.key, selected: group.key === state.g }, `${group.label} (${group.queries.length})`))) : null;
    }),
  );
  const items = places.slice(0, SHOWN).map((place) => queryItem(bench.queries[place], moved[place], view));
  const rest = places.length - items.length;
  fill(
    node,
    el("label", {}, el("span", { class: "unseen" }, "Group of queries"), choice),
    el("ol", { class: "list" }, items),
    rest > 0 ? el("p", { class: "beside" }, `${rest} more: choose a group, or type a query.`) : null,
    places.length === 0 ? el("p", { class: "beside" }, "No query.") : null,
  );
  node.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

function queryItem(query, moved, { state, change, bench }) {
  const isShown = !state.t && query.id === state.q;
  const button = el(
    "button",
    { type: "button", class: "query", "aria-current": isShown ? "true" : null, "data-query": query.id, on: { click: () => change({ q: query.id, t: "" }) } },
    foreign(query.text || query.id),
    moved === null ? null : el("span", { class: `amount ${tone(moved)}`, title: "B minus A" }, shownChange(moved, bench.is_fraction)),
  );
  return el("li", {}, button);
}

export function tone(change) {
  return change > EPSILON ? "better" : change < -EPSILON ? "worse" : "";
}

/** A difference in percentage points for a share, else as it is. */
export function shownChange(change, isFraction) {
  if (Math.abs(change) <= EPSILON) return "0";
  const sign = change > 0 ? "+" : "−";
  return sign + (isFraction ? (100 * Math.abs(change)).toFixed(1) : Number(Math.abs(change).toPrecision(3)));
}
