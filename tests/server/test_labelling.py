"""The page on which people label claims: what it shows, what it hides, what it saves and what it refuses."""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from rankproof._io.files import log_path
from rankproof._server.labelling import LabelOptions
from rankproof._server.server import MAX_BODY_BYTES
from support.claims_to_label import CONTEXTS, SYSTEMS, claim_results
from support.hostile_strings import STRINGS
from support.results_server import Visitor, data_of, saved, serving

LABEL = "/r/1/label"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "results", claim_results())


@pytest.fixture
def people(folder: Path) -> Path:
    return folder.with_name("results.people.jsonl")


@pytest.fixture
def guest(folder: Path) -> Iterator[Visitor]:
    with serving([folder]) as visitor:
        yield visitor.enter()


def shown(visitor: Visitor, id: str) -> dict[str, Any]:
    return dict(visitor.get(f"/r/1/claim/{id}").json)


def labels_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_page_and_every_claim_hide_the_system_the_judge_and_the_verdict(guest: Visitor) -> None:
    claims = data_of(guest, LABEL)["claims"]
    assert len(claims) == 22
    seen = [guest.get(LABEL).text, *(guest.get(f"/r/1/claim/{id}").text for id in claims)]
    guest.post(LABEL, {"claim": claims[0], "label": "supported", "evidence": []})
    seen.append(guest.post(LABEL, {"claim": claims[1], "label": "not_stated", "evidence": []}).text)
    for text in seen:
        assert not re.search("secret|overlap|0\\.125|\\blog\\b", text)


def test_a_claim_is_shown_with_its_texts_and_numbered_sentences(guest: Visitor) -> None:
    every = [shown(guest, id) for id in data_of(guest, LABEL)["claims"]]
    found = next(one for one in every if one["text"][1] == "They were replaced in 2021.")
    assert found["asked"] == "Do the contexts support the highlighted text?"
    assert (found["side"], found["claim"], found["label"], found["evidence"]) == ("Answer", None, None, [])
    assert found["text"][0] == "Sure! The batteries last 14 hours at full load. "
    assert [source["name"] for source in found["sources"]] == ["Context 1", "Context 2", "Context 3"]
    assert found["sources"][1]["sentences"] == ["Each battery weighs 1.5 kg.", "They were never replaced."]


def test_a_label_is_on_disk_when_the_page_confirms_it(guest: Visitor, people: Path) -> None:
    first, second = data_of(guest, LABEL)["claims"][:2]
    reply = guest.post(LABEL, {"claim": first, "label": "supported", "evidence": [[1, 2], [1, 1], [1, 2]]})
    assert (reply.status, reply.json) == (200, {"labels": {first: "supported"}})
    assert {(line["label"], line["person"], str(line["evidence"])) for line in labels_in(people)} == {
        ("supported", "ann", "[[1, 1], [1, 2]]")
    }
    assert shown(guest, first)["evidence"] == [[1, 1], [1, 2]]
    guest.post(LABEL, {"claim": second, "label": "nothing_to_check"})
    assert data_of(guest, LABEL)["last"] == second
    reply = guest.post("/r/1/unlabel", {"claim": second})
    assert reply.json == {"labels": {first: "supported"}}
    assert data_of(guest, LABEL)["last"] == first


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "not in the list"),
        ({"claim": "0" * 16, "label": "supported"}, "not in the list"),
        ({"claim": ["x"], "label": "supported"}, "not in the list"),
        ({"label": "failed"}, "the label must be one of supported, contradicted, not_stated, nothing_to_check"),
        ({"label": 1}, "the label must be one of"),
        ({"label": ["supported"]}, "the label must be one of"),
        ({"label": "supported", "evidence": [[9, 9]]}, "a sentence that the texts do not have"),
        ({"label": "supported", "evidence": [[1, True]]}, "evidence must be a list of pairs"),
        ({"label": "supported", "evidence": "1.1"}, "evidence must be a list of pairs"),
        ({"label": "supported", "evidence": [[1, 1, 1]]}, "evidence must be a list of pairs"),
        ({"label": "not_stated", "evidence": [[1, 1]]}, "the label not_stated has no evidence"),
    ],
)
def test_a_wrong_label_is_refused_and_nothing_is_written(guest: Visitor, people: Path, body: Any, words: str) -> None:
    first = data_of(guest, LABEL)["claims"][0]
    reply = guest.post(LABEL, {"claim": first, **body} if body else {"label": "supported"})
    assert (reply.status, words in reply.text) == (400, True)
    assert not people.exists()


def test_an_undo_without_a_label_is_refused(guest: Visitor) -> None:
    reply = guest.post("/r/1/unlabel", {"claim": data_of(guest, LABEL)["claims"][0]})
    assert (reply.status, reply.text) == (409, "this claim has no label; label it first\n")


def test_only_the_page_itself_may_label(guest: Visitor, people: Path) -> None:
    body = {"claim": data_of(guest, LABEL)["claims"][0], "label": "supported"}
    stranger = Visitor(guest.url)
    for path in (LABEL, f"/r/1/claim/{body['claim']}"):
        assert stranger.get(path).status == 403
    assert stranger.post(LABEL, body).status == 403
    assert guest.post(LABEL, body, {"Origin": "http://evil.example"}).status == 403
    assert guest.post(LABEL, body, {"Content-Type": "text/plain"}).status == 415
    assert guest.post(LABEL, {**body, "more": "x" * MAX_BODY_BYTES}).status == 413
    assert guest.get("/r/1/unlabel").status == 405
    assert guest.post(f"/r/1/claim/{body['claim']}", body).status == 405
    for path in ("/r/1/claim/..%2f", "/r/9/label", "/r/1/claim/1", "/r/1/claim/" + "f" * 65):
        assert guest.get(path).status in (400, 404)
    assert not people.exists()


def test_the_list_says_who_labelled_how_many_and_the_command(folder: Path, people: Path) -> None:
    for person, count in (("ann", 3), ("bob", 1)):
        with serving([folder], labels=LabelOptions(person, questions=1)) as visitor:
            claims = data_of(visitor.enter(), LABEL)["claims"]
            assert (len(claims), data_of(visitor, LABEL)["labels"]) == (11, {})
            for id in claims[:count]:
                visitor.post(LABEL, {"claim": id, "label": "supported"})
            page = visitor.get("/").text
    assert "11 of 1 question to label; 3 labelled by ann; 1 labelled by bob" in page
    assert f"rankproof answers {folder} --labels {people}" in page
    assert f"Label claims of log, folder {folder.name}" in page
    assert "EM: secret-one 0.000, secret-two 0.000." in page
    with serving([folder]) as visitor:
        assert 'href="/r/1/label"' in visitor.enter().get("/r/1").text


def test_results_without_claims_have_no_link_and_an_empty_page(tmp_path: Path) -> None:
    with serving([saved(tmp_path / "results")]) as visitor:
        assert "Label claims" not in visitor.enter().get("/").text
        assert "has no answers; make them with `rankproof answers`" in unescape(visitor.get(LABEL).text)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_file_in_use_or_of_other_answers_is_told_on_the_page(folder: Path, people: Path) -> None:
    with serving([folder]) as one, serving([folder]) as other:
        claims = data_of(one.enter(), LABEL)["claims"]
        for id in claims:
            one.post(LABEL, {"claim": id, "label": "supported"})
        reply = other.enter().get(LABEL)
        assert (reply.status, "is in use by another rankproof serve" in reply.text) == (422, True)
        assert f"{len(claims)} labelled by ann" in other.get("/").text
    saved(folder, claim_results(contexts={**CONTEXTS, "c1": "Nothing."}))
    with serving([folder]) as visitor:
        page = visitor.enter().get(LABEL)
        assert (page.status, "of other answers, contexts or references" in page.text) == (422, True)


def test_a_log_that_cannot_be_read_is_told_in_the_list_and_on_the_page(folder: Path, people: Path) -> None:
    with serving([folder]) as visitor:
        visitor.enter().post(LABEL, {"claim": data_of(visitor, LABEL)["claims"][0], "label": "supported"})
    log = people.with_name(f"{people.name}.log.jsonl")
    broken = {
        "hello\n": "this is not a label log",
        log.read_text().replace('"labelled"', '"undone"'): "the log undoes a label that does not exist",
        None: "Is a directory|is a folder",
    }
    with serving([folder]) as visitor:
        visitor.enter()
        for content, words in broken.items():
            log.unlink()
            log.mkdir() if content is None else log.write_text(content)
            pages = visitor.get("/"), visitor.get(LABEL)
            assert [page.status for page in pages] == [200, 422]
            assert all(re.search(words, unescape(page.text)) for page in pages)


def test_an_incomplete_line_of_the_log_is_removed_and_noted(folder: Path, people: Path) -> None:
    with serving([folder]) as visitor:
        first = data_of(visitor.enter(), LABEL)["claims"][0]
        visitor.post(LABEL, {"claim": first, "label": "supported"})
    with people.with_name(f"{people.name}.log.jsonl").open("a") as log:
        log.write('{"what": "lab')
    with serving([folder]) as visitor:
        page = visitor.enter().get(LABEL).text
        assert "ended in an incomplete line, which was removed" in page
        assert data_of(visitor, LABEL)["labels"] == {first: "supported"}


def test_two_folders_have_two_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        saved(tmp_path / name, claim_results(), name=name)
    with serving([tmp_path]) as visitor:
        visitor.enter()
        for at in (1, 2):
            visitor.post(f"/r/{at}/label", {"claim": data_of(visitor, f"/r/{at}/label")["claims"][0], "label": "supported"})
    assert {path.name for path in tmp_path.glob("*.people.jsonl")} == {"one.people.jsonl", "two.people.jsonl"}


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    text = " ".join(STRINGS).replace("\0", "")
    results = claim_results(["q1"], question=text, answers=(text, text), reference=text, contexts={"c": text})
    with serving([], given={str(tmp_path / "results"): results}) as visitor:
        page = visitor.enter().get(LABEL)
        assert not any(one in page.text for one in STRINGS if "<" in one)
        for id in data_of(visitor, LABEL)["claims"]:
            reply = visitor.get(f"/r/1/claim/{id}")
            assert reply.headers["Content-Type"] == "application/json"
            assert reply.text.isascii()
            assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x1b]", json.dumps(reply.json, ensure_ascii=False))
            assert visitor.post(LABEL, {"claim": id, "label": "supported"}).status == 200
    labels = labels_in(tmp_path / "results.people.jsonl")
    assert {line["system"] for line in labels} == set(SYSTEMS)


def test_a_page_says_that_the_log_of_labels_was_cut_and_confirms_no_label_after_it(guest: Visitor, people: Path) -> None:
    first, second, *_ = data_of(guest, LABEL)["claims"]
    assert guest.post(LABEL, {"claim": first, "label": "supported", "evidence": []}).status == 200
    log = Path(log_path(str(people)))
    log.write_bytes(log.read_bytes()[:-20])
    for reply in (guest.post(LABEL, {"claim": second, "label": "supported", "evidence": []}), guest.get(LABEL)):
        assert (reply.status >= 400, "nothing is saved" in reply.text) == (True, True)
