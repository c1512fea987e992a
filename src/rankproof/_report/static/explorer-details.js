"use strict";

// The details of one query: rankings, judgements and answers. The large data block is parsed when the first query is opened.
(function (rp) {
  function starts(counts) {
    const found = new Array(counts.length + 1).fill(0);
    counts.forEach((count, at) => (found[at + 1] = found[at] + count));
    return found;
  }

  function makeDetails(block) {
    const judgedStarts = starts(block.judged.counts);
    const rankedStarts = starts(block.judged.ranked);
    const topStarts = block.systems.map((system) => starts(system.counts));

    // The judged documents of a query, highest grade first.
    function judged(query) {
      const found = [];
      for (let at = judgedStarts[query]; at < judgedStarts[query + 1]; at += 1) {
        found.push({ doc: block.judged.docs[at], grade: block.judged.grades[at] });
      }
      return found;
    }

    // Those that a measure can count, with the rank of each in a system; 0 if not retrieved.
    function ranked(system, query) {
      const ranks = block.systems[system].ranks;
      const start = rankedStarts[query];
      return judged(query).slice(0, block.judged.ranked[query]).map((one, at) => ({ ...one, rank: ranks[start + at] }));
    }

    // `otherRank` is the document's rank in the system compared with: 0 if that did not retrieve it, null if there is none.
    function top(system, query) {
      const { docs, compared_ranks: otherRanks, scores } = block.systems[system];
      const start = topStarts[system][query];
      const own = docs.slice(start, topStarts[system][query + 1]);
      return own.map((doc, at) => ({ doc, rank: at + 1, otherRank: otherRanks ? otherRanks[start + at] : null, score: scores ? scores[start + at] : null }));
    }

    // The top documents of the other system that are not in the top of the system: their rank in both, `rank` 0 if not retrieved.
    function left(system, other, query) {
      const own = new Set(top(system, query).map((one) => one.doc));
      const start = topStarts[other][query];
      const ranks = block.systems[system].left_ranks;
      const before = top(other, query).map((one, at) => ({ doc: one.doc, otherRank: one.rank, rank: ranks[start + at] }));
      return before.filter((one) => !own.has(one.doc));
    }

    return {
      judged,
      ranked,
      top,
      left,
      id: (doc) => block.documents.ids[doc],
      text: (doc) => block.documents.texts[doc],
      url: (doc) => block.documents.urls[doc],
      title: (doc) => block.documents.titles[doc],
      fields: (doc) => Object.entries(block.documents.fields).map(([name, values]) => [name, values[doc]]).filter(([, value]) => value),
      retrieved: (system, query) => block.systems[system].retrieved[query],
      time: (system, query) => block.systems[system].times[query],
      answer: (system, query) => (block.systems[system].answers ? block.systems[system].answers[query] : null),
      references: (query) => block.references[query],
      claims: block.claims,
    };
  }

  let cached = null;

  function details() {
    cached = cached || makeDetails(rp.dom.parsed("details"));
    return cached;
  }

  rp.details = details;
})((window.rankproof = window.rankproof || {}));
