// The plan and the decision so far, beside the pairs to judge and in the panel of the bench.
import { el, fill } from "./dom.js";

const percent = (share) => (share < 0.001 ? "below 0.1%" : `${(100 * share).toFixed(1)}%`);
const counted = (count, unit) => `${count.toLocaleString("en")} ${unit}${count === 1 ? "" : unit === "query" ? "" : "s"}`;

/** How far judging has come, in words: "37 of about 60 queries needed; 12 minutes at your pace". */
export function planWords({ decision, grows, left, minutes }) {
  const pace = minutes === null ? "" : `; ${counted(minutes, "minute")} at your pace`;
  if (decision.decided) return "Decided: you can stop.";
  if (!grows) return left ? `${counted(left, "pair")} left${pace}.` : "All shown documents are graded; change a grade if you disagree.";
  if (decision.needed === null) return decision.queries ? `${decision.queries} queries judged; how many decide is not known${pace}.` : "";
  const more = decision.queries >= decision.needed ? "more than these" : `about ${decision.needed}`;
  return `${decision.queries} of ${more} queries needed${pace}.`;
}

/** Fills the node with the plan and the decision; `isDrawn` says whether questions are drawn at random. */
export function showProgress(node, progress, { isDrawn = false } = {}) {
  const { decision } = progress;
  const risk = decision.risk === null ? null : `Risk ${percent(decision.risk)}${decision.limit === null ? "" : `, limit ${percent(decision.limit)}`}.`;
  fill(
    node,
    el("p", { class: decision.decided ? "plan decided" : "plan" }, planWords(progress)),
    progress.grows && decision.needed ? bar(decision) : null,
    el("h3", {}, "Decision so far"),
    el("p", { dir: "auto" }, (progress.all_grades && decision.sentence) || "No decision yet: nothing is graded here."),
    risk ? el("p", { class: "beside" }, risk) : null,
    progress.before && progress.before !== decision.sentence ? el("p", { class: "beside", dir: "auto" }, `Without these grades: ${progress.before}`) : null,
    el("p", { class: "beside" }, `${counted(progress.grades, "grade")} by ${progress.assessor}${progress.all_grades > progress.grades ? `, ${counted(progress.all_grades, "pair")} graded by all` : ""}.`),
    el("p", { class: "beside" }, isDrawn ? "Whole questions, drawn at random: they may check a judge." : "The limit is that of many looks, so you may look after every grade."),
  );
}

function bar({ queries, needed }) {
  return el("progress", { max: needed, value: Math.min(queries, needed), "aria-label": "queries judged of those needed" });
}
