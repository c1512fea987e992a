"""Speed of `compare` of two systems on 50,000 and on a million queries, from values in memory, with the default options.

CPU seconds of one call; the bounds are 1.5 and 30.
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

MOST = {50_000: 1.5, 1_000_000: 30.0}
MEASURES = ("nDCG@10", "RR@10", "R@100")


def generated(queries: int, seed: int = 7) -> Result:
    """Two systems of which the second is a little better, under the measures that `compare` shows without options."""
    random = np.random.default_rng(seed)
    ids = tuple(f"q{at}" for at in range(queries))
    hard = random.beta(2, 2, queries)
    systems = []
    for name, gain in (("one", 0.0), ("two", 0.002)):
        smooth = np.clip(hard + gain + random.normal(0, 0.2, queries), 0, 1)
        ranks = random.geometric(0.35 + gain, queries)
        values = (smooth, np.where(ranks <= 10, 1 / ranks, 0.0), np.rint(smooth * 10) / 10)
        measures = {
            each: MeasureResult(parse_measure(each), float(column.mean()), ids, column)
            for each, column in zip(MEASURES, values, strict=True)
        }
        systems.append(SystemResult(name, measures, ()))
    return Result(ids, tuple(systems))


def main() -> None:
    """Prints a row for each size; ends with 1 where one takes longer than its bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_speed", description=__doc__)
    parser.add_argument("--queries", type=int, nargs="*", default=list(MOST))
    slow = False
    print("| queries | CPU s | at most |\n|---:|---:|---:|")
    for queries in parser.parse_args().queries:
        inputs = AnalysisInput("generated", "", Qrels({"q0": {"d0": 1}}), {}, generated(queries))
        start = time.process_time()
        compare_inputs(inputs)
        seconds = time.process_time() - start
        slow |= seconds > MOST.get(queries, np.inf)
        print(f"| {queries:,} | {seconds:.2f} | {MOST.get(queries, '–')} |", flush=True)
    raise SystemExit(int(slow))


if __name__ == "__main__":
    main()
