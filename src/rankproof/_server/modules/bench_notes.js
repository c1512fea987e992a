// Notes and tags of a query in the bench, the groups of tags, and the copy of a view for a ticket.
import { get, post } from "./api.js";
import { shownGrades, shownValues } from "./bench_grading.js";
import { ticketOf } from "./bench_ticket.js";
import { addSlot } from "./bench_slots.js";
import { el, fill } from "./dom.js";

const lists = new Map();

/** The notes of results: { allowed, why, notes }. */
function notesOf(id) {
  if (!lists.has(id)) lists.set(id, get(`/api/r/${id}/notes`));
  return lists.get(id);
}

const keyOf = (view) => (view.query ? view.query.id : view.state.t);

/** A group for each tag, and one of all queries with a note. */
export function tagGroups(bench, notes) {
  const places = new Map(bench.queries.map(({ id }, place) => [id, place]));
  const tags = [...new Set(notes.flatMap((note) => note.tags))].sort();
  const group = (key, label, some) => ({ key, kind: "tag", label, queries: some.flatMap(({ query }) => places.get(query) ?? []).sort((x, y) => x - y) });
  const groups = tags.map((tag) => group(`tag:${tag}`, tag, notes.filter((note) => note.tags.includes(tag))));
  const noted = notes.filter((note) => note.note);
  return [...groups, ...(noted.length ? [group("noted", "with a note", noted)] : [])].filter(({ queries }) => queries.length);
}

addSlot("group", async (bench) => tagGroups(bench, (await notesOf(bench.id)).notes));

addSlot("query", (view) => {
  const node = el("section", { class: "query-note", "aria-label": "Note" });
  draw(node, view);
  return node;
});

async function draw(node, view) {
  let list;
  try {
    list = await notesOf(view.bench.id);
  } catch (error) {
    return fill(node, el("p", { class: "bench-note" }, error.message), copyButton(view, null));
  }
  const known = list.notes.find(({ query }) => query === keyOf(view)) ?? { note: "", tags: [], version: "", who: "", when: "" };
  const by = known.who ? el("p", { class: "beside" }, `${known.who}, ${known.when.replace("T", " ").replace("Z", " UTC")}`) : null;
  if (!list.allowed) {
    const text = known.note || known.tags.length ? [el("p", { class: "noted-text", dir: "auto" }, known.note), tagLine(known.tags), by] : el("p", { class: "beside" }, `No note; ${list.why}.`);
    return fill(node, text, copyButton(view, known));
  }
  const note = el("textarea", { rows: 2, maxlength: 4000, dir: "auto", placeholder: "why does this fail?" });
  note.value = known.note;
  const tags = el("input", { type: "text", maxlength: 800, dir: "auto", placeholder: "synonym, typo, missing document" });
  tags.value = known.tags.join(", ");
  const status = el("span", { role: "status" });
  const save = el("button", { type: "button", on: { click: () => saveNote(node, view, known, note, tags, status) } }, "Save note");
  fill(node, el("label", {}, "Note ", note), el("label", {}, "Tags ", tags), el("p", {}, save, " ", copyButton(view, known), " ", status), by);
}

async function saveNote(node, view, known, note, tags, status) {
  try {
    const words = tags.value.split(",").map((tag) => tag.trim()).filter(Boolean);
    const saved = await post(`/api/r/${view.bench.id}/notes`, { query: keyOf(view), note: note.value, tags: words, version: known.version });
    const list = await notesOf(view.bench.id);
    list.notes = [...list.notes.filter(({ query }) => query !== saved.query), ...(saved.note || saved.tags.length ? [saved] : [])];
    const others = view.groups.filter(({ kind }) => kind !== "tag");
    view.groups.splice(0, view.groups.length, ...others, ...tagGroups(view.bench, list.notes));
    await draw(node, view);
    node.querySelector("[role=status]").textContent = "Saved.";
  } catch (error) {
    status.textContent = `Not saved: ${error.message}`;
    status.classList.add("bench-note");
  }
}

function tagLine(tags) {
  return tags.length ? el("p", { class: "beside" }, `Tags: ${tags.join(", ")}`) : null;
}

function copyButton(view, known) {
  const button = el("button", { type: "button", class: "copy", on: { click: () => copy(button, view, known) } }, "Copy as Markdown");
  return button;
}

async function copy(button, view, known) {
  const [grades, values] = await Promise.all([shownGrades(view), shownValues(view)]).catch(() => [new Map(), null]);
  const text = ticketOf(view, { grades, values, note: known?.note ?? "", tags: known?.tags ?? [], address: document.getElementById("link")?.href ?? "" });
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const area = el("textarea", { class: "ticket", rows: 8, readonly: true, "aria-label": "Markdown" });
    area.value = text;
    button.after(area);
    area.select();
  }
}
