"""Two answers side by side: claims and evidence, labels in place, and preferences that nobody can bias."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof._results.label_tasks import label_files, read_label_draw
from rankproof._server.answers.preference_log import PreferenceLog
from rankproof.errors import InputError
from support.claims_to_label import ANSWERS, CONTEXTS, REFERENCE, SYSTEMS, claim_results
from support.results_server import Visitor, saved, serving
from support.small_results import small_results

ONE, TWO = SYSTEMS
QUERIES = [f"q{at}" for at in range(1, 41)]
PAIR = f"/api/r/1/answers/pair?query=q1&a={ONE}&b={TWO}"


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Visitor]:
    with serving([saved(tmp_path / "results", claim_results(QUERIES))], permissions=["edit"]) as visitor:
        yield visitor.enter()


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_two_answers_come_with_claims_evidence_and_the_texts_they_were_given(guest: Visitor) -> None:
    pair = guest.get(PAIR).json
    assert pair["references"] == [REFERENCE]
    for side, text in zip(pair["sides"], ANSWERS, strict=True):
        assert "".join(part["text"] for part in side["parts"]) == text
        assert {part["claim"] for part in side["parts"] if part["claim"]} == {claim["id"] for claim in side["claims"]}
        assert {claim["verdict"] for claim in side["claims"]} == {"contradicted"}
        assert {claim["against"] for claim in side["claims"]} == {"contexts"}
        assert [" ".join(source["sentences"]) for source in side["sources"]] == [
            " ".join(text.split()) for text in CONTEXTS.values()
        ]


def test_a_label_in_place_is_kept_apart_from_labels_of_a_random_draw(guest: Visitor, tmp_path: Path) -> None:
    claim = guest.get(PAIR).json["sides"][0]["claims"][1]["id"]
    body = {"query": "q1", "system": ONE, "claim": claim, "label": "supported"}
    assert guest.post("/api/r/1/answers/label", body).json == {"label": "supported"}
    assert [label["label"] for label in guest.get(PAIR).json["sides"][0]["claims"]] == [None, "supported", None]
    path = tmp_path / "results.chosen.jsonl"
    assert (lines(path)[0]["label"], lines(path)[0]["person"]) == ("supported", "ann")
    assert read_label_draw(path) is None
    assert not any(Path(file).exists() for file in label_files(str(tmp_path / "results")))
    assert guest.post("/api/r/1/answers/label", {**body, "label": None}).json == {"label": None}
    assert guest.post("/api/r/1/answers/label", {**body, "claim": "0" * 16}).status == 400
    assert guest.post("/api/r/1/answers/label", {**body, "label": "good"}).status == 400


def test_a_preference_names_no_system_before_it_is_given_and_the_sides_are_random(guest: Visitor, tmp_path: Path) -> None:
    for done in range(len(QUERIES)):
        seen = guest.get("/api/r/1/answers/duel")
        assert not any(name in seen.text for name in (*SYSTEMS, "secret"))
        assert (seen.json["done"], seen.json["of"]) == (done, len(QUERIES))
        choice = "first" if seen.json["first"] == ANSWERS[0] else "second"
        guest.post("/api/r/1/answers/duel", {"key": seen.json["key"], "preferred": choice if done else "tie"})
    assert guest.get("/api/r/1/answers/duel").json["key"] == ""
    made = lines(tmp_path / "preferences.jsonl")
    assert {line["query"] for line in made} == set(QUERIES)
    assert [line["query"] for line in made] != QUERIES
    assert [line["preferred"] for line in made].count(ONE) == len(QUERIES) - 1
    assert 10 < sum(line["first"] == ONE for line in made) < 30
    assert set(made[0]) == {"query", "a", "b", "preferred", "first", "answers", "dataset", "who", "when"}
    (counts,) = guest.get("/api/r/1/answers/counts").json["pairs"]
    assert counts == {"a": ONE, "b": TWO, "a_preferred": 39, "b_preferred": 0, "ties": 1}


def test_a_preference_is_taken_back_and_survives_a_restart(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", claim_results(QUERIES[:2]))
    with serving([folder], permissions=["edit"]) as visitor:
        key = visitor.enter().get("/api/r/1/answers/duel").json["key"]
        assert visitor.post("/api/r/1/answers/duel", {"key": key, "preferred": "first"}).json["done"] == 1
        assert visitor.post("/api/r/1/answers/duel", {"key": key, "preferred": None}).json["key"] == key
        assert visitor.post("/api/r/1/answers/duel", {"key": key, "preferred": None}).status == 409
        visitor.post("/api/r/1/answers/duel", {"key": key, "preferred": "second"})
    with serving([folder], permissions=["edit"]) as visitor:
        assert visitor.enter().get("/api/r/1/answers/duel").json["done"] == 1


def test_equal_answers_and_answers_that_changed_since_are_not_compared(tmp_path: Path) -> None:
    same = saved(tmp_path / "same", claim_results(QUERIES[:2], answers=(ANSWERS[0], ANSWERS[0])))
    with serving([same], permissions=["edit"]) as visitor:
        assert visitor.enter().get("/api/r/1/answers/duel").json["of"] == 0
    with serving([saved(tmp_path / "old", claim_results(QUERIES[:2]))], permissions=["edit"]) as visitor:
        key = visitor.enter().get("/api/r/1/answers/duel").json["key"]
        visitor.post("/api/r/1/answers/duel", {"key": key, "preferred": "first"})
    new = saved(tmp_path / "new", claim_results(QUERIES[:2], answers=(ANSWERS[0], "Another answer.")))
    with serving([new], permissions=["edit"]) as visitor:
        assert visitor.enter().get("/api/r/1/answers/duel").json["done"] == 0
        assert visitor.get("/api/r/1/answers/counts").json == {"pairs": []}
        assert visitor.post("/api/r/1/answers/duel", {"key": key, "preferred": "first"}).status == 409


@pytest.mark.parametrize("path", ["label", "duel"])
def test_nothing_is_written_without_edit_or_by_another_site(tmp_path: Path, guest: Visitor, path: str) -> None:
    bodies = {"label": {"query": "q1", "system": ONE, "claim": "x", "label": None}, "duel": {"key": "x", "preferred": None}}
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Cookie": ""}):
        assert guest.post(f"/api/r/1/answers/{path}", bodies[path], headers).status in (403, 421)
    with serving([saved(tmp_path / "other" / "results", claim_results())]) as visitor:
        assert visitor.enter().post(f"/api/r/1/answers/{path}", bodies[path]).status == 403
        assert visitor.get("/api/r/1/answers").json["allowed"] is False
        assert visitor.get(PAIR).status == 200
        assert visitor.get("/r/1/answers").status == 200


def test_results_without_answers_have_no_such_page(tmp_path: Path) -> None:
    with serving([saved(tmp_path / "results", small_results())]) as visitor:
        assert visitor.enter().get("/api/r/1/answers").status == 404
        assert "/r/1/answers" not in visitor.get("/").text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"preferred": "c"}, "preferred is c; write one of a, b, tie"),
        ({"first": "tie"}, "first is tie; write one of a, b"),
        ({"query": 1}, "query is not text; correct the line, or remove it"),
    ],
)
def test_a_malformed_preference_is_an_error_with_its_line(tmp_path: Path, change: dict[str, object], words: str) -> None:
    line = {"query": "q", "a": "a", "b": "b", "preferred": "a", "first": "b", "answers": "0"}
    path = tmp_path / "preferences.jsonl"
    path.write_text(f"{json.dumps(line)}\n{json.dumps({**line, **change})}\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        PreferenceLog(str(path))
    assert str(error.value) == f"{path}:2: {words}"
