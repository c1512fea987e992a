"""Fused scores and fits compared with values that ranx computed.

`python -m benchmarks.parity_fusion` prints how many values were compared, the largest difference, and what is left out and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer_values import PEER_VALUES, json_lines
from rankproof._data.run import Run
from rankproof._fusion.fuse import fit_fusion, fuse
from rankproof._fusion.method import FusionMethod, method_named
from rankproof._fusion.methods.trained import BAYES_BOUNDS

GOLDEN = PEER_VALUES / "fusion" / "fusion.jsonl.gz"
NORMS = {None: "none", "zmuv": "z-score", "min-max-inverted": "min-max"}
"""Normalisations with another name here; an inverted one is that of scores of which lower is better."""
EQUAL = "all scores of a ranking equal: 1 (min-max) or 1 / n (sum) here, 0 in ranx"
TIES = "tied scores: ranked by id here, by insertion order or by an unstable sort in ranx"
FLOOR = "no score above 0 with norm max: divided by the largest magnitude here, by 1e-9 in ranx"
VOTES = "Condorcet: an inconsistent comparison in ranx, which starts from the order of a set"
HASHED = "ranks after norm borda: those of the runs here, by hash in ranx"
UNSTABLE = "ranx gives other values with another hash seed or order of runs or documents"
Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ComparedFusion:
    """Fused scores of one query, or what was learned of a run; `reason` says why they are not compared, `apart` how far they are.

    Differences are absolute up to 1, and relative above.
    """

    method: str
    values: int
    apart: float
    reason: str = ""


def compared_fusions(path: Path = GOLDEN) -> Iterator[ComparedFusion]:
    """Every fused query and every fit of the file."""
    for case in json_lines(path):
        yield from _fits(case)
        yield from _fused_queries(case)


def _fits(case: Case) -> Iterator[ComparedFusion]:
    for method, expected in case["fitted"].items():
        if method in case["fitted_unstable"]:
            yield ComparedFusion(method, 0, 0.0, UNSTABLE)
            continue
        found = fit_fusion(method, case["train_qrels"], _runs(case["train_runs"]), segments=case["n_segments"]).values
        for one, other in zip(found, _learned(method, expected), strict=True):
            if len(one) == len(other):
                yield ComparedFusion(f"{method}, fit", len(one), _apart(one, other))
            else:
                yield ComparedFusion(f"{method}, fit", len(one), float("inf"))


def _learned(method: str, expected: Mapping[str, Any]) -> list[list[float]]:
    """What ranx learned of each run, in our form."""
    if method == "mapfuse":
        return [[value] for value in expected["map_scores"]]
    if method != "bayesfuse":
        return list(expected["probs"])
    each = []
    for lengths in expected["log_odds_rle"]:
        by_rank = np.concatenate([np.full(end - start, value) for start, end, value in lengths])
        each.append(by_rank[BAYES_BOUNDS[:-1]].tolist())
    return each


def _fused_queries(case: Case) -> Iterator[ComparedFusion]:
    known: dict[tuple[str, str | None], Mapping[str, list[float]]] = {}
    for row in case["results"]:
        name, norm = row["method"], row["norm"]
        known[name, norm] = row["fused"] if "fused" in row else known[name, row["same_as"]]
        if row.get("unstable") or name in case["fitted_unstable"]:
            yield ComparedFusion(name, 0, 0.0, UNSTABLE)
            continue
        found = _by_query(_fused(case, name, norm))
        for query, expected in known[name, norm].items():
            docs, method = case["docs"][query], method_named(name)
            scores = [found.get(query, {}).get(doc, float("nan")) for doc in docs]
            reason = _reason(method, norm, [list(run.get(query, {}).values()) for run in case["runs"]])
            yield ComparedFusion(name, len(docs), 0.0 if reason else _apart(scores, expected), reason)


def _fused(case: Case, name: str, norm: str | None) -> Run:
    settings: dict[str, Any] = dict(case["params"].get(name, {}))
    if name in case["fitted"]:
        settings["fitted"] = fit_fusion(name, case["train_qrels"], _runs(case["train_runs"]), segments=case["n_segments"])
    if name == "slidefuse":
        settings["window"] = case["w"]
    is_inverted = norm == "min-max-inverted"
    return fuse(_runs(case["runs"]), name, norm=NORMS.get(norm, norm), lower_is_better=is_inverted, **settings)


def _reason(method: FusionMethod, norm: str | None, scores: list[list[float]]) -> str:
    """Why the fused scores of a query differ on purpose; empty if they do not."""
    ranked = method.by_rank or method.name == "segfuse" or norm in ("rank", "borda")
    if method.name == "condorcet":
        return VOTES
    if ranked and any(len(set(one)) < len(one) for one in scores):
        return TIES
    if method.by_rank:
        return HASHED if norm == "borda" else ""
    if norm in ("min-max", "min-max-inverted", "sum") and any(one and min(one) == max(one) for one in scores):
        return EQUAL
    return FLOOR if norm == "max" and any(one and max(one) <= 0 for one in scores) else ""


def _apart(found: Any, expected: Any) -> float:
    theirs = np.array(expected, dtype=np.float64)
    difference = np.abs(np.array(found, dtype=np.float64) - theirs) / np.maximum(np.abs(theirs), 1.0)
    return float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0))


def _runs(tables: list[dict[str, dict[str, float]]]) -> list[Run]:
    return [Run.from_dict(table) for table in tables]


def _by_query(run: Run) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {query: {} for query in run.queries}
    for row in run.rows():
        found[row.query][row.doc] = row.score
    return found


def main() -> None:
    """Prints two Markdown tables: what was compared, and what was not."""
    every = list(compared_fusions())
    print("| method | values | largest difference |")
    print("|---|---:|---:|")
    for method in sorted({one.method for one in every}):
        compared = [one for one in every if one.method == method and not one.reason]
        print(f"| {method} | {sum(one.values for one in compared):,} | {max((one.apart for one in compared), default=0.0):.0e} |")
    total = sum(one.values for one in every if not one.reason)
    print(f"| all | {total:,} | {max(one.apart for one in every if not one.reason):.0e} |")
    print("\n| not compared | queries |")
    print("|---|---:|")
    for reason, count in Counter(one.reason for one in every if one.reason and one.values).most_common():
        print(f"| {reason} | {count:,} |")
    print(f"| {UNSTABLE} | {sum(one.reason == UNSTABLE for one in every):,} methods x normalisations x sets |")


if __name__ == "__main__":
    main()
