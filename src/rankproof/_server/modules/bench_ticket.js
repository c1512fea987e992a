// The shown query as Markdown for a ticket: no text of it becomes markup, a link or a mention there.
const SPECIAL = /[\\`*_{}[\]()<>#+\-.!|~$&:]/g;
// An invisible character after it keeps @name, #1 and www.name from becoming mentions and links.
const MENTIONS = /[@#]|www(?=\.)/gi;
const LONGEST = 160;

/** A text on one line, in which nothing is Markdown. */
export function plainMarkdown(text, longest = LONGEST) {
  const words = String(text).replace(/[\s\p{C}]+/gu, " ").trim();
  const short = words.length > longest ? `${words.slice(0, longest).trimEnd()}…` : words;
  return short.replace(MENTIONS, (found) => `${found}\u2060`).replace(SPECIAL, "\\$&");
}

/** The Markdown of a view; `grades` is a map from document to { grade }, `values` are those of A and B, null if unknown. */
export function ticketOf(view, { grades, values, note, tags, address }) {
  const { bench, pair } = view;
  const lines = [`**Query:** ${plainMarkdown(pair.text || pair.query || view.state.t, 500)}`, ""];
  const facts = [view.query ? `id ${plainMarkdown(view.query.id)}` : "typed", `results ${plainMarkdown(bench.name)}`, `dataset ${plainMarkdown(bench.dataset)}`];
  lines.push(facts.join(", "), "");
  if (pair.why?.length) lines.push(`**Why:** ${plainMarkdown(pair.why.join(" "), 1000)}`, "");
  for (const [at, side] of pair.sides.entries()) lines.push(...sideLines(side, at, values?.[at] ?? side.value, grades, bench));
  if (note) lines.push(`**Note:** ${plainMarkdown(note, 4000)}`, "");
  if (tags.length) lines.push(`**Tags:** ${tags.map((tag) => plainMarkdown(tag)).join(", ")}`, "");
  if (address) lines.push(`<${encodeURI(decodeURI(address)).replace(/[<>]/g, encodeURIComponent)}>`);
  return `${lines.join("\n").trim()}\n`;
}

function sideLines(side, at, value, grades, bench) {
  const shown = value === null || value === undefined ? "" : `, ${plainMarkdown(bench.measure || "nDCG@10")} ${value.toFixed(3)}`;
  const rows = side.cards.map((card) => {
    const grade = grades.get(card.doc)?.grade ?? card.grade;
    const words = plainMarkdown([card.title, card.text].filter(Boolean).join(" · "));
    return `| ${card.rank} | ${plainMarkdown(card.doc)} | ${grade ?? "unjudged"} | ${words} |`;
  });
  return [`**${"AB"[at]}: ${plainMarkdown(side.system)}**${shown}`, "", "| rank | document | grade | text |", "|---:|---|---:|---|", ...rows, ""];
}
