"""How often unjudged documents prevent a decision between two systems, with complete judgements and with those of one system.

`python -m benchmarks.unjudged_rule` compares every pair of six systems on each collection beside the project. In a pool of one,
only documents in the top 10 of one of the two systems are judged: `no zeros` keeps the relevant ones, as most public collections
do. A decision is wrong if the named system is more than the margin below the other one by the complete judgements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from benchmarks.real_values import COLLECTIONS, dataset_of_part
from rankproof import Experiment, Qrels, Run, compare, run
from rankproof._data.ordering import ranked_documents
from rankproof._results.experiment_result import Completeness
from rankproof.models import WordLlama
from rankproof.stages import BM25, RRF, Dense, KeywordScorer, Rerank
from rankproof.types import Stage

DEPTH = 10
Grades = Mapping[str, Mapping[str, int]]


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


def pool_of(grades: Grades, ranking: Run, *, zeros: bool) -> Qrels:
    """The judgements of documents in the top of one system; unjudged documents of the pool get 0 with `zeros`."""
    top = {query: docs[:DEPTH] for query, docs in ranked_documents(ranking).items()}
    pool = {query: {doc: grades[query].get(doc, 0) for doc in top.get(query, ())} for query in grades}
    return Qrels({query: {doc: grade for doc, grade in docs.items() if zeros or grade > 0} for query, docs in pool.items()})


def outcomes(grades: Grades, rankings: Mapping[str, Run]) -> Iterator[tuple[str, str, bool, bool, bool]]:
    """For each pair and kind of judgements: kind, rule, whether it is decided, whether wrong, whether a note is shown."""
    complete = Qrels({query: dict(docs) for query, docs in grades.items()})
    for pair in combinations(rankings, 2):
        runs = {name: rankings[name] for name in pair}
        truth = compare(complete, runs, measures="nDCG@10", samples=100)
        means = {name: values["nDCG@10"] for name, values in truth.values.items()}
        kinds = {"complete": complete}
        for name in pair:
            kinds[f"pool of one, no zeros {name}"] = pool_of(grades, rankings[name], zeros=False)
            kinds[f"pool of one, zeros {name}"] = pool_of(grades, rankings[name], zeros=True)
        for kind, judged in kinds.items():
            for rule in ("off", "on"):
                off: Completeness | None = "complete" if rule == "off" else None
                found = compare(judged, runs, measures="nDCG@10", samples=100, judgements=off).decision
                best = max(means.values()) - truth.decision.margin
                wrong = found.decided and any(means[name] < best for name in found.systems)
                label = kind if kind == "complete" else kind.removesuffix(f" {pair[0]}").removesuffix(f" {pair[1]}")
                rival = found.unjudged_rival
                yield label, rule, found.decided, wrong, rival is not None and rival.is_near


def main() -> None:
    """Prints a row for each collection and kind of judgements."""
    print("| collection | judgements | comparisons | rule off: decided, wrong | rule on: decided, wrong | a sentence says it |")
    print("|---|---|---:|---:|---:|---:|")
    for collection, parts in COLLECTIONS.items():
        experiment = Experiment(name="unjudged", dataset=dataset_of_part(parts[0]), systems=systems(), measures=("nDCG@10",))
        result = run(experiment)
        rankings = {system.name: system.run for system in result.system_runs}
        rows: dict[str, dict[str, list[tuple[bool, bool, bool]]]] = {}
        for kind, rule, *found in outcomes(result.qrels, rankings):
            rows.setdefault(kind, {}).setdefault(rule, []).append((found[0], found[1], found[0] and found[2]))
        for kind, by_rule in rows.items():
            cells = [f"{_share(by_rule[rule], 0)}, {_share(by_rule[rule], 1)}" for rule in ("off", "on")]
            row = (collection, kind, str(len(by_rule["on"])), *cells, _share(by_rule["on"], 2))
            print(f"| {' | '.join(row)} |", flush=True)


def _share(found: list[tuple[bool, bool, bool]], column: int) -> str:
    return f"{100 * sum(row[column] for row in found) / len(found):.0f}%"


if __name__ == "__main__":
    main()
