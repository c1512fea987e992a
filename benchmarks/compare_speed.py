"""Speed of `compare` from values in memory, with the default options: few systems on many queries, and 15 systems.

CPU seconds of one call. The bounds are 0.3 for 15 systems on 1,000 queries, 1.5 for two systems on 50,000, and 30 on a million.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from rankproof import Qrels
from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.inputs import AnalysisInput
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof.measures import parse_measure

MOST = {(15, 1_000): 0.3, (2, 50_000): 1.5, (2, 1_000_000): 30.0}
"""The bounds by number of systems and of queries."""
MEASURES = ("nDCG@10", "RR@10", "R@100")


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


def main() -> None:
    """Prints a row for each size; ends with 1 where one takes longer than its bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_speed", description=__doc__)
    parser.add_argument("--most-queries", type=int, default=max(queries for _, queries in MOST), help="skip larger cases")
    most = parser.parse_args().most_queries
    slow = False
    print("| systems | queries | CPU s | at most |\n|---:|---:|---:|---:|")
    for (systems, queries), bound in MOST.items():
        if queries > most:
            continue
        result = generated(systems, queries)
        inputs = AnalysisInput("generated", "", Qrels({query: {"d0": 1} for query in result.queries}), {}, result)
        start = time.process_time()
        compare_inputs(inputs)
        seconds = time.process_time() - start
        slow |= seconds > bound
        print(f"| {systems} | {queries:,} | {seconds:.2f} | {bound:g} |", flush=True)
    raise SystemExit(int(slow))


if __name__ == "__main__":
    main()
