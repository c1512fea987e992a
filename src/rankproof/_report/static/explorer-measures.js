"use strict";

// Computes a measure from grades and ranks: the sum of what documents add, divided by a divisor.
(function (rp) {
  function worth(grade, gain) {
    const byHand = Array.isArray(gain) ? gain.find((pair) => pair[0] === grade) : null;
    if (byHand) {
      return byHand[1];
    }
    return gain === "exp" ? 2 ** Math.max(grade, 0) - 1 : Math.max(grade, 0);
  }

  function discount(rank) {
    return 1 / Math.log2(rank + 1);
  }

  function discounted(hits, measure) {
    return hits
      .map((hit) => ({ ...hit, gain: worth(hit.grade, measure.gain), factor: discount(hit.rank) }))
      .filter((hit) => hit.gain > 0)
      .map((hit) => ({ ...hit, adds: hit.gain * hit.factor }));
  }

  // The ideal ranking.
  function ideal(judged, measure) {
    const gains = judged.map((one) => ({ ...one, gain: worth(one.grade, measure.gain) })).filter((one) => one.gain > 0);
    gains.sort((x, y) => y.gain - x.gain);
    const best = gains.slice(0, measure.cutoff || gains.length);
    return best.map((one, at) => ({ ...one, rank: at + 1, adds: one.gain * discount(at + 1) }));
  }

  function total(terms) {
    return terms.reduce((sum, term) => sum + term.adds, 0);
  }

  const each = (hits) => hits.map((hit) => ({ ...hit, gain: 1, factor: 1, adds: 1 }));
  const relevant = (list, measure) => list.filter((one) => one.grade >= measure.rel);

  function precisionHere(hit, at) {
    return { ...hit, gain: at + 1, factor: 1 / hit.rank, adds: (at + 1) / hit.rank };
  }

  const FORMULAS = {
    nDCG: (hits, judged, measure) => {
      const best = ideal(judged, measure);
      return { terms: discounted(hits, measure), divisor: total(best), divisorName: "the DCG of the ideal ranking", ideal: best };
    },
    DCG: (hits, judged, measure) => ({ terms: discounted(hits, measure), divisor: 1 }),
    RR: (hits, judged, measure) => ({
      terms: relevant(hits, measure).slice(0, 1).map((hit) => ({ ...hit, gain: 1, factor: 1 / hit.rank, adds: 1 / hit.rank })),
      divisor: 1,
    }),
    P: (hits, judged, measure) => ({ terms: each(relevant(hits, measure)), divisor: measure.cutoff, divisorName: "the cutoff" }),
    R: (hits, judged, measure) => ({
      terms: each(relevant(hits, measure)),
      divisor: relevant(judged, measure).length,
      divisorName: "the number of relevant documents",
    }),
    AP: (hits, judged, measure) => ({
      terms: relevant(hits, measure).map(precisionHere),
      divisor: relevant(judged, measure).length,
      divisorName: "the number of relevant documents",
    }),
    Success: (hits, judged, measure) => ({ terms: each(relevant(hits, measure).slice(0, 1)), divisor: 1 }),
  };

  // `ranked`: the judged documents of a query with their ranks in a system, 0 if not retrieved.
  function counted(measure, ranked) {
    if (!measure.explained || !FORMULAS[measure.kind]) {
      return null;
    }
    const within = measure.cutoff || Infinity;
    const hits = ranked.filter((one) => one.rank > 0 && one.rank <= within).sort((x, y) => x.rank - y.rank);
    const found = FORMULAS[measure.kind](hits, ranked, measure);
    const sum = total(found.terms);
    return { ...found, sum, value: found.divisor ? sum / found.divisor : 0 };
  }

  rp.measures = { counted };
})((window.rankproof = window.rankproof || {}));
