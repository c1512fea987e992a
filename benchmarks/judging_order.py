"""How soon the right system is found when pairs are judged by risk, by effect and in random order.

`python -m benchmarks.judging_order` hides four fifths of the judgements of pools of real systems on Cranfield and SciFact, shows
them again in each order, and prints how often the decision names the system that all judgements name.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tools import shared_folder

from benchmarks.real_values import DATA, systems
from rankproof import Experiment, Qrels, Run, evaluate, read_dataset, run
from rankproof._analysis.audit.judge_next import ordered_pairs, risk_changes, unjudged_pairs
from rankproof._analysis.audit.unjudged import find_unjudged
from rankproof._analysis.inputs import input_from_runs
from rankproof._data.ordering import ranked_documents
from rankproof._statistics.means import draw_means
from rankproof.measures import nDCG
from rankproof.types import Stage

COLLECTIONS = {"Cranfield": "cranfield", "SciFact": "scifact"}
CHECKPOINTS = (10, 20, 40, 80, 160, 320)
QUERIES, SYSTEMS, SHOWN, DEPTH = 60, 4, 0.2, 10
MEASURE = "nDCG@10"
Rankings = Mapping[str, Mapping[str, Sequence[str]]]
Grades = dict[str, dict[str, int]]
Pair = tuple[str, str]


def lexical_systems() -> dict[str, Stage]:
    """The systems that need no weights."""
    return {name: stage for name, stage in systems().items() if name.startswith("bm25") or name == "keywords"}


@dataclass(frozen=True, slots=True)
class Collection:
    """The rankings of every system, and the judgements."""

    rankings: Rankings
    qrels: Mapping[str, Mapping[str, int]]


def collection(folder: str) -> Collection:
    """The top documents of the systems on a collection beside the project."""
    dataset = read_dataset(DATA / folder, split="test")
    results = run(Experiment(name="judging-order", dataset=dataset, systems=lexical_systems(), measures=(MEASURE,)))
    tops = {
        one.name: {query: list(docs)[:DEPTH] for query, docs in ranked_documents(one.run).items()} for one in results.system_runs
    }
    return Collection(tops, dataset.qrels)


@dataclass(frozen=True, slots=True)
class Trial:
    """Runs of some systems on some queries, the judgements of their pool, and those that are known at the start."""

    runs: Mapping[str, Run]
    full: Grades
    known: Grades


def make_trial(data: Collection, seed: int) -> Trial:
    """A random choice of systems, queries and known judgements; what the collection does not judge is not relevant."""
    draw = random.Random(seed)
    names = draw.sample(sorted(data.rankings), SYSTEMS)
    queries = draw.sample(sorted(query for query in data.qrels if all(query in data.rankings[name] for name in names)), QUERIES)
    runs = {
        name: Run.from_dict({query: {doc: -float(at) for at, doc in enumerate(data.rankings[name][query])} for query in queries})
        for name in names
    }
    full: Grades = {}
    for query in queries:
        pool = sorted({doc for name in names for doc in data.rankings[name][query]})
        full[query] = {**data.qrels[query], **{doc: data.qrels[query].get(doc, 0) for doc in pool}}
    known = {query: {doc: grade for doc, grade in docs.items() if draw.random() < SHOWN} for query, docs in full.items()}
    for query, docs in known.items():
        if not any(docs.values()):
            best = max(full[query], key=lambda doc: (full[query][doc], doc))
            docs[best] = full[query][best]
    return Trial(runs, full, known)


def decided(runs: Mapping[str, Run], grades: Grades) -> str:
    """The system that the decision recommends, or that leads: without costs, the one of least expected loss."""
    result = evaluate(Qrels.from_dict(grades), dict(runs), [MEASURE])
    drawn = draw_means(np.column_stack([system.measures[MEASURE].values for system in result.systems]))
    return list(runs)[int(np.argmin((drawn.max(axis=1, keepdims=True) - drawn).mean(axis=0)))]


def right_decisions(trial: Trial, seed: int) -> dict[str, list[bool]]:
    """For each order, whether the decision is right after so many judgements."""
    inputs = input_from_runs(Qrels.from_dict(trial.known), dict(trial.runs), [MEASURE])
    unjudged, right = find_unjudged(inputs), decided(trial.runs, trial.full)
    pairs = unjudged_pairs(unjudged, nDCG @ DEPTH)
    orders = {
        "risk": ordered_pairs(pairs, risk_changes(unjudged, pairs, nDCG @ DEPTH)).tolist(),
        "effect": ordered_pairs(pairs, None).tolist(),
        "random": random.Random(seed).sample(range(len(pairs.pairs)), len(pairs.pairs)),
    }
    return {
        name: [system == right for system in _decisions(trial, [pairs.pairs[at] for at in order])]
        for name, order in orders.items()
    }


def _decisions(trial: Trial, pairs: Sequence[Pair]) -> Iterator[str]:
    known, done = {query: dict(docs) for query, docs in trial.known.items()}, 0
    for count in CHECKPOINTS:
        for query, doc in pairs[done:count]:
            known[query][doc] = trial.full[query][doc]
        done = count
        yield decided(trial.runs, known)


def simulated(data: Collection, trials: int) -> dict[str, list[float]]:
    """For each order, the share of trials with the right decision after so many judgements."""
    every = [right_decisions(make_trial(data, seed), seed) for seed in range(trials)]
    return {order: np.mean([one[order] for one in every], axis=0).tolist() for order in every[0]}


def main() -> None:
    """Prints a Markdown table, a row for each collection and order."""
    if not DATA.is_dir():
        raise SystemExit(f"{shared_folder.missing_data()}: nothing to simulate")
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"| collection | order | {' | '.join(map(str, CHECKPOINTS))} | mean |")
    print(f"|---|---|{'---:|' * (len(CHECKPOINTS) + 1)}")
    for name, folder in COLLECTIONS.items():
        for order, shares in simulated(collection(folder), trials).items():
            shown = " | ".join(f"{share:.0%}" for share in (*shares, float(np.mean(shares))))
            print(f"| {name} | {order} | {shown} |")


if __name__ == "__main__":
    main()
