"""The labels of people on disk: whole, of several people, and of the claims that they saw."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._data.claims import Claim
from rankproof._data.dataset import Queries
from rankproof._formats.claims import claim_key, read_labels
from rankproof._io.files import log_path
from rankproof._io.open import open_source
from rankproof._results.label_tasks import ClaimItem
from rankproof._server import logged_file
from rankproof._server.label_log import LabelLog, labels_by_person
from rankproof.errors import ExternalError, RankproofError, UsageError
from support.claims_to_label import ANSWERS, SYSTEMS, claim_results, queue_of, with_claims

QUEUE = queue_of(claim_results())
DATA = QUEUE.fingerprint
NOON = "2026-01-02T03:04:05Z"


def item(side: str, against: str, n: int = 1, system: str = SYSTEMS[0]) -> ClaimItem:
    (found,) = (
        one
        for one in QUEUE.items.values()
        if (one.query, one.claim.side, one.against, one.claim.n) == ("q1", side, against, n) and system in one.systems
    )
    return found


ONE, TWO = item("answer", "contexts", 2), item("answer", "contexts", 3)


@contextmanager
def opened(path: Path, person: str = "ann") -> Iterator[LabelLog]:
    log = LabelLog(str(path), person, clock=lambda: NOON)
    try:
        yield log
    finally:
        log.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.people.jsonl"


def labels_in(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def short(path: Path) -> list[tuple[object, ...]]:
    return [(line["person"], line["n"], line["label"]) for line in labels_in(path)]


def test_a_label_is_a_line_with_the_claim_the_person_and_the_time(path: Path) -> None:
    with opened(path) as log:
        log.save(ONE, "supported", ((1, 2), (2, 1)), DATA)
        assert labels_in(path) == [
            {
                **{"query": "q1", "system": "secret-one", "side": "answer", "n": 2, "against": "contexts"},
                **{"text": "The batteries last 14 hours at full load.", "label": "supported", "person": "ann", "when": NOON},
                "evidence": [[1, 2], [2, 1]],
            }
        ]
        log.save(TWO, "contradicted", (), DATA)
    assert "evidence" not in labels_in(path)[1]


def test_systems_with_the_same_texts_get_a_line_each_from_one_label(path: Path) -> None:
    shared = item("reference", "contexts")
    with opened(path) as log:
        log.save(shared, "not_stated", (), DATA)
    assert [line["system"] for line in labels_in(path)] == list(SYSTEMS)
    assert labels_by_person(str(path)) == {"ann": 1}


def test_the_reference_is_named_where_it_is_not_the_first(path: Path) -> None:
    with opened(path) as log:
        log.save(replace(ONE, claim=replace(ONE.claim, reference=2)), "supported", (), DATA)
    assert labels_in(path)[0]["reference"] == 2


def test_people_have_their_own_labels_in_one_file(path: Path) -> None:
    with opened(path) as log:
        log.save(ONE, "supported", (), DATA)
        log.save(TWO, "supported", (), DATA)
    with opened(path, "bob") as log:
        assert (log.label(ONE.id), log.last(QUEUE)) == (None, None)
        log.save(ONE, "contradicted", (), DATA)
        assert log.last(QUEUE) == ONE.id
    assert short(path) == [("ann", 2, "supported"), ("ann", 3, "supported"), ("bob", 2, "contradicted")]
    assert labels_by_person(str(path)) == {"ann": 2, "bob": 1}
    with opened(path) as log:
        assert log.last(QUEUE) == TWO.id


def test_undo_restores_the_previous_label_with_its_evidence_and_then_none(path: Path) -> None:
    with opened(path) as log:
        log.save(ONE, "supported", ((1, 2),), DATA)
        log.save(ONE, "not_stated", (), DATA)
        log.undo(ONE, DATA)
        found = log.label(ONE.id)
        assert found is not None
        assert (found.label, found.evidence) == ("supported", ((1, 2),))
        log.undo(ONE, DATA)
        assert (log.label(ONE.id), log.last(QUEUE), path.read_text()) == (None, None, "")
        with pytest.raises(UsageError, match="this claim has no label"):
            log.undo(ONE, DATA)


def test_undo_never_takes_the_label_of_another_person(path: Path) -> None:
    with opened(path) as log:
        log.save(ONE, "supported", (), DATA)
    with opened(path, "bob") as log, pytest.raises(UsageError, match="this claim has no label"):
        log.undo(ONE, DATA)
    assert short(path) == [("ann", 2, "supported")]


def test_a_write_may_be_interrupted_at_any_byte_and_confirmed_labels_stay(path: Path) -> None:
    with opened(path) as log:
        log.save(ONE, "supported", ((1, 2),), DATA)
        before, first = path.read_bytes(), len(Path(log_path(str(path))).read_bytes())
        log.save(item("reference", "contexts"), "not_stated", (), DATA)
        after = path.read_bytes()
    log_file = Path(log_path(str(path)))
    whole = log_file.read_bytes()
    for size in range(first, len(whole) + 1, 3):
        for content in (before, after) if size == len(whole) else (before,):
            log_file.write_bytes(whole[:size])
            path.write_bytes(content)
            with opened(path) as log:
                assert log.label(ONE.id) is not None
                assert path.read_bytes() == (after if size == len(whole) else before)


def test_a_label_that_cannot_be_written_is_not_saved(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise ExternalError("the disk is full")

    with opened(path) as log:
        log.save(ONE, "supported", (), DATA)
        with monkeypatch.context() as patch:
            patch.setattr(logged_file, "write_blocks", full)
            with pytest.raises(ExternalError):
                log.save(TWO, "supported", (), DATA)
        assert log.label(TWO.id) is None
    assert short(path) == [("ann", 2, "supported")]


def test_labels_of_other_answers_are_refused(path: Path) -> None:
    with opened(path) as log:
        log.save(ONE, "supported", (), DATA)
    changed = queue_of(claim_results(answers=(ANSWERS[0] + " More.", ANSWERS[1])))
    with opened(path) as log:
        log.check_claims(QUEUE)
        with pytest.raises(UsageError, match=r"people\.jsonl has 1 label of other answers, contexts or references; restart"):
            log.check_claims(changed)
        with pytest.raises(UsageError, match="has labels of other questions"):
            log.save(TWO, "supported", (), "e" * 64)


def test_labels_stay_when_references_nuggets_and_tables_are_added(path: Path) -> None:
    results = claim_results()
    with opened(path) as log:
        log.save(ONE, "supported", (), DATA)
        fields = {"answers": ["Another."], "nuggets": [{"text": "14 hours"}]}
        texts = Queries([replace(query, fields=fields) for query in results.texts.values()])
        some = [one for one in results.claims if one.claim.side == "answer"]
        log.check_claims(queue_of(with_claims(replace(results, texts=texts), some)))


def test_one_writer_at_a_time_and_no_file_of_somebody_else(path: Path) -> None:
    with opened(path), pytest.raises(UsageError, match="is in use by another rankproof serve"):
        LabelLog(str(path), "bob")
    path.write_text('{"query": "q1"}\n')
    with pytest.raises(UsageError, match=r"people\.jsonl exists without a label log and is not changed"):
        LabelLog(str(path), "ann")
    assert path.read_text() == '{"query": "q1"}\n'


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"rankproof-labels"', '"rankproof-judgements"', "this is not a label log"),
        ('"schema": 1', '"schema": 99', "this label log has an unknown format"),
        ('"label": "supported"', '"label": "true"', r"log\.jsonl:2: label is not one of supported"),
        ('"evidence": [[1, 2]]', '"evidence": [[1, "2"]]', r"log\.jsonl:2: evidence\[0\]\[1\] is not a whole number"),
        ('"labelled"', '"undone"', "the log undoes a label that does not exist"),
    ],
)
def test_a_damaged_log_is_an_error(path: Path, old: str, new: str, words: str) -> None:
    with opened(path) as log:
        log.save(ONE, "supported", ((1, 2),), DATA)
    log_file = Path(log_path(str(path)))
    assert old in log_file.read_text()
    log_file.write_text(log_file.read_text().replace(old, new))
    with pytest.raises(RankproofError, match=words):
        LabelLog(str(path), "ann")


def test_invisible_characters_and_lone_surrogates_are_escaped_in_the_file(path: Path) -> None:
    text = "a\u202eb\udc80c\u2028é"
    with opened(path) as log:
        log.save(replace(ONE, claim=replace(ONE.claim, text=text)), "supported", (), DATA)
    assert rb'"text": "a\u202eb\udc80c\u2028' + "é".encode() in path.read_bytes()
    assert labels_in(path)[0]["text"] == text


def test_the_file_is_read_as_labels_also_of_sentences_and_written_claims_with_the_same_number(path: Path) -> None:
    results = claim_results(["q1"])
    sentence = next(one for one in results.claims if one.against == "contexts")
    written = replace(sentence, claim=Claim("answer", sentence.claim.n, "It lasts for 14 hours"), judge="llm:tiny:0123")
    queue = queue_of(with_claims(results, [sentence, written]))
    assert len(queue.items) == 2
    with opened(path) as log:
        for one in queue.items.values():
            log.save(one, "supported", ((1, 2),), queue.fingerprint)
    found = read_labels(open_source(path))
    assert {label.text for label in found.labels} == {sentence.claim.text, "It lasts for 14 hours"}
    assert {(label.key, label.person, label.when) for label in found.labels} == {(claim_key(sentence), "ann", NOON)}
