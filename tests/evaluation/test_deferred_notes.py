"""Notes are computed when they are read, and only then."""

from __future__ import annotations

import pickle

import pytest

import rankproof as rp
from rankproof._data.view import Deferred
from rankproof._evaluation import evaluate as evaluation
from rankproof._evaluation.notes import Note

NOTE = Note("code", 1, "text")
QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1}}


def test_values_alone_compute_no_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a note was computed")

    monkeypatch.setattr(evaluation, "evaluation_notes", fail)
    result = rp.evaluate(QRELS, {"q1": {"d1": 1.0}}, "RR")
    assert result.means == {"run": {"RR": 0.5}}
    with pytest.raises(AssertionError):
        len(result.systems[0].notes)


def test_notes_are_computed_once() -> None:
    calls = []
    notes = Deferred(lambda: calls.append(1) or (NOTE,))  # type: ignore[func-returns-value]
    assert not calls
    assert (list(notes), len(notes), notes[0], notes[:1]) == ([NOTE], 1, NOTE, (NOTE,))
    assert len(calls) == 1


def test_notes_compare_with_tuples_and_survive_pickling() -> None:
    notes = Deferred(lambda: (NOTE,))
    assert notes == (NOTE,)
    assert notes != ()
    assert pickle.loads(pickle.dumps(notes)) == (NOTE,)
    assert repr(notes) == repr((NOTE,))


def test_notes_on_ties_name_other_systems_however_they_are_read() -> None:
    tied = {"q1": {"d1": 1.0, "d2": 1.0}, "q2": {"d1": 1.0}}
    qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1, "d3": 1}}
    other = {"q1": {"d2": 2.0, "d1": 1.9}, "q2": {"d1": 2.0}}
    first, second = (rp.evaluate(qrels, {"tied": tied, "other": other}, "RR") for _ in range(2))
    backwards = {system.name: tuple(system.notes) for system in reversed(second.systems)}
    assert {system.name: tuple(system.notes) for system in first.systems} == backwards
    assert [note.code for note in backwards["tied"]] == ["tied-scores"]
