"""The JSON routes of grades: the state, a grade of any document, the decision so far and the plan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof._server.grading import minutes_left, open_grades, seconds_per_grade
from rankproof._server.judging_queue import QueueOptions
from support.results_server import Visitor, data_of, judged_in, many_pairs, saved, serving, unjudged
from support.small_results import small_results

GRADE = {"query": "q1", "doc": "d2", "grade": 2}


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Visitor]:
    with serving([saved(tmp_path / "results")], judge=tmp_path / "my.qrels") as visitor:
        yield visitor.enter()


def test_a_grade_given_anywhere_is_on_disk_and_counts(guest: Visitor, tmp_path: Path) -> None:
    assert guest.post("/api/r/1/grades", GRADE).json == {"grade": 2, "counts": 2, "grades": 1}
    assert judged_in(tmp_path / "my.qrels") == "q1 human:ann d2 2\n"
    grades = {row["doc"]: (row["grade"], row["by"]) for row in guest.get("/api/r/1/grades?query=q1").json["grades"]}
    assert grades == {"d1": (3, ""), "d4": (0, ""), "d2": (2, "you")}
    assert data_of(guest)["grades"] != {}


def test_a_grade_of_a_judged_document_replaces_it_and_is_taken_back(guest: Visitor) -> None:
    regrade = {**GRADE, "doc": "d1", "grade": 1}
    assert guest.post("/api/r/1/grades", regrade).json["counts"] == 1
    assert guest.post("/api/r/1/grades", {**regrade, "grade": None}).json == {"grade": None, "counts": 3, "grades": 0}
    assert guest.post("/api/r/1/grades", {**regrade, "grade": None}).status == 409


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"grade": 4}, 400, "the grade must be one of 0, 1, 2, 3"),
        ({"grade": True}, 400, "grade is not"),
        ({"query": "typed text"}, 400, "save a typed query as a test case"),
        ({"doc": "d 2"}, 400, "white space"),
        ({"doc": ""}, 400, "white space"),
        ({"assessor": "bob"}, 409, "another assessor"),
        ({"note": "x" * 1001}, 409, "the note has 1,001 characters"),
    ],
)
def test_an_invalid_grade_is_rejected_and_nothing_is_written(
    guest: Visitor, tmp_path: Path, change: dict[str, object], status: int, words: str
) -> None:
    seen = guest.post("/api/r/1/grades", {**GRADE, **change})
    assert (seen.status, words in seen.text) == (status, True), seen.text
    assert not (tmp_path / "my.qrels").exists()


def test_a_server_without_judge_says_how_to_grade_and_writes_nothing(tmp_path: Path) -> None:
    with serving([saved(tmp_path / "results")]) as visitor:
        state = visitor.enter().get("/api/r/1/grading").json
        assert (state["allowed"], "with --judge" in state["why"]) == (False, True)
        assert visitor.post("/api/r/1/grades", GRADE).status == 403
        assert visitor.get("/api/r/1/progress").status == 409


def test_the_scale_is_that_of_the_results_with_the_rubric_only_where_it_is_the_rubric(tmp_path: Path) -> None:
    folders = [saved(tmp_path / "three"), saved(tmp_path / "one", small_results(highest=1))]
    with serving(folders, judge=tmp_path / "my.qrels") as visitor:
        visitor.enter()
        three, one = (visitor.get(f"/api/r/{id}/grading").json["scale"] for id in (1, 2))
    assert [row["grade"] for row in three] == [0, 1, 2, 3]
    assert all(row["meaning"] for row in three)
    assert one == [{"grade": 0, "meaning": ""}, {"grade": 1, "meaning": ""}]


def test_hand_picked_grades_never_come_between_those_of_a_random_draw(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", unjudged(many_pairs(queries=31)))
    with serving([folder], judge=tmp_path / "my.qrels", queue=QueueOptions(questions=30), permissions=["judge"]) as visitor:
        state = visitor.enter().get("/api/r/1/grading").json
        assert (state["allowed"], "--label draws questions at random" in state["why"]) == (False, True)
        assert visitor.post("/api/r/1/grades", {**GRADE, "query": "q0"}).status == 403


def test_nobody_sees_the_grade_of_another_person_before_the_own(tmp_path: Path) -> None:
    with serving([saved(tmp_path / "results")], judge=tmp_path / "my.qrels", assessors=("ann", "bob")) as visitor:
        visitor.enter()
        assert visitor.post("/api/r/1/grades", GRADE).status == 409
        both = [Visitor(visitor.url).enter() for _ in range(2)]
        for name, person in zip(("ann", "bob"), both, strict=True):
            chosen = person.post("/r/1/assessor", {"assessor": name})
            person.cookie = f"{person.cookie}; {chosen.headers['Set-Cookie'].partition(';')[0]}"
        ann, bob = both
        ann.post("/api/r/1/grades", GRADE)
        assert [row["doc"] for row in bob.get("/api/r/1/grades?query=q1").json["grades"]] == ["d1", "d4"]
        assert bob.post("/api/r/1/grades", {**GRADE, "grade": 0}).json == {"grade": 0, "counts": 0, "grades": 1}
        assert bob.get("/api/r/1/progress").json["all_grades"] == 1


def test_the_plan_counts_queries_and_the_decision_says_when_to_stop(tmp_path: Path) -> None:
    results = unjudged(many_pairs(queries=60, docs=2))
    with serving([saved(tmp_path / "results", results)], judge=tmp_path / "my.qrels") as visitor:
        pairs = data_of(visitor.enter())["pairs"]
        first = visitor.get("/api/r/1/progress").json
        assert (first["decision"]["decided"], first["decision"]["queries"], first["grows"]) == (False, 0, True)
        plans = []
        for at, (query, doc, *_) in enumerate(pairs):
            visitor.post("/api/r/1/grades", {"query": query, "doc": doc, "grade": 3 * (doc == "d0")})
            if at in (19, 99):
                plans.append(visitor.get("/api/r/1/progress").json)
        few, enough = plans
        assert (few["decision"]["queries"], few["decision"]["needed"] >= 30) == (10, True)
        assert few["left"] == 2 * (min(few["decision"]["needed"], 60) - 10)
        assert "Not decided" in few["decision"]["sentence"]
        assert (enough["decision"]["decided"], enough["left"]) == (True, 0)
        assert enough["decision"]["limit"] == pytest.approx(0.006)
        assert enough["decision"]["sentence"].startswith("Ship one")


def test_the_pace_is_the_median_time_between_two_grades_without_breaks() -> None:
    times = [
        f"2026-01-02T03:{minute:02d}:{second:02d}Z" for minute, second in ((0, 0), (0, 10), (0, 22), (0, 30), (40, 0), (40, 11))
    ]
    assert seconds_per_grade(times) == 10.5
    assert seconds_per_grade(times[:2]) is None
    assert seconds_per_grade(["nonsense", *times[:3]]) == 11.0
    assert (minutes_left(69, 10.5), minutes_left(69, None)) == (13, None)


@pytest.mark.parametrize(("needed", "left"), [(1, 1), (2, 4), (9, 6), (None, 6)])
def test_what_is_left_is_of_the_first_queries_that_are_needed(needed: int | None, left: int) -> None:
    assert open_grades([("a", 3), ("b", 3), ("c", 2)], {"a": 2}, needed) == left
