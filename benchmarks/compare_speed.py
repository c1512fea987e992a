"""Speed of `compare` from values in memory, with the default options: few systems on many queries, and 15 systems.

CPU seconds of one call. The bounds are 0.3 for 15 systems on 1,000 queries, 1.5 for two systems on 50,000, and 30 on a million.
Only the last two rows have rankings; the last is `rp.compare` of dicts, evaluation included.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from rankproof import Qrels, Run, compare, evaluate
from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.inputs import AnalysisInput
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof.measures import parse_measure

MOST = {(15, 1_000): 0.3, (2, 50_000): 1.5, (2, 1_000_000): 30.0}
"""The bounds by number of systems and of queries."""
UNDECIDED, MOST_UNDECIDED = (15, 1_000), 0.3
"""The size and the bound where rankings are known and nothing is decided, so that pairs to judge are searched."""
PUBLIC = (2, 50_000, 1.0)
"""The size and the bound of the public function."""
MEASURES = ("nDCG@10", "RR@10", "R@100")


def generated_input(count: int, queries: int) -> AnalysisInput:
    """The values without rankings."""
    result = generated(count, queries)
    return AnalysisInput("generated", "", Qrels({query: {"d0": 1} for query in result.queries}), {}, result)


def generated(count: int, queries: int, seed: int = 7) -> Result:
    """Systems of which each is a little better than the one before, under the measures that `compare` shows without options."""
    random = np.random.default_rng(seed)
    ids = tuple(f"q{at}" for at in range(queries))
    hard = random.beta(2, 2, queries)
    systems = []
    for at in range(count):
        gain = 0.002 * at
        smooth = np.clip(hard + gain + random.normal(0, 0.2, queries), 0, 1)
        ranks = random.geometric(0.35 + gain, queries)
        values = (smooth, np.where(ranks <= 10, 1 / ranks, 0.0), np.rint(smooth * 10) / 10)
        measures = {
            each: MeasureResult(parse_measure(each), float(column.mean()), ids, column)
            for each, column in zip(MEASURES, values, strict=True)
        }
        systems.append(SystemResult(f"s{at}", measures, ()))
    return Result(ids, tuple(systems))


def undecided_input(count: int, queries: int, seed: int = 7) -> AnalysisInput:
    """Rankings of equally good systems, each of about 20 documents per query, and judgements of pools with zeros."""
    random = np.random.default_rng(seed)
    judged = {f"q{at}": random.choice(1_000, 20, replace=False) for at in range(queries)}
    qrels = Qrels({query: {f"d{doc}": int(place < 6) for place, doc in enumerate(docs)} for query, docs in judged.items()})
    runs = {}
    for at in range(count):
        lists = {query: [*docs[: random.integers(2)], *random.choice(1_000, 20, replace=False)] for query, docs in judged.items()}
        runs[f"s{at}"] = Run.from_dict(
            {query: {f"d{doc}": -float(place) for place, doc in enumerate(dict.fromkeys(docs))} for query, docs in lists.items()}
        )
    return AnalysisInput("generated", "", qrels, runs, evaluate(qrels, runs, list(MEASURES)))


def public_seconds(queries: int, seed: int = 7) -> float:
    """CPU seconds of the second `rp.compare` of two systems with 10 documents and 3 judgements per query, as dicts."""
    random = np.random.default_rng(seed)
    grades = random.integers(0, 2, (queries, 3)).tolist()
    qrels = {f"q{at}": {f"d{at}_{place}": grade for place, grade in enumerate(own)} for at, own in enumerate(grades)}
    orders = random.permuted(np.tile(np.arange(10.0), (2 * queries, 1)), axis=1).tolist()
    runs = {
        system: {f"q{at}": {f"d{at}_{place}": score for place, score in enumerate(own)} for at, own in enumerate(part)}
        for system, part in (("a", orders[:queries]), ("b", orders[queries:]))
    }
    compare(qrels, runs)
    start = time.process_time()
    compare(qrels, runs)
    return time.process_time() - start


def main() -> None:
    """Prints a row for each size; ends with 1 where one takes longer than its bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_speed", description=__doc__)
    parser.add_argument("--most-queries", type=int, default=max(queries for _, queries in MOST), help="skip larger cases")
    most = parser.parse_args().most_queries
    slow = False
    print("| systems | queries | CPU s | at most |\n|---:|---:|---:|---:|")
    made = [(*size, bound, generated_input) for size, bound in MOST.items() if size[1] <= most]
    for systems, queries, bound, make in (*made, (*UNDECIDED, MOST_UNDECIDED, undecided_input)):
        inputs = make(systems, queries)
        start = time.process_time()
        compare_inputs(inputs)
        seconds = time.process_time() - start
        slow |= seconds > bound
        print(f"| {systems} | {queries:,} | {seconds:.2f} | {bound:g} |", flush=True)
    systems, queries, bound = PUBLIC
    seconds = public_seconds(queries)
    print(f"| {systems} | {queries:,}, `rp.compare` | {seconds:.2f} | {bound:g} |")
    raise SystemExit(int(slow or seconds > bound))


if __name__ == "__main__":
    main()
