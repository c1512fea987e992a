"""Quality on XQuAD with whole paragraphs and with chunks, at both levels, and of answers by the best sentence.

One run of benchmarks/xquad.toml: `python -m benchmarks.xquad markdown`. Does nothing without the collection.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from tools import shared_folder

from rankproof import ExperimentResult, read_experiment, save_results
from rankproof._experiment.run import run_experiment

HERE = Path(__file__).parent
DATA = shared_folder.DATA / "xquad-en"
RESULTS = HERE / "work" / "results" / "xquad-chunks"
ABSENT = "–"
MEASURES = ("nDCG@10", "RR@10", "Success@1", "Success@5")
ANSWERS = ("EM", "F1(tokens='bag')", "Contains")


def main() -> None:
    """Runs the experiment, what is finished taken from the cache, and prints the table."""
    if reason := shared_folder.missing_data("xquad-en"):
        print(f"{reason}: skipped", file=sys.stderr)
        return
    experiment = read_experiment(HERE / "xquad.toml")
    found = run_experiment(replace(experiment, dataset=str(DATA)))
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    save_results(found, RESULTS)
    print("\n".join(table(found)))
    for note in found.notes:
        print(f"\n{note}.")


def table(found: ExperimentResult) -> list[str]:
    """A row a system: how many chunks, the values of documents, those of chunks, and those of answers."""
    head = ["system", "chunks", *MEASURES, *(f"chunk {name}" for name in MEASURES[1:]), *ANSWERS]
    rows = [_row(found, system_run.name) for system_run in found.system_runs]
    return [f"| {' | '.join(row)} |" for row in (head, [":---", *["---:"] * (len(head) - 1)], *rows)]


def _row(found: ExperimentResult, name: str) -> list[str]:
    chunks = found.chunks.means.get(name) if found.chunks else None
    answers = found.answers.means.get(name) if found.answers else None
    return [
        name,
        str(found.system_run(name).facts.get("chunks", ABSENT)),
        *(_shown(found.result.means[name], measure) for measure in MEASURES),
        *(_shown(chunks, measure) for measure in MEASURES[1:]),
        *(_shown(answers, measure) for measure in ANSWERS),
    ]


def _shown(means: dict[str, float] | None, measure: str) -> str:
    return ABSENT if means is None else f"{means[measure]:.4f}"


if __name__ == "__main__":
    main()
