"""Speed of measures of diversity and of user models: rankproof, pyndeval and cwl_eval, alone and by ir_measures.

Diversity: one file of judgements of 50 queries x 300 documents for 3 to 6 subtopics, and 10 run files of 50 x 1,000, to nine
measures for each query. User models: one file of judgements and one run file of 50 x 1,000 to eight measures. Times are CPU
seconds on one thread from paths to values, each in a fresh process, best of several interleaved rounds. The peers read files by
ir_measures. Needs the extra `bench`: pyndeval, cwl-eval and ir-measures.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from .evaluation_tool import best

QUERIES, JUDGED, DEPTH, RUNS, SEED = 50, 300, 1_000, 10, 20
NDEVAL = ("alpha-nDCG@20", "alpha-DCG@20", "ERR-IA@20", "nERR-IA@20", "P-IA@20", "strec@20", "NRBP", "nNRBP", "MAP-IA")
DIVERSITY = ("alpha_nDCG@20", "alpha_DCG@20", "ERR_IA@20", "nERR_IA@20", "P_IA@20", "StRecall@20", "NRBP", "nNRBP", "AP_IA")
USER_MODELS = tuple(
    name.format("max_rel=3")
    for name in ("SDCG({})@10", "INST({})", "INSQ({})", "BPM({})@10", "NERR8({})@10", "NERR9({})@10", "NERR10({})", "NERR11({})")
)
Values = list[list[float]]
"""For each run and measure, the sum over queries."""


def write_files(folder: Path) -> None:
    """Judgements for subtopics, judgements of whole queries, and runs."""
    chance = random.Random(SEED)
    docs = {query: [f"doc-{query:03}-{number:05}" for number in range(3 * DEPTH)] for query in range(QUERIES)}
    with (folder / "subtopics.qrels").open("w") as subtopics, (folder / "plain.qrels").open("w") as plain:
        for query, names in docs.items():
            judged = chance.sample(names[: 2 * DEPTH], JUDGED)
            plain.writelines(f"{query} 0 {doc} {chance.choice((0, 0, 0, 1, 2, 3))}\n" for doc in judged)
            for subtopic in range(1, chance.randint(3, 6) + 1):
                subtopics.writelines(f"{query} {subtopic} {doc} {chance.choice((0, 0, 0, 1))}\n" for doc in judged)
    for number in range(RUNS):
        with (folder / f"{number}.run").open("w") as run:
            for query, names in docs.items():
                for rank, doc in enumerate(chance.sample(names, DEPTH), start=1):
                    run.write(f"{query} Q0 {doc} {rank} {DEPTH - rank} run\n")


def ours(qrels: str, names: tuple[str, ...], runs: int) -> Callable[[Path], Values]:
    """rankproof on these files."""
    import rankproof

    def job(folder: Path) -> Values:
        named = {str(number): folder / f"{number}.run" for number in range(runs)}
        result = rankproof.evaluate(folder / qrels, named, list(names))
        return [[float(one.values.sum()) for one in system.measures.values()] for system in result.systems]

    return job


def pyndeval_job(folder: Path) -> Values:
    """pyndeval, with files read by ir_measures."""
    import ir_measures
    import pyndeval  # type: ignore[import-untyped,import-not-found,unused-ignore]

    rows = ir_measures.read_trec_qrels(str(folder / "subtopics.qrels"))
    judged = [(row.query_id, row.iteration, row.doc_id, row.relevance) for row in rows]
    evaluator = pyndeval.RelevanceEvaluator(judged, NDEVAL)
    found = []
    for number in range(RUNS):
        read = ir_measures.read_trec_run(str(folder / f"{number}.run"))
        values = evaluator.evaluate((row.query_id, row.doc_id, row.score) for row in read)
        found.append([sum(each[name] for each in values.values()) for name in NDEVAL])
    return found


def by_ir_measures(qrels: str, names: tuple[str, ...], runs: int) -> Callable[[Path], Values]:
    """ir_measures, which calls pyndeval or cwl_eval."""
    import ir_measures

    # cwl_eval logs every vector.
    logging.disable(logging.CRITICAL)
    measures = [ir_measures.parse_measure(name) for name in names]

    def job(folder: Path) -> Values:
        evaluator = ir_measures.evaluator(measures, list(ir_measures.read_trec_qrels(str(folder / qrels))))
        found = []
        for number in range(runs):
            sums = dict.fromkeys(measures, 0.0)
            for metric in evaluator.iter_calc(list(ir_measures.read_trec_run(str(folder / f"{number}.run")))):
                sums[metric.measure] += metric.value
            found.append([sums[measure] for measure in measures])
        return found

    return job


JOBS: dict[str, dict[str, Callable[[], Callable[[Path], Values]]]] = {
    f"diversity, {len(DIVERSITY)} measures, {RUNS} runs": {
        "rankproof": lambda: ours("subtopics.qrels", DIVERSITY, RUNS),
        "pyndeval": lambda: pyndeval_job,
        "ir_measures with pyndeval": lambda: by_ir_measures("subtopics.qrels", DIVERSITY, RUNS),
    },
    f"user models, {len(USER_MODELS)} measures, 1 run": {
        "rankproof": lambda: ours("plain.qrels", USER_MODELS, 1),
        "ir_measures with cwl_eval": lambda: by_ir_measures("plain.qrels", USER_MODELS, 1),
    },
}


def contend(work: str, tool: str, folder: str) -> None:
    """One measurement; prints CPU seconds and the sums."""
    job = JOBS[work][tool]()
    seconds, values = best(lambda: job(Path(folder)), at_least=1.0, most=5)
    print(json.dumps([seconds, values]))


def measured(work: str, rounds: int, folder: str) -> tuple[dict[str, float], float]:
    """The least CPU time of each tool, and the largest relative difference of the sums."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    least, sums = dict.fromkeys(JOBS[work], float("inf")), {}
    for turn in range(rounds):
        for tool in JOBS[work]:
            print(f"{work}: {tool}, round {turn + 1} of {rounds}", file=sys.stderr)
            command = [sys.executable, "-m", "benchmarks.diversity", "--contend", work, tool, folder]
            done = subprocess.run(command, env={**os.environ, **one_thread}, stdout=subprocess.PIPE, check=True)
            seconds, sums[tool] = json.loads(done.stdout.splitlines()[-1])
            least[tool] = min(least[tool], seconds)
    flat = {tool: [value for each in values for value in each] for tool, values in sums.items()}
    apart = [abs(one - other) / one for tool in flat for one, other in zip(flat["rankproof"], flat[tool], strict=True) if one]
    return least, max(apart)


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.diversity", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contend", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contend:
        return contend(*arguments.contend)
    with TemporaryDirectory() as folder:
        write_files(Path(folder))
        print("| work | tool | CPU s | times rankproof | largest difference |")
        print("|---|---|---:|---:|---:|")
        for work in JOBS:
            least, apart = measured(work, arguments.rounds, folder)
            for tool, seconds in least.items():
                print(f"| {work} | {tool} | {seconds:.3f} | {seconds / least['rankproof']:.1f} | {apart:.0e} |")


if __name__ == "__main__":
    main()
