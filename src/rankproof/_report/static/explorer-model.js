"use strict";

// The queries of a view, filtered and sorted.
(function (rp) {
  const SAME = 5e-6;

  function folded(text) {
    return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  }

  function column(data, system, measure) {
    return (data.values[system] || [])[measure] || null;
  }

  function valueOf(data, view, system, query) {
    const values = column(data, system, view.measure);
    return values ? values[query] : null;
  }

  function difference(data, view, query) {
    const a = valueOf(data, view, view.a, query);
    const b = valueOf(data, view, view.b, query);
    return a === null || b === null ? null : a - b;
  }

  function spread(data, view, query) {
    const values = data.systems.map((_, at) => valueOf(data, view, at, query)).filter((value) => value !== null);
    return values.length ? Math.max(...values) - Math.min(...values) : null;
  }

  function lowerIsBetter(data, view) {
    return data.measures.length > 0 && data.measures[view.measure].higher === false;
  }

  // The systems from the best to the worst mean of the measure.
  function bestFirst(data, view) {
    const sign = lowerIsBetter(data, view) ? 1 : -1;
    const means = data.systems.map((_, at) => {
      const known = (column(data, at, view.measure) || []).filter((value) => value !== null);
      return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : -sign * Infinity;
    });
    return data.systems.map((_, at) => at).sort((x, y) => sign * (means[x] - means[y]) || x - y);
  }

  // 1 if A is better, -1 if B is, 0 if they are equal, null if one has no value.
  function outcome(data, view, query) {
    const gap = difference(data, view, query);
    if (gap === null) {
      return null;
    }
    const sign = Math.abs(gap) < SAME ? 0 : Math.sign(gap);
    return lowerIsBetter(data, view) ? 0 - sign : sign;
  }

  function fieldOf(data, view) {
    return data.segments[view.field < 0 ? 0 : view.field] || null;
  }

  function segmentOf(data, view, query) {
    const field = fieldOf(data, view);
    return field && field.of[query] >= 0 ? field.values[field.of[query]] : null;
  }

  function timeOf(view, query) {
    const time = rp.details().time(view.of, query);
    return time === undefined ? null : time;
  }

  function keyOf(data, view) {
    const keys = {
      query: (query) => data.queries.ids[query],
      text: (query) => data.queries.texts[query],
      segment: (query) => segmentOf(data, view, query),
      value: (query) => valueOf(data, view, view.of, query),
      difference: (query) => difference(data, view, query),
      gap: (query) => (difference(data, view, query) === null ? null : Math.abs(difference(data, view, query))),
      spread: (query) => spread(data, view, query),
      first: (query) => (data.first[view.a] || [])[query] || Number.MAX_SAFE_INTEGER,
      time: (query) => timeOf(view, query),
    };
    return keys[view.sort] || null;
  }

  // How a relevant document moved from B to A, as in the charts of rank movement.
  function moveOf(before, after) {
    if (!before || !after) {
      return before ? "lost" : after ? "found" : "";
    }
    return after < before ? "promoted" : after > before ? "demoted" : "kept";
  }

  function hasMoved(data, view, query) {
    const before = rp.details().ranked(view.b, query);
    const after = rp.details().ranked(view.a, query);
    return after.some((one, at) => one.grade >= data.rel && moveOf(before[at].rank, one.rank) === view.moved);
  }

  function tests(data, view, lines) {
    const words = folded(view.text).split(/\s+/).filter(Boolean);
    const wanted = { better: 1, equal: 0, worse: -1 }[view.only];
    const found = [];
    if (words.length) {
      found.push((query) => words.every((word) => lines(query).includes(word)));
    }
    if (view.segment >= 0) {
      found.push((query) => data.segments[view.field].of[query] === view.segment);
    }
    if (wanted !== undefined) {
      found.push((query) => outcome(data, view, query) === wanted);
    }
    if (view.moved) {
      found.push((query) => hasMoved(data, view, query));
    }
    if (view.unjudged) {
      found.push((query) => view.systems.some((at) => data.unjudged[at][query] > 0));
    }
    return found;
  }

  // Queries without a key come last in both directions; ties keep the order of the data.
  function sorted(queries, key, down) {
    const sign = down ? -1 : 1;
    const collator = new Intl.Collator("en", { numeric: true });
    const keyed = queries.map((query) => [key(query), query]);
    const compare = keyed.some((pair) => typeof pair[0] === "string") ? collator.compare : (x, y) => x - y;
    keyed.sort((x, y) => {
      if (x[0] === null || y[0] === null) {
        return (x[0] === null) - (y[0] === null) || x[1] - y[1];
      }
      return sign * compare(x[0], y[0]) || x[1] - y[1];
    });
    return keyed.map((pair) => pair[1]);
  }

  function makeModel(data) {
    let cached = null;
    const lines = (query) => {
      cached = cached || data.queries.ids.map((id, at) => folded(id + " " + data.queries.texts[at]));
      return cached[query];
    };
    function rows(view) {
      const all = data.queries.ids.map((_, at) => at);
      const filters = tests(data, view, lines);
      const chosen = filters.length ? all.filter((query) => filters.every((test) => test(query))) : all;
      const key = keyOf(data, view);
      return key ? sorted(chosen, key, view.down) : chosen;
    }
    const bound = { difference, outcome, segmentOf, valueOf, fieldOf, lowerIsBetter, bestFirst };
    const own = Object.fromEntries(Object.entries(bound).map(([name, make]) => [name, (...rest) => make(data, ...rest)]));
    return { data, rows, timeOf, ...own };
  }

  rp.model = { makeModel, folded };
})((window.rankproof = window.rankproof || {}));
