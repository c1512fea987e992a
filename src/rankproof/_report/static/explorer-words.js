"use strict";

// Marks the words of a query in the texts of documents.
(function (rp) {
  const { el } = rp.dom;
  const WORD = /[\p{L}\p{N}\p{M}]+/gu;
  const STOP_WORDS = new Set(
    ("a an and are as at be but by can do does for from has have how i if in into is it its me my not of on or so that the " +
      "their then there these they this to was what when where which who why will with you your").split(" ")
  );

  // Words are compared without case, accents and common English endings.
  function stem(word) {
    const plain = rp.model.folded(word);
    return plain.length > 4 ? plain.replace(/(ings?|ies|ed|es|s|e|y)$/, "") : plain;
  }

  function stemsOf(text) {
    return new Set((text.match(WORD) || []).filter((word) => !STOP_WORDS.has(word.toLowerCase())).map(stem));
  }

  // The text as nodes, with a mark around each word of the query.
  function marked(text, stems) {
    const nodes = [];
    let end = 0;
    for (const found of text.matchAll(WORD)) {
      if (stems.has(stem(found[0]))) {
        nodes.push(text.slice(end, found.index), el("mark", {}, found[0]));
        end = found.index + found[0].length;
      }
    }
    return [...nodes, text.slice(end)];
  }

  rp.words = { stemsOf, marked };
})((window.rankproof = window.rankproof || {}));
