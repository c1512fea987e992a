"""Test cases and notes: their files, what people edit by hand, and the JSON routes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._io.files import log_path
from rankproof._results.saved_cases import read_cases
from rankproof._server.cases.files import CaseLog, NoteLog
from rankproof.errors import InputError, RankproofError, UsageError
from support.hostile_strings import STRINGS
from support.results_server import Visitor, saved, serving
from support.small_results import small_results

TYPED = {"text": "vegan  jelly", "doc": "d2"}
NOTE = {"query": "q1", "note": "no word matches", "tags": ["Synonym", "typo "]}
POSTS = ("cases", "cases/grades", "cases/remove", "notes")


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Visitor]:
    with serving([saved(tmp_path / "results")], permissions=["edit"]) as visitor:
        yield visitor.enter()


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_typed_query_with_grades_becomes_a_test_case_with_who_and_when(guest: Visitor, tmp_path: Path) -> None:
    first = guest.post("/api/r/1/cases/grades", {**TYPED, "grade": 3}).json["case"]
    assert (first["text"], first["grades"], first["least"], first["who"]) == ("vegan jelly", {"d2": 3}, None, "ann")
    guest.post("/api/r/1/cases/grades", {**TYPED, "doc": "d1", "grade": 0})
    saved_case = guest.post("/api/r/1/cases", {"text": "vegan jelly", "least": 0.63}).json["case"]
    assert (saved_case["grades"], saved_case["least"], saved_case["measure"]) == ({"d2": 3, "d1": 0}, 0.63, "nDCG@10")
    (line,) = lines(tmp_path / "cases.jsonl")
    assert {**line, "when": ""} == {
        **{"id": first["id"], "text": "vegan jelly", "grades": {"d2": 3, "d1": 0}, "dataset": "tiny", "measure": "nDCG@10"},
        **{"least": 0.63, "who": "ann", "when": ""},
    }
    assert str(line["when"]).startswith("20")
    assert [case["id"] for case in guest.get("/api/r/1/cases").json["cases"]] == [first["id"]]


def test_the_last_grade_taken_back_removes_the_case_and_so_does_its_removal(guest: Visitor, tmp_path: Path) -> None:
    for route, body in (("grades", {**TYPED, "grade": None}), ("remove", {"text": "vegan jelly"})):
        guest.post("/api/r/1/cases/grades", {**TYPED, "grade": 2})
        assert guest.post(f"/api/r/1/cases/{route}", body).json == {"case": None}
        assert (tmp_path / "cases.jsonl").read_text() == ""
    assert guest.post("/api/r/1/cases/remove", {"text": "vegan jelly"}).status == 409


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("cases/grades", {**TYPED, "grade": 9}, 400, "one of 0, 1, 2, 3"),
        ("cases/grades", {**TYPED, "text": " what is\t0? ", "grade": 1}, 409, "this is the query 'q1' of the results"),
        ("cases/grades", {**TYPED, "text": " ", "grade": 1}, 409, "1 to 2,000 characters"),
        ("cases/grades", {**TYPED, "text": "x" * 2001, "grade": 1}, 409, "1 to 2,000 characters"),
        ("cases", {"text": "never graded", "least": 0.5}, 409, "this query has no grades"),
        ("cases", {"text": "vegan jelly", "least": "much"}, 400, "least is not a number"),
        ("cases", {"text": "vegan jelly", "least": 0.5, "measure": "os:system"}, 422, "Python code"),
        ("notes", {"query": ""}, 400, "query must have 1 to"),
        ("notes", {"query": "q1", "note": "x" * 4001}, 409, "4,001 characters"),
        ("notes", {"query": "q1", "tags": ["x"] * 2 + ["y" * 61]}, 409, "at most 20 tags of 60 characters"),
    ],
)
def test_what_is_wrong_is_rejected_and_nothing_is_written(
    guest: Visitor, tmp_path: Path, path: str, body: dict[str, object], status: int, words: str
) -> None:
    seen = guest.post(f"/api/r/1/{path}", body)
    assert (seen.status, words in seen.text) == (status, True), seen.text
    assert not (tmp_path / "cases.jsonl").exists()
    assert not (tmp_path / "notes.jsonl").exists()


def test_a_note_with_tags_is_shared_by_all_results_in_the_folder(tmp_path: Path) -> None:
    with serving([saved(tmp_path / "old"), saved(tmp_path / "new")], permissions=["edit"]) as visitor:
        made = visitor.enter().post("/api/r/1/notes", NOTE).json
        assert (made["tags"], made["who"]) == (["synonym", "typo"], "ann")
        assert visitor.get("/api/r/2/notes").json["notes"] == [made]
        assert lines(tmp_path / "notes.jsonl")[0]["note"] == "no word matches"


def test_a_note_that_somebody_else_changed_is_not_overwritten(guest: Visitor) -> None:
    first = guest.post("/api/r/1/notes", NOTE).json
    changed = guest.post("/api/r/1/notes", {**NOTE, "note": "better", "version": first["version"]})
    assert changed.status == 200
    late = guest.post("/api/r/1/notes", {**NOTE, "note": "late", "version": first["version"]})
    assert (late.status, "ann changed this note in the meantime; reload the page" in late.text) == (409, True)
    assert guest.post("/api/r/1/notes", {"query": "q1", "version": changed.json["version"]}).status == 200
    assert guest.get("/api/r/1/notes").json["notes"] == []


@pytest.mark.parametrize("path", POSTS)
def test_nothing_is_written_without_edit(tmp_path: Path, path: str) -> None:
    with serving([saved(tmp_path / "results")]) as visitor:
        body = NOTE if path == "notes" else {"text": "x", **({"doc": "d", "grade": 1} if path.endswith("grades") else {})}
        seen = visitor.enter().post(f"/api/r/1/{path}", {**body, **({"least": None} if path == "cases" else {})})
        assert (seen.status, "start `rankproof serve` with --edit" in seen.text) == (403, True)
        assert visitor.get("/api/r/1/cases").json["allowed"] is visitor.get("/api/r/1/notes").json["allowed"] is False
    assert not list(tmp_path.glob("*.jsonl*"))


@pytest.mark.parametrize("path", [*POSTS, "grades"])
@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Origin": None}, {"Host": "evil.example"}, {"Cookie": ""}]
)
def test_no_request_of_another_site_changes_anything(guest: Visitor, path: str, headers: dict[str, str | None]) -> None:
    assert guest.post(f"/api/r/1/{path}", {**NOTE, **TYPED, "grade": 1}, headers).status in (403, 421)


@pytest.mark.parametrize("path", ["cases", "notes", "grades?query=q1", "grading", "progress"])
@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Cookie": ""}, {"Sec-Fetch-Site": "cross-site"}])
def test_no_request_of_another_site_reads_anything(guest: Visitor, path: str, headers: dict[str, str | None]) -> None:
    assert guest.get(f"/api/r/1/{path}", headers).status in (403, 421)


def test_people_who_grade_the_same_query_at_once_lose_nothing(tmp_path: Path) -> None:
    with serving([saved(tmp_path / "results")], permissions=["edit"]) as visitor:
        visitor.enter()
        bodies = [{"text": "vegan jelly", "doc": f"d{at}", "grade": at % 4} for at in range(40)]
        with ThreadPoolExecutor(8) as threads:
            statuses = [reply.status for reply in threads.map(lambda body: visitor.post("/api/r/1/cases/grades", body), bodies)]
    assert set(statuses) == {200}
    (case,) = read_cases(tmp_path / "cases.jsonl")
    assert case.grades == {f"d{at}": at % 4 for at in range(40)}


def test_hostile_texts_come_back_as_they_are(tmp_path: Path) -> None:
    texts = [text for text in STRINGS if text.strip() and "\0" not in text and text.isprintable()]
    assert len(texts) > 20
    with serving([saved(tmp_path / "results")], permissions=["edit"]) as visitor:
        visitor.enter()
        for text in texts:
            assert visitor.post("/api/r/1/cases/grades", {"text": text, "doc": text, "grade": 1}).status == 200
            assert visitor.post("/api/r/1/notes", {"query": text, "note": text}).status == 200
        rows = visitor.get("/api/r/1/cases").json["cases"]
    assert [row["text"] for row in rows] == list(dict.fromkeys(" ".join(text.split()) for text in texts))
    assert {case.text for case in read_cases(tmp_path / "cases.jsonl")} == {row["text"] for row in rows}


def test_the_cases_of_another_dataset_stay_apart(tmp_path: Path) -> None:
    other = replace(small_results(highest=3), provenance={"dataset": "other"})
    with serving([saved(tmp_path / "a"), saved(tmp_path / "b", other)], permissions=["edit"]) as visitor:
        visitor.enter().post("/api/r/1/cases/grades", {**TYPED, "grade": 3})
        assert visitor.get("/api/r/2/cases").json["cases"] == []
        visitor.post("/api/r/2/cases/grades", {**TYPED, "grade": 1})
        assert visitor.get("/api/r/1/cases").json["cases"][0]["grades"] == {"d2": 3}


def test_a_file_that_people_edited_is_read_again_and_its_log_follows(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"text": "by hand", "grades": {"d1": 2}}\n\n', encoding="utf-8")
    log = CaseLog(str(path))
    log.grade("tiny", "by hand", "d2", 1, "ann", "nDCG@10")
    with pytest.raises(UsageError, match="in use by another rankproof serve"):
        CaseLog(str(path))
    path.write_text(path.read_text(encoding="utf-8").replace('"d2": 1', '"d2": 0'), encoding="utf-8")
    with pytest.raises(RankproofError, match="changed by another program; restart `rankproof serve`, which reads the file again"):
        log.grade("tiny", "by hand", "d3", 1, "ann", "nDCG@10")
    log.close()
    again = CaseLog(str(path))
    assert [case.grades for case in again.cases("tiny")] == [{"d1": 2, "d2": 0}]
    again.close()
    assert len(Path(log_path(str(path))).read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"text": "x"}', "grades is missing; correct the line, or remove it"),
        ('{"text": "x", "grades": {}}', "grades is empty; grade at least one document, or remove the line"),
        ('{"text": " ", "grades": {"d": 1}}', "text is empty; write the query, or remove the line"),
        ('{"text": "x", "grades": {"d": "1"}}', "grades.d is not a whole number; correct the line, or remove it"),
        ('{"text": "x", "grades": {"d": 1}, "measure": "nope"}', "measure: "),
        ('{"text": "x", "grades": {"d": 1}, "measure": "os:system"}', "Python code"),
        ('{"text": "a", "grades": {"d": 1}}', "occurs twice (first at line 1); remove one, or change its id"),
        ('{"text": "x", "grades": {"d": 1, "d": 2}}', "d"),
        ("[1]", "the document is not an object; correct the line, or remove it"),
        ("{", ":2:"),
    ],
)
def test_a_malformed_line_is_an_error_with_its_number_and_the_fix(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(f'{{"text": "a", "grades": {{"d": 1}}}}\n{line}\n', encoding="utf-8")
    for read in (read_cases, lambda file: CaseLog(str(file))):
        with pytest.raises(InputError) as error:
            read(path)
        assert str(error.value).startswith(f"{path}:2:")
        assert words in str(error.value)


def test_a_malformed_note_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"query": "q1"}\n{"note": "x"}\n', encoding="utf-8")
    with serving([saved(tmp_path / "results")]) as visitor:
        seen = visitor.enter().get("/api/r/1/notes")
    assert (seen.status, "notes.jsonl:2: query is missing; correct the line, or remove it" in seen.text) == (422, True)


def test_an_unfinished_record_of_a_killed_server_is_dropped_and_all_confirmed_ones_stay(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    log = NoteLog(str(path))
    log.save("tiny", "q1", "kept", [], "ann", "")
    before = path.read_bytes()
    log.save("tiny", "q2", "kept too", [], "ann", "")
    log.close()
    path.write_bytes(before)  # As a kill between the two writes leaves it.
    with Path(log_path(str(path))).open("ab") as file:
        file.write(b'{"what": "saved", "que')
    again = NoteLog(str(path))
    assert [note.note for note in again.notes("tiny")] == ["kept", "kept too"]
    again.close()
    assert [line["note"] for line in lines(path)] == ["kept", "kept too"]
