"""The random draw of questions to label: fixed by its seed, kept in the log, and used up to the last complete question."""

import json
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from rankproof._data.ordering import ranked_documents
from rankproof._io.files import log_path
from rankproof._results.label_tasks import LabelDraw, complete_questions, documents_to_label, draw_questions, read_label_draw
from rankproof.errors import InputError
from support.small_results import small_results

QUESTIONS = [f"q{number}" for number in range(40)]


def drawn(seed: int = 0, questions: list[str] = QUESTIONS) -> LabelDraw:
    return draw_questions(questions, ("b", "a"), "claims", seed=seed)


def test_a_draw_has_every_question_once_and_depends_on_the_seed_alone() -> None:
    draw = drawn()
    assert sorted(draw.questions) == sorted(QUESTIONS)
    assert (draw.of, draw.systems, draw.depth) == (40, ("a", "b"), None)
    assert draw.questions != tuple(sorted(QUESTIONS))
    assert drawn(questions=QUESTIONS[::-1]) == draw
    assert drawn(seed=1).questions != draw.questions


def test_every_order_has_the_same_chance() -> None:
    orders = Counter(drawn(seed, ["a", "b", "c"]).questions for seed in range(3000))
    assert len(orders) == 6
    assert sum((count - 500) ** 2 / 500 for count in orders.values()) < 20.5  # chi square of 5 degrees, 0.1%


def test_the_questions_before_the_first_incomplete_one_are_used() -> None:
    draw = drawn()
    done = {*draw.questions[:7], draw.questions[9]}
    assert complete_questions(draw, done.__contains__) == draw.questions[:7]
    assert complete_questions(draw, lambda question: True) == draw.questions
    assert complete_questions(draw, lambda question: False) == ()


def header(path: Path, **more: object) -> Path:
    first = {"format": "rankproof-labels", "schema": 1, "fingerprint": "f", **more}
    Path(log_path(str(path))).write_text(f"{json.dumps(first)}\n")
    return path


def test_the_draw_is_read_from_the_log_and_other_files_have_none(tmp_path: Path) -> None:
    draw = draw_questions(QUESTIONS, ["a"], "documents", 10, seed=3)
    assert read_label_draw(header(tmp_path / "drawn.qrels", draw=asdict(draw))) == draw
    assert read_label_draw(header(tmp_path / "judged.qrels")) is None
    assert read_label_draw(tmp_path / "without-log.qrels") is None


def test_a_damaged_draw_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"draw\.questions is not an array; restore the file"):
        read_label_draw(header(tmp_path / "drawn.qrels", draw={"seed": 0, "questions": "q1"}))


def test_the_documents_of_a_question_are_the_top_of_every_system_of_the_draw() -> None:
    results = small_results()
    systems = [run.name for run in results.system_runs]
    draw = draw_questions(results.queries, systems, "documents", 1)
    tops = {question: {ranked_documents(run.run)[question][0] for run in results.system_runs} for question in draw.questions}
    assert {question: set(docs) for question, docs in documents_to_label(results, draw).items()} == tops
    first = replace(draw, systems=(systems[0],))
    assert {len(docs) for docs in documents_to_label(results, first).values()} == {1}
