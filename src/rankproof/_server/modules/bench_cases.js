// Test cases in the bench: a typed query with its grades, and the list of all of them.
import { get, post } from "./api.js";
import { caseOf, shownValues } from "./bench_grading.js";
import { addSlot } from "./bench_slots.js";
import { el, fill, foreign } from "./dom.js";

addSlot("query", (view) => {
  if (view.query) return null;
  const node = el("section", { class: "query-case", "aria-label": "Test case" });
  draw(node, view);
  document.addEventListener("graded", ({ detail }) => detail === view && draw(node, view), { signal: signalOf(node) });
  return node;
});

/** Ends a listener when its node has left the page. */
function signalOf(node) {
  const controller = new AbortController();
  const observer = new MutationObserver(() => {
    if (node.wasShown && !node.isConnected) {
      controller.abort();
      observer.disconnect();
    }
    node.wasShown ||= node.isConnected;
  });
  observer.observe(document.body, { childList: true, subtree: true });
  return controller.signal;
}

async function draw(node, view) {
  try {
    const [{ allowed }, saved, values] = await Promise.all([get(`/api/r/${view.bench.id}/cases`), caseOf(view.bench.id, view.state.t), shownValues(view)]);
    if (!allowed) return fill(node, null);
    if (!saved) return fill(node, el("p", { class: "beside" }, "Grade a document to keep this query as a test case."));
    fill(node, ...form(node, view, saved, values));
  } catch (error) {
    fill(node, el("p", { class: "bench-note" }, error.message));
  }
}

function form(node, view, saved, values) {
  const best = Math.max(0, ...(values ?? []).filter((value) => value !== null));
  const least = el("input", { type: "number", step: "any" });
  least.value = saved.least ?? Number(best.toFixed(4));
  const status = el("span", { role: "status" });
  const counted = Object.keys(saved.grades).length;
  const state = saved.least === null ? "kept, and shown by the gate" : `must reach ${saved.least} ${saved.measure}`;
  const send = (path, body) => change(node, view, status, path, { text: view.state.t, ...body });
  const required = () => ({ least: least.value === "" ? null : Number(least.value), measure: view.bench.measure || undefined });
  return [
    el("p", {}, `${counted} grade${counted === 1 ? "" : "s"} of this query, ${state}. Test cases are checked by the gate one by one and never count in a mean.`),
    el("label", {}, `A build must reach `, least, ` ${view.bench.measure || saved.measure} `),
    el("button", { type: "button", class: "main", on: { click: () => send("cases", required()) } }, "Save as test case"),
    " ",
    el("button", { type: "button", on: { click: () => send("cases/remove", {}) } }, "Remove"),
    " ",
    status,
  ];
}

async function change(node, view, status, path, body) {
  try {
    await post(`/api/r/${view.bench.id}/${path}`, body);
    await draw(node, view);
    drawList(document.getElementById("case-list"), view);
  } catch (error) {
    status.textContent = `Not saved: ${error.message}`;
    status.classList.add("bench-note");
  }
}

addSlot("panel", (view) => {
  const list = el("div", { id: "case-list" });
  drawList(list, view);
  return el("section", { "aria-label": "Test cases" }, list);
});

async function drawList(node, view) {
  if (!node) return;
  try {
    const { cases } = await get(`/api/r/${view.bench.id}/cases`);
    if (!cases.length) return fill(node, null);
    const rows = cases.map((saved) => {
      const least = saved.least === null ? "shown only" : `at least ${Number(saved.least.toPrecision(3))}`;
      const open = el("button", { type: "button", class: "query", on: { click: () => view.change({ t: saved.text }) } }, foreign(saved.text), el("span", { class: "amount" }, least));
      return el("li", {}, open);
    });
    fill(node, el("h2", {}, `Test cases (${cases.length})`), el("ul", { class: "case-list" }, rows));
  } catch (error) {
    fill(node, el("p", { class: "bench-note" }, error.message));
  }
}
