// Where other modules add to the bench. A module calls `addSlot` when it is imported, and bench.js imports it.

const makers = { card: [], query: [], group: [], panel: [] };

/**
 * Adds a function that makes nodes for a place of the page:
 * - card(card, view): in the head of a card, such as its grade buttons. `card.doc`, `card.grade`, `view.query.id`.
 * - query(view): below the two rankings, such as a note on the query.
 * - group(bench): more groups of queries, as a list or a promise of {key, kind, label, queries} with places in `bench.queries`.
 * - panel(view): a section of the panel on the right.
 * `view` is { bench, query, pair, state, change, refresh }: what the page shows, `change(state)` to change its address,
 * `refresh()` to ask the server again. `query` is null for a typed text, and `pair` null before its first reply.
 */
export function addSlot(place, make) {
  makers[place].push(make);
}

/** What all functions of a place make. */
export function slotNodes(place, ...parts) {
  return makers[place].flatMap((make) => make(...parts) ?? []);
}

/** The groups that other modules add; one that fails adds none. */
export async function slotGroups(bench) {
  const listed = await Promise.allSettled(makers.group.map((make) => make(bench)));
  return listed.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
}
