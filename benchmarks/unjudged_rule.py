"""How often unjudged documents prevent a decision between two systems, with complete judgements and with one-sided pools.

`python -m benchmarks.unjudged_rule` compares every pair of six systems on each collection beside the project. Only documents of a
pool are judged: the top 10 of both systems but every tenth document ("nearly"); the top 10, or the top 3, of one of the two; the
top 10 with the top 3 of the other; or with the top 10 of a relative, the third system that shares most documents with it. Without
zeros the judgements have only relevant documents, as in most public collections. A decision is wrong if a named system is more
than the margin below the other one by the complete judgements.
`--results 1` cuts all rankings and pools after one document; `--measure P@1` decides by another measure.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations

from benchmarks.real_values import COLLECTIONS, dataset_of_part
from rankproof import Experiment, Qrels, Run, compare, run
from rankproof._data.ordering import ranked_documents
from rankproof.models import WordLlama
from rankproof.stages import BM25, RRF, Dense, KeywordScorer, Rerank
from rankproof.types import Comparison, Stage

DEPTH, SHARE_OF_OTHER, REMOVED_STEP = 10, 3 / 10, 10
POOLS = ("complete", "nearly", "one", "top 3 of one", "10+3", "one and a relative")
Grades = Mapping[str, Mapping[str, int]]
Tops = Mapping[str, Mapping[str, Sequence[str]]]
"""The documents of each system and query, best first."""


def systems() -> dict[str, Stage]:
    """Systems that need no large model."""
    bm25, static = BM25(), Dense(WordLlama())
    return {
        "bm25": bm25,
        "bm25-unstemmed": BM25(stemming=False),
        "bm25-characters": BM25(tokens="characters-4"),
        "keywords": Rerank(bm25, KeywordScorer()),
        "static": static,
        "hybrid-static": RRF((bm25, static)),
    }


def pool_of(grades: Grades, tops: Tops, depths: Mapping[str, int], *, zeros: bool) -> Qrels:
    """The judgements of the first documents of some systems; other documents of the pool get 0 with `zeros`."""
    pool = {
        query: {doc: known.get(doc, 0) for name, depth in depths.items() for doc in tops[name].get(query, ())[:depth]}
        for query, known in grades.items()
    }
    return Qrels({query: {doc: grade for doc, grade in docs.items() if zeros or grade > 0} for query, docs in pool.items()})


def relative_of(name: str, other: str, tops: Tops) -> str:
    """The third system that shares most documents with the first."""
    shared = {
        third: sum(len({*docs} & {*tops[third].get(query, ())}) for query, docs in tops[name].items())
        for third in tops
        if third not in (name, other)
    }
    return max(shared, key=shared.__getitem__)


def judgements(grades: Grades, tops: Tops, pair: Sequence[str], depth: int, *, zeros: bool) -> Iterator[tuple[str, Qrels]]:
    """The kinds of pools with their judgements, for each of the two systems as the judged one."""
    yield "complete", Qrels({query: dict(docs) for query, docs in grades.items()})
    both = pool_of(grades, tops, dict.fromkeys(pair, depth), zeros=zeros)
    removed = frozenset([(query, doc) for query, docs in both.items() for doc in docs][::REMOVED_STEP])
    kept = {query: {doc: docs[doc] for doc in docs if (query, doc) not in removed} for query, docs in both.items()}
    yield "nearly", Qrels(kept)
    for name, other in permutations(pair):
        relative = relative_of(name, other, tops)
        for kind, depths in (
            ("one", {name: depth}),
            ("top 3 of one", {name: max(1, round(SHARE_OF_OTHER * depth))}),
            ("10+3", {name: depth, other: round(SHARE_OF_OTHER * depth)}),
            (POOLS[-1], {name: depth, relative: depth}),
        ):
            yield kind, pool_of(grades, tops, depths, zeros=zeros)


def is_wrong(named: Sequence[str], truth: Comparison) -> bool:
    """Whether a named system is more than the margin below the best one by the complete judgements."""
    means = {name: next(iter(values.values())) for name, values in truth.values.items()}
    return any(means[name] < max(means.values()) - truth.decision.margin for name in named)


Outcome = tuple[bool, bool, bool]
"""Whether a comparison is decided, whether it is wrong, and whether it is wrong without a sentence about unjudged documents."""


def outcomes(
    grades: Grades, rankings: Mapping[str, Run], depth: int, measure: str, *, zeros: bool
) -> dict[tuple[str, str], list[Outcome]]:
    """The outcomes of all pairs by kind of pool, with the rule off and on, of rankings of so many documents."""
    tops = {
        name: {query: docs[:depth] for query, docs in ranked_documents(ranking).items()} for name, ranking in rankings.items()
    }
    by_kind: dict[tuple[str, str], list[Outcome]] = {}
    for pair in combinations(rankings, 2):
        runs = {name: tops[name] for name in pair}
        kinds = list(judgements(grades, tops, pair, depth, zeros=zeros))
        truth = compare(kinds[0][1], runs, measures=measure, samples=100)
        for kind, judged in kinds:
            for rule in ("off", "on"):
                decision = compare(
                    judged, runs, measures=measure, samples=100, judgements="complete" if rule == "off" else None
                ).decision
                wrong = is_wrong(decision.systems, truth)
                outcome = decision.decided, wrong, wrong and not (decision.unjudged_rival and decision.unjudged_rival.is_near)
                by_kind.setdefault((kind, rule), []).append(outcome)
    return by_kind


def main() -> None:
    """Prints a row for each collection, without and with zeros: % decided / % wrong, with the rule off and on."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unjudged_rule", description=__doc__)
    parser.add_argument("--collections", nargs="+", choices=COLLECTIONS, default=list(COLLECTIONS))
    parser.add_argument("--results", type=int, default=DEPTH, help="documents per ranking and pool")
    parser.add_argument("--measure", default="nDCG@10", help="the measure that decides")
    asked = parser.parse_args()
    print(f"| collection | zeros | {' | '.join(POOLS)} |\n|---|---|{'---:|' * len(POOLS)}")
    for collection in asked.collections:
        dataset = dataset_of_part(COLLECTIONS[collection][0])
        result = run(Experiment(name="unjudged", dataset=dataset, systems=systems(), measures=("nDCG@10",)))
        rankings = {system.name: system.run for system in result.system_runs}
        for zeros in (False, True):
            by_kind = outcomes(result.qrels, rankings, asked.results, asked.measure, zeros=zeros)
            cells = [f"{_shares(by_kind[kind, 'off'])} → {_shares(by_kind[kind, 'on'])}" for kind in POOLS]
            print(f"| {collection} | {'yes' if zeros else 'no'} | {' | '.join(cells)} |", flush=True)


def _shares(rows: Sequence[Outcome]) -> str:
    decided, wrong, unsaid = (100 * sum(column) / len(rows) for column in zip(*rows, strict=True))
    return f"{decided:.0f} / {wrong:.0f}" + (f" (unsaid {unsaid:.0f})" if unsaid else "")


if __name__ == "__main__":
    main()
