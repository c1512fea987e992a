"""Results of a machine judge, with labels of people of questions that were drawn at random."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rankproof import evaluate, load_results
from rankproof._cli.main import main
from rankproof._data.claims import ClaimVerdict
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.run import Run
from rankproof._formats.claims import claim_key
from rankproof._io.files import log_path
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import save_results
from rankproof._results.label_tasks import DRAW_KEY, LabelDraw, draw_questions
from rankproof._server.label_log import build_claim_queue
from support.small_results import small_results

LABEL = "llm:tiny:0123abcd"
Grades = Mapping[str, Mapping[str, int]]


def judged_by(human: Mapping[str, Sequence[int]], judge: Mapping[str, Sequence[int]]) -> tuple[ExperimentResult, Grades]:
    """Systems that each show one document per question; people and judge grade it 0 or 1. Returns also people's grades."""
    systems = list(human)
    queries = [f"q{at:03}" for at in range(len(human[systems[0]]))]
    docs = [f"d-{name}" for name in systems]
    given = {query: {f"d-{name}": judge[name][at] for name in systems} for at, query in enumerate(queries)}
    people = {query: {f"d-{name}": human[name][at] for name in systems} for at, query in enumerate(queries)}
    rows = [Judgement(query, doc, grade, judge_label=LABEL) for query, each in given.items() for doc, grade in each.items()]
    qrels = Qrels(rows)
    runs = {name: Run.from_dict({query: {f"d-{name}": 1.0} for query in queries}, name=name) for name in systems}
    results = small_results(tuple(systems), queries, docs)
    own = tuple(replace(run, stored_run=runs[run.name], kind="retrieval") for run in results.system_runs)
    return replace(results, result=evaluate(qrels, runs, ["Success@1"]), system_runs=own, qrels=qrels, rel=1), people


def labelled_folder(
    folder: Path, results: ExperimentResult, people: Grades, labelled: int, *, seed: int = 0, drawn: bool = True
) -> Path:
    """The results in a folder, with people's grades of so many drawn questions beside it, as serve writes them."""
    path = Path(save_results(results, folder))
    names = [run.name for run in results.system_runs]
    draw = draw_questions(people, names, "documents", 10, seed)
    file = f"{path}.people.qrels"
    lines = (f"{query} 0 {doc} {grade}\n" for query in draw.questions[:labelled] for doc, grade in people[query].items())
    Path(file).write_text("".join(lines))
    if drawn:
        write_draw(file, draw)
    return path


def write_draw(file: str, draw: LabelDraw, items: Iterable[str] = ()) -> None:
    """Writes the log of a file of labels, with its draw and the claims that were labelled."""
    lines = ({"format": "rankproof-test", DRAW_KEY: asdict(draw)}, *({"item": item} for item in items))
    Path(log_path(file)).write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_claim_labels(folder: Path, systems: Sequence[str], labelled: int, label_of: Callable[[ClaimVerdict, int], str]) -> None:
    """Labels of all claims of so many drawn questions beside a results folder; `label_of` gets the claim and the place drawn."""
    results = load_results(folder)
    assert results.answers is not None
    draw = draw_questions(results.answers.queries, systems, "claims")
    places = {question: place for place, question in enumerate(draw.questions[:labelled])}
    # Several judges check the same claim, which is labelled once.
    claims = {claim_key(claim): claim for claim in results.claims if claim.query in places}.values()
    lines = (
        {
            **{"query": claim.query, "system": claim.system, "side": claim.claim.side, "n": claim.claim.n},
            **{"against": claim.against, "text": claim.claim.text, "person": "ann"},
            "label": label_of(claim, places[claim.query]),
        }
        for claim in claims
    )
    file = f"{folder}.people.jsonl"
    Path(file).write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_draw(file, draw, build_claim_queue(results, draw, labelled).items)


def with_contexts(folder: Path, logs: Sequence[Path], text: str, questions: Collection[str] | None = None) -> None:
    """Makes a results folder again from its logs, with another context of all or some questions (by text)."""
    for log in logs:
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        changed = ({**row, "contexts": [text]} if questions is None or row["question"] in questions else row for row in rows)
        log.write_text("".join(json.dumps(row) + "\n" for row in changed))
    shutil.rmtree(folder)
    assert main(["answers", *map(str, logs), "-m", "Faithfulness", "-o", str(folder), "--quiet"]) == 0
