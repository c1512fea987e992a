// Marks the words of a query in the texts of documents.
import { el } from "./dom.js";

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const STOP_WORDS = new Set(
  ("a an and are as at be but by can do does for from has have how i if in into is it its me my not of on or so that the " +
    "their then there these they this to was what when where which who why will with you your").split(" "),
);

/** Words are compared without case, accents and common English endings. */
function stem(word) {
  const plain = word.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.length > 4 ? plain.replace(/(ings?|ies|ed|es|s|e|y)$/, "") : plain;
}

export function stemsOf(text) {
  return new Set((text.match(WORD) || []).filter((word) => !STOP_WORDS.has(word.toLowerCase())).map(stem));
}

/** The text as nodes, with a mark around each word of the query. */
export function marked(text, stems) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(WORD)) {
    if (stems.has(stem(match[0]))) {
      nodes.push(text.slice(end, match.index), el("mark", {}, match[0]));
      end = match.index + match[0].length;
    }
  }
  return [...nodes, text.slice(end)];
}
