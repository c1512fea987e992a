// The home page: filters and sorts the table, compares two ticked results, draws the trends.
import { readAddress, writeAddress, onAddressChange } from "./address.js";
import { el, fill } from "./dom.js";
import { showTrend } from "./home_trend.js";

const part = (name) => document.getElementById(name);
const table = part("results");
const bodies = table ? [...table.tBodies] : [];
const DESCENDING = new Set(["made", "value"]);
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
let state = readAddress();

/** What a result is sorted by: a number, or a text. */
function sortKey(body, column) {
  if (column === "value" || column === "risk") return body.dataset[column] === "" ? null : Number(body.dataset[column]);
  if (column === "made") return body.dataset.made;
  const index = heads().findIndex((head) => head.dataset.sort === column);
  return body.rows[0].cells[index].textContent.trim();
}

function heads() {
  return [...table.tHead.rows[0].cells];
}

/** Missing values come last in both directions. */
function compared(first, second, isDescending) {
  if (first === null || second === null) return (first === null) - (second === null);
  const order = typeof first === "number" ? first - second : collator.compare(first, second);
  return isDescending ? -order : order;
}

function sortRows() {
  const column = heads().some((head) => head.dataset.sort && head.dataset.sort === state.sort) ? state.sort : "made";
  const isDescending = state.order ? state.order === "down" : DESCENDING.has(column);
  const keys = new Map(bodies.map((body) => [body, sortKey(body, column)]));
  table.append(...[...bodies].sort((first, second) => compared(keys.get(first), keys.get(second), isDescending)));
  for (const head of heads()) {
    if (head.dataset.sort === column) head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function filterRows() {
  const words = (state.q || "").toLowerCase().split(/\s+/).filter(Boolean);
  const matching = bodies.filter((body) => {
    const text = body.textContent.toLowerCase();
    body.hidden = !words.every((word) => text.includes(word));
    return !body.hidden;
  });
  if (part("shown")) part("shown").textContent = words.length ? `${matching.length} of ${bodies.length} shown` : "";
}

function ticked() {
  return bodies.filter((body) => (state.tick || "").split(",").includes(body.dataset.id));
}

function showTicked() {
  const chosen = ticked();
  for (const body of bodies) {
    const box = body.querySelector("input");
    box.checked = chosen.includes(body);
    box.disabled = !box.checked && chosen.length >= 2;
    body.classList.toggle("ticked", box.checked);
  }
  part("pair").hidden = chosen.length === 0;
  const names = chosen.map((body) => body.querySelector(".name").textContent);
  fill(part("ticked"), chosen.length === 1 ? `${names[0]}: tick a second result to compare` : names.join(" and "));
  const ids = chosen.map((body) => body.dataset.id);
  for (const [name, page] of [["compare", "compare"], ["changes", "changes"]]) {
    part(name).hidden = ids.length !== 2;
    if (ids.length === 2) part(name).href = `/r/${ids[0]}/${page}/${ids[1]}`;
  }
}

function change(changes, options) {
  state = { ...state, ...changes };
  writeAddress(state, options);
}

function sortBy(column) {
  const isSame = heads().find((head) => head.dataset.sort === column).hasAttribute("aria-sort");
  const was = heads().find((head) => head.dataset.sort === column).getAttribute("aria-sort");
  const first = DESCENDING.has(column) ? "down" : "up";
  change({ sort: column, order: isSame ? (was === "descending" ? "up" : "down") : first }, { replace: true });
  sortRows();
}

function tick(body, isOn) {
  const ids = ticked().map((chosen) => chosen.dataset.id).filter((id) => id !== body.dataset.id);
  change({ tick: [...ids, ...(isOn ? [body.dataset.id] : [])].join(",") }, { replace: true });
  showTicked();
}

function show() {
  if (part("filter")) part("filter").value = state.q || "";
  sortRows();
  filterRows();
  showTicked();
}

function listen() {
  for (const head of heads().filter((cell) => cell.dataset.sort)) {
    const button = el("button", { type: "button", on: { click: () => sortBy(head.dataset.sort) } }, head.textContent);
    fill(head, button);
  }
  for (const body of bodies) {
    const box = body.querySelector("input");
    box.hidden = bodies.length < 2;
    box.addEventListener("change", () => tick(body, box.checked));
  }
  part("untick").addEventListener("click", () => {
    change({ tick: "" }, { replace: true });
    showTicked();
  });
  if (part("filter")) {
    part("controls").hidden = false;
    part("filter").addEventListener("input", () => {
      change({ q: part("filter").value }, { replace: true });
      filterRows();
    });
  }
}

/** Draws each trend; the system of each is kept in the address. */
async function showTrends() {
  if (!part("trends")) return;
  part("trends").hidden = false;
  for (const figure of document.querySelectorAll(".trend")) {
    const key = `system${figure.dataset.trend}`;
    await showTrend(figure, figure.dataset.trend, state[key] || "", (system) => change({ [key]: system }, { replace: true }));
  }
}

if (table) {
  listen();
  show();
  onAddressChange((read) => {
    state = read;
    show();
  });
}
showTrends();
