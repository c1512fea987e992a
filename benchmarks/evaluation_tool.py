"""One tool on one workload in a fresh process: prints CPU seconds, peak MB and means.

Usage: `python -m benchmarks.evaluation_tool TOOL WORKLOAD FOLDER`. Timed is everything from paths (or dicts in memory) to
per-query values. Imports, and a first small job that compiles or fills caches, are not timed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Values = dict[str, dict[str, float]]
Grades = dict[str, dict[str, int]]
Job = Callable[[Path, list[Path]], list[Values]]

NAMES = {
    "rankproof": ("nDCG@10", "AP", "RR", "P@10", "R@100", "Success@10"),
    "pytrec_eval": ("ndcg_cut_10", "map", "recip_rank", "P_10", "recall_100", "success_10"),
    "ir_measures": ("nDCG@10", "AP", "RR", "P@10", "R@100", "Success@10"),
    "ranx": ("ndcg@10", "map", "mrr", "precision@10", "recall@100", "hit_rate@10"),
}


def rankproof_job(threads: int, compat: Any = None) -> Job:
    """Ours, on so many threads."""
    import rankproof

    def job(qrels: Path, runs: list[Path]) -> list[Values]:
        named = {path.name: path for path in runs}
        result = rankproof.evaluate(qrels, named, NAMES["rankproof"], threads=threads, compat=compat)
        return [result.per_query(name) for name in named]

    return job


def pytrec_eval_job() -> Job:
    """pytrec_eval's parser and evaluator."""
    import pytrec_eval

    def job(qrels: Path, runs: list[Path]) -> list[Values]:
        with qrels.open() as lines:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), _trec_names())
        values = []
        for path in runs:
            with path.open() as lines:
                values.append(evaluator.evaluate(pytrec_eval.parse_run(lines)))
        return values

    return job


def _trec_names() -> set[str]:
    return {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.100", "success.10"}


def ir_measures_job() -> Job:
    """ir_measures' readers and its default provider."""
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in NAMES["ir_measures"]]

    def job(qrels: Path, runs: list[Path]) -> list[Values]:
        evaluator = ir_measures.evaluator(measures, list(ir_measures.read_trec_qrels(str(qrels))))
        values = []
        for path in runs:
            each: Values = {}
            for metric in evaluator.iter_calc(ir_measures.read_trec_run(str(path))):
                each.setdefault(metric.query_id, {})[str(metric.measure)] = metric.value
            values.append(each)
        return values

    return job


def ranx_job() -> Job:
    """ranx's readers and evaluator, one thread."""
    import numba
    import ranx

    numba.set_num_threads(1)

    def job(qrels: Path, runs: list[Path]) -> list[Values]:
        judged = ranx.Qrels.from_file(str(qrels), kind="trec")
        values = []
        for path in runs:
            run = ranx.Run.from_file(str(path), kind="trec")
            ranx.evaluate(judged, run, list(NAMES["ranx"]), make_comparable=True)
            values.append({name: dict(scores) for name, scores in run.scores.items()})
        return values

    return job


def dict_job(tool: str) -> Callable[[Grades, Values], Values]:
    """The tools that take dicts in memory."""
    if tool == "rankproof":
        import rankproof

        return lambda qrels, run: rankproof.evaluate(qrels, run, NAMES["rankproof"]).per_query()
    import pytrec_eval

    return lambda qrels, run: pytrec_eval.RelevanceEvaluator(qrels, _trec_names()).evaluate(run)


JOBS: dict[str, Callable[[], Job]] = {
    "rankproof": lambda: rankproof_job(1),
    "rankproof-2-threads": lambda: rankproof_job(2),
    "rankproof-float32": lambda: rankproof_job(1, "trec_eval-9"),
    "pytrec_eval": pytrec_eval_job,
    "ir_measures": ir_measures_job,
    "ranx": ranx_job,
}


def files(workload: str, folder: Path) -> tuple[Path, list[Path]]:
    """A workload's qrels and runs."""
    if workload == "many":
        return folder / "many.qrels", sorted((folder / "many").glob("*.run"))
    qrels = {"shuffled": "graded", "parquet": "big", "tiny-parquet": "tiny"}.get(workload, workload)
    run = f"{qrels}.parquet" if workload.endswith("parquet") else f"{workload}.run"
    return folder / f"{qrels}.qrels", [folder / run]


def read_dicts(qrels: Path, run: Path) -> tuple[Grades, Values]:
    """Both files as dicts."""
    import pytrec_eval

    with qrels.open() as judgements, run.open() as rows:
        return pytrec_eval.parse_qrel(judgements), pytrec_eval.parse_run(rows)


def best(call: Callable[[], Any], at_least: float = 0.2, most: int = 30) -> tuple[float, Any]:
    """The least CPU time of a call; short ones are repeated."""
    least, spent, value = float("inf"), 0.0, None
    for _ in range(most):
        before = time.process_time()
        value = call()
        took = time.process_time() - before
        least, spent = min(least, took), spent + took
        if spent >= at_least:
            break
    return least, value


def main() -> None:
    """Measures one tool on one workload."""
    tool, workload, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    if workload == "dicts":
        job, (qrels, run) = dict_job(tool), read_dicts(folder / "big.qrels", folder / "big.run")
        job({"q": {"d": 1}}, {"q": {"d": 1.0}})
        seconds, values = best(lambda: job(qrels, run))
        values = [values]
    else:
        from_files = JOBS[tool]()
        from_files(*files("tiny-parquet" if workload == "parquet" else "tiny", folder))
        seconds, values = best(lambda: from_files(*files(workload, folder)))
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb(), "means": [_means(tool, each) for each in values]}))


def peak_mb() -> float:
    """The most memory that this program held; getrusage would count what its parent held when it was started, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _means(tool: str, values: Values) -> list[float]:
    """The six means, whichever way round the tool nests them."""
    names = NAMES[tool.split("-")[0]]
    if names[0] in values:
        return [sum(values[name].values()) / len(values[name]) for name in names]
    return [sum(query[name] for query in values.values()) / len(values) for name in names]


if __name__ == "__main__":
    main()
