"""Nuggets that a person edits and confirms: one line at a time, atomically, and nothing else of the file changes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankproof._server.nuggets_page import MAX_NUGGET_LENGTH, NuggetsFile
from rankproof.errors import RankproofError, UsageError
from support.claims_to_label import CONTEXTS, QUESTION, REFERENCE, claim_results
from support.hostile_strings import STRINGS
from support.results_server import Visitor, data_of, serving

PAGE = "/r/1/nuggets"
FIRST = {"query": "q1", "nuggets": [{"text": "It lasts 14 hours.", "importance": "okay", "docs": ["d1"]}], "confirmed": False}
LINES = (
    json.dumps(FIRST),
    "# a comment",
    '{"query":  "q2",   "nuggets": [{"text": "3 kg"}]}',
    "",
    '{"query": "other", "nuggets": [], "confirmed": false, "model": "m"}',
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "nuggets.jsonl"
    path.write_text("\n".join(LINES))
    return path


@pytest.fixture
def guest(path: Path) -> Iterator[Visitor]:
    with serving([], given={str(path.with_name("results")): claim_results()}, nuggets=path) as visitor:
        yield visitor.enter()


def questions(visitor: Visitor) -> dict[str, dict[str, Any]]:
    return {one["query"]: one for one in data_of(visitor, PAGE)["questions"]}


def change(visitor: Visitor, query: str, *nuggets: dict[str, Any], **more: Any) -> dict[str, Any]:
    version = questions(visitor)[query]["version"]
    return {"query": query, "version": version, "nuggets": list(nuggets), "confirmed": True, **more}


def test_the_page_has_every_question_with_its_text_references_and_nuggets(guest: Visitor) -> None:
    found = questions(guest)
    assert list(found) == ["q1", "q2", "other"]
    assert (found["q1"]["question"], found["q1"]["references"]) == (QUESTION, [REFERENCE])
    assert (found["q1"]["nuggets"], found["q1"]["confirmed"]) == ([["It lasts 14 hours.", "okay"]], False)
    assert (found["q2"]["nuggets"], found["q2"]["confirmed"]) == ([["3 kg", "vital"]], True)
    assert found["q1"]["passages"] == [" ".join(text.split()) for text in CONTEXTS.values()]
    assert [found["other"][key] for key in ("question", "references", "passages")] == ["", [], []]
    assert "nuggets of 1 of 3 questions confirmed" in guest.get("/").text


def test_a_confirmed_question_replaces_its_line_and_no_other(guest: Visitor, path: Path) -> None:
    kept = {"text": "  It lasts\n14 hours.", "importance": "vital", "from": 0}
    reply = guest.post(PAGE, change(guest, "q1", kept, {"text": "It weighs 3 kg.", "importance": "okay", "from": None}))
    assert reply.status == 200
    lines = path.read_text().splitlines()
    assert lines[1:] == list(LINES[1:])
    assert json.loads(lines[0]) == {
        "query": "q1",
        "nuggets": [
            {"text": "It lasts 14 hours.", "importance": "vital", "docs": ["d1"]},
            {"text": "It weighs 3 kg.", "importance": "okay"},
        ],
        "confirmed": True,
    }
    assert reply.json == questions(guest)["q1"]
    assert "nuggets of 2 of 3 questions confirmed" in guest.get("/").text


def test_a_draft_stays_a_draft_and_all_nuggets_may_be_dropped(guest: Visitor, path: Path) -> None:
    guest.post(PAGE, change(guest, "q1", {"text": "New.", "importance": "vital"}, confirmed=False))
    assert json.loads(path.read_text().splitlines()[0])["confirmed"] is False
    guest.post(PAGE, change(guest, "q2"))
    assert json.loads(path.read_text().splitlines()[2]) == {"query": "q2", "nuggets": [], "confirmed": True}


def test_a_page_that_is_out_of_date_changes_nothing(guest: Visitor, path: Path) -> None:
    body = change(guest, "q1", {"text": "Mine.", "importance": "vital"})
    path.write_text(path.read_text().replace("14 hours", "15 hours"))
    before = path.read_bytes()
    reply = guest.post(PAGE, body)
    assert (reply.status, reply.text) == (409, "the nuggets of this question were changed elsewhere; reload the page\n")
    assert path.read_bytes() == before
    assert guest.post(PAGE, {**body, "version": questions(guest)["q1"]["version"]}).status == 200


def test_one_server_at_a_time_uses_the_file(guest: Visitor, path: Path) -> None:
    with pytest.raises(UsageError, match=r"nuggets\.jsonl\.lock is in use by another rankproof serve"):
        NuggetsFile(str(path))


def test_a_server_leaves_nothing_but_the_file(path: Path) -> None:
    with serving([], given={str(path.with_name("results")): claim_results()}, nuggets=path):
        assert path.with_name("nuggets.jsonl.lock").exists()
    assert [one.name for one in path.parent.iterdir()] == ["nuggets.jsonl"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"query": "q9"}, "not in the file"),
        ({"query": 1}, "query and version must be strings"),
        ({"version": None}, "query and version must be strings"),
        ({"confirmed": "yes"}, "confirmed true or false"),
        ({"nuggets": None}, "nuggets must be a list"),
        ({"nuggets": ["text"]}, "nuggets must be a list"),
        ({"nuggets": [{"text": " \n", "importance": "vital"}]}, "a nugget must have 1 to 2000 characters"),
        ({"nuggets": [{"text": "x" * (MAX_NUGGET_LENGTH + 1), "importance": "vital"}]}, "a nugget must have 1 to 2000"),
        ({"nuggets": [{"text": 5, "importance": "vital"}]}, "a nugget must have"),
        ({"nuggets": [{"text": "x", "importance": "high"}]}, "the importance must be one of vital, okay"),
        ({"nuggets": [{"text": "x", "importance": ["vital"]}]}, "the importance must be one of vital, okay"),
    ],
)
def test_wrong_nuggets_are_refused_and_nothing_is_written(guest: Visitor, path: Path, more: Any, words: str) -> None:
    reply = guest.post(PAGE, {**change(guest, "q1"), **more})
    assert (reply.status, words in reply.text) == (400, True)
    assert path.read_text() == "\n".join(LINES)


@pytest.mark.parametrize("place", [True, -1, 1, "0", 0.0, None])
def test_a_nugget_that_names_no_nugget_of_the_file_is_a_new_one(guest: Visitor, path: Path, place: Any) -> None:
    guest.post(PAGE, change(guest, "q1", {"text": "New.", "importance": "vital", "from": place}))
    assert json.loads(path.read_text().splitlines()[0])["nuggets"] == [{"text": "New.", "importance": "vital"}]


def test_only_the_page_itself_may_change_nuggets(guest: Visitor, path: Path) -> None:
    body = change(guest, "q1")
    assert Visitor(guest.url).get(PAGE).status == 403
    assert Visitor(guest.url).post(PAGE, body).status == 403
    assert guest.post(PAGE, body, {"Origin": "http://evil.example"}).status == 403
    assert path.read_text() == "\n".join(LINES)


def test_without_a_file_there_is_no_page(tmp_path: Path) -> None:
    with serving([], given={str(tmp_path / "results"): claim_results()}) as visitor:
        assert "Nuggets" not in visitor.enter().get("/").text
        assert visitor.get(PAGE).status == 404
        assert visitor.post(PAGE, {}).status == 404


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"query": "q1"}\n', r"nuggets\.jsonl:1: nuggets is missing; write \{"),
        (b'\n{"query": 1, "nuggets": []}\n', r"nuggets\.jsonl:2: query is not text"),
        (b'{"query": "q", "nuggets": [{"text": 1}]}\n', r"nuggets\[0\]\.text is not text"),
        (b'{"query": "q", "nuggets": [{"text": "a", "importance": "high"}]}\n', "importance is not one of vital, okay"),
        (b'{"query": "q", "nuggets": [], "confirmed": 1}\n', "confirmed is not true or false"),
        (b'{"query": "q", "nuggets": []}\n' * 2, r"nuggets\.jsonl:2: query q is there twice, first on line 1"),
        (b"\xff\n", r"nuggets\.jsonl:1: this line is not UTF-8"),
        (b"[]\n", "is not an object"),
        (b'{"query": "q", "nuggets": [{"text": " "}]}\n', r"nuggets\.jsonl:1: a nugget has no text"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "nuggets.jsonl"
    path.write_bytes(content)
    with pytest.raises(RankproofError, match=words):
        NuggetsFile(str(path))


def test_a_file_that_becomes_wrong_does_not_hide_the_list(guest: Visitor, path: Path) -> None:
    path.write_text("{}\n")
    page = guest.get("/")
    assert (page.status, "nuggets.jsonl:1: query is missing" in page.text, "secret-one" in page.text) == (200, True, True)
    path.unlink()
    assert "cannot be read (No such file or directory)" in guest.get("/").text


def test_hostile_nuggets_stay_text_and_keep_their_characters(path: Path) -> None:
    texts = [text for text in STRINGS if " ".join(text.split()) and "\0" not in text]
    path.write_text(json.dumps({"query": "q1", "nuggets": [{"text": text} for text in texts], "confirmed": False}))
    with serving([], given={str(path.with_name("results")): claim_results()}, nuggets=path) as visitor:
        page = visitor.enter().get(PAGE).text
        assert not any(text in page for text in texts if "<" in text)
        shown = questions(visitor)["q1"]["nuggets"]
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x1b]", json.dumps(shown, ensure_ascii=False))
        nuggets = [{"text": text, "importance": "vital", "from": at} for at, (text, _) in enumerate(shown)]
        assert visitor.post(PAGE, change(visitor, "q1", *nuggets)).status == 200
    saved = json.loads(path.read_text())["nuggets"]
    assert len(saved) == len(texts)
    plain = [text for text in texts if text == " ".join(text.split())]
    assert set(plain) <= {one["text"] for one in saved}
