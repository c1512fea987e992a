"""Labelling whole questions of a random draw, documents and claims: what is drawn, kept, continued and refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._io.files import log_path
from rankproof._results.decision_settings import DecisionSettings
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.label_tasks import draw_documents, read_label_draw
from rankproof._server.judging_queue import DocumentTexts, JudgingQueue, QueueOptions, build_draw_queue, new_draw
from rankproof.errors import UsageError
from support.claims_to_label import claim_results
from support.results_server import Visitor, data_of, judged_by_machine, many_pairs, saved, serving, unjudged


def queue_of(results: ExperimentResult, questions: int = 3, seed: int = 0) -> JudgingQueue:
    return build_draw_queue(results, DocumentTexts(), new_draw(results, seed), questions)


RESULTS = judged_by_machine(many_pairs(queries=12, docs=14))


def test_every_document_at_the_top_of_a_system_is_asked_question_by_question() -> None:
    queue = queue_of(RESULTS)
    # Of 14 documents the second system ranks each one place later: the top 10 of both are 11.
    assert (queue.pool, queue.sizes, len(queue.items)) == (10, (11, 11, 11), 33)
    questions = new_draw(RESULTS, 0).questions
    assert list(dict.fromkeys(query for query, _ in queue.items)) == list(questions[:3])
    assert {item.system_ranks for item in queue.items.values()} == {""}
    assert list(queue_of(RESULTS, 5).items)[:33] == list(queue.items)
    orders = [[doc for query, doc in queue.items if query == question] for question in questions[:3]]
    assert orders[0] != orders[1] != orders[2]
    assert set(queue_of(RESULTS, seed=1).items) != set(queue.items)


def test_the_measure_that_decides_says_how_many_documents_are_asked() -> None:
    shallow = replace(RESULTS, decision_settings=DecisionSettings(primary="nDCG@3"))
    assert (queue_of(shallow).pool, queue_of(shallow).sizes) == (3, (4, 4, 4))
    assert queue_of(unjudged(RESULTS)).pool == 10


def test_a_document_without_a_text_is_asked_too_and_results_without_texts_are_refused() -> None:
    some = replace(RESULTS, snippets={doc: text for doc, text in RESULTS.snippets.items() if doc != "d0"})
    passages = [item.passage for item in queue_of(some).items.values() if item.doc == "d0"]
    assert passages == ["This document has no text."] * 3
    with pytest.raises(UsageError, match="has no texts of documents; pass the dataset"):
        queue_of(replace(RESULTS, snippets={}))


def test_judgements_of_people_need_no_labels_and_results_without_rankings_have_none() -> None:
    with pytest.raises(UsageError, match="are people's: there is no machine judge to check; judge unjudged documents with"):
        draw_documents(many_pairs(), 10)
    bare = replace(RESULTS, system_runs=tuple(replace(run, stored_run=None) for run in RESULTS.system_runs))
    with pytest.raises(UsageError, match="has neither claims of answers nor rankings"):
        draw_documents(bare, 10)


def grade(visitor: Visitor, places: range) -> None:
    pairs = data_of(visitor.enter())["pairs"]
    for query, doc, *_ in (pairs[place] for place in places):
        assert visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": 1}).status == 200


def test_the_draw_is_kept_with_the_first_grade_and_more_questions_continue_it(tmp_path: Path) -> None:
    folder, file = saved(tmp_path / "results", RESULTS), tmp_path / "my.qrels"
    with serving([folder], judge=file, queue=QueueOptions(questions=2)) as visitor:
        grade(visitor, range(5))
        assert "for 2 questions drawn at random" in visitor.get("/r/1/judge").text
    assert read_label_draw(file) == new_draw(RESULTS, 0)
    with serving([folder], judge=file, queue=QueueOptions(seed=7, questions=4)) as visitor:
        data = data_of(visitor.enter())
    assert (data["sizes"], len(data["grades"])) == ([11] * 4, 5)
    assert [pair[:2] for pair in data["pairs"]] == [list(pair) for pair in queue_of(RESULTS, 4).items]


def test_thirty_questions_are_needed_and_not_as_many_as_their_documents(tmp_path: Path) -> None:
    with serving([saved(tmp_path / "results", RESULTS)], judge=tmp_path / "my.qrels", queue=QueueOptions(questions=2)) as visitor:
        grade(visitor, range(11))
        decision = json.loads(visitor.get("/api/r/1/progress").text)["decision"]
    assert (decision["decided"], decision["queries"], decision["needed"]) == (False, 1, 30)


def test_a_file_of_judged_pairs_or_of_other_systems_is_not_continued(tmp_path: Path) -> None:
    folder, file = saved(tmp_path / "results", RESULTS), tmp_path / "my.qrels"
    with serving([folder], judge=file, queue=QueueOptions(questions=1)) as visitor:
        grade(visitor, range(1))
    fewer = replace(
        RESULTS, system_runs=RESULTS.system_runs[:1], result=replace(RESULTS.result, systems=RESULTS.result.systems[:1])
    )
    with serving([saved(tmp_path / "fewer", fewer)], judge=file, queue=QueueOptions(questions=1)) as visitor:
        assert "has labels of other systems (one, two); restart with another file" in refusal(visitor)
    deeper = replace(RESULTS, decision_settings=DecisionSettings(primary="nDCG@12"))
    with serving([saved(tmp_path / "deeper", deeper)], judge=file, queue=QueueOptions(questions=1)) as visitor:
        assert "has labels of the top 10 documents, and the top 12 decide" in refusal(visitor)
    pairs = tmp_path / "pairs.qrels"
    with serving([folder], judge=pairs) as visitor:
        grade(visitor, range(1))
    assert read_label_draw(pairs) is None
    with serving([folder], judge=pairs, queue=QueueOptions(questions=1)) as visitor:
        assert "has judgements that are not a random draw of questions" in refusal(visitor)


def test_the_decision_counts_complete_questions_alone(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", unjudged(RESULTS))
    with serving([folder], judge=tmp_path / "my.qrels", queue=QueueOptions(questions=2)) as visitor:
        grade(visitor, range(5))
        page = visitor.get("/r/1/decision")
        assert (page.status, "no question is complete; judge all documents of the first question" in page.text) == (422, True)
        grade(visitor, range(5, 15))
        assert "1 query" in visitor.get("/r/1/decision").text


def test_grades_of_drawn_questions_check_the_judge_at_once(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", RESULTS)
    with serving([folder], judge=tmp_path / "results.people.qrels", queue=QueueOptions(questions=2)) as visitor:
        grade(visitor, range(5))
        assert "By m (not checked by people), " in visitor.get("/r/1/decision").text
        grade(visitor, range(5, 15))
        for path in ("/", "/r/1", "/r/1/decision"):
            assert "Not decided: 1 of 12 questions is labelled, and a decision needs 30 (29 more)." in visitor.get(path).text


def test_every_page_takes_up_the_labels_of_a_judge_at_once(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", RESULTS)
    with serving([folder], judge=tmp_path / "results.people.qrels", queue=QueueOptions(questions=2)) as visitor:
        pages = ("/", "/r/1", "/r/1/decision")
        assert all("By m (not checked by people)" in visitor.enter().get(page).text for page in pages[:2])
        for labelled in ("1 of 12 questions is labelled", "2 of 12 questions are labelled"):
            grade(visitor, range(11) if labelled.startswith("1") else range(11, 22))
            assert [labelled in visitor.get(page).text for page in pages] == [True] * 3


def refusal(visitor: Visitor) -> str:
    page = visitor.enter().get("/r/1/judge")
    assert page.status == 422
    return page.text


def test_labels_of_claims_keep_their_draw_too(tmp_path: Path) -> None:
    results = claim_results([f"q{number}" for number in range(5)])
    folder, file = saved(tmp_path / "results", results), tmp_path / "results.people.jsonl"
    with serving([folder]) as visitor:
        data = data_of(visitor.enter(), "/r/1/label")
        assert visitor.post("/r/1/label", {"claim": data["claims"][0], "label": "supported"}).status == 200
    draw = read_label_draw(file)
    assert draw is not None
    assert (draw.kind, draw.of, len(draw.questions), draw.depth) == ("claims", 5, 5, None)
    log = Path(log_path(str(file)))
    log.write_text(log.read_text().replace('"systems": ["secret-one", "secret-two"], "kind"', '"systems": ["old"], "kind"'))
    with serving([folder]) as visitor:
        page = visitor.enter().get("/r/1/label")
    assert (page.status, "has labels of other systems (old); restart with another file" in page.text) == (422, True)
