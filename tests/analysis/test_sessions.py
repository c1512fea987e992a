"""Sessions as the unit of sampling: turns of one conversation never count as independent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.compare.joined_values import JoinedValues, sessions_of
from rankproof._analysis.compare.sessions import by_session
from rankproof._analysis.decision.scenarios import MissingValues
from rankproof._cli.main import main
from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Queries, Query
from rankproof._statistics.intervals import mean_interval
from rankproof._statistics.means import weighted_mean
from rankproof.measures._parse import parse_measure

TURNS = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.5, 0.0], [0.0, 1.0], [1.0, 0.0]])
SESSIONS = ("s1", "s1", "s1", "s2", "s2", "s3")


def joined(values: FloatArray = TURNS, sessions: tuple[str, ...] = SESSIONS, **more: Any) -> JoinedValues:
    queries = tuple(f"q{at}" for at in range(len(values)))
    return JoinedValues(queries, ("a", "b"), (parse_measure("EM"),), values[None], (), sessions=sessions, **more)


def test_the_mean_over_sessions_is_the_mean_over_turns() -> None:
    rows = by_session(joined())
    assert rows.queries == ("s1", "s2", "s3")
    assert rows.weights is not None
    assert rows.weights.tolist() == [3, 2, 1]
    for column, turns in zip(rows.values[0].T, TURNS.T, strict=True):
        assert weighted_mean(column, rows.weights) == pytest.approx(turns.mean())


def test_repeating_every_turn_of_a_session_narrows_nothing() -> None:
    once, often = (by_session(joined(np.repeat(TURNS, times, axis=0), tuple(np.repeat(SESSIONS, times)))) for times in (1, 5))
    intervals = [mean_interval(rows.values[0][:, 0] - rows.values[0][:, 1], weights=rows.weights) for rows in (once, often)]
    assert intervals[0] == pytest.approx(intervals[1])


def test_intervals_of_sessions_cover_the_truth_where_those_of_turns_do_not() -> None:
    random, covered, rounds, sessions, turns = np.random.default_rng(3), np.zeros(2), 400, 40, 6
    names = tuple(f"{at:03d}" for at in np.repeat(np.arange(sessions), turns))
    for _ in range(rounds):
        values = np.repeat(random.normal(size=(sessions, 2)), turns, axis=0) + random.normal(size=(sessions * turns, 2))
        for at, rows in enumerate((joined(values, names), by_session(joined(values, names)))):
            low, high = mean_interval(rows.values[0][:, 1] - rows.values[0][:, 0], weights=rows.weights) or (0.0, 0.0)
            covered[at] += low <= 0 <= high
    by_turn, by_whole_session = covered / rounds
    assert by_turn < 0.75
    assert 0.92 <= by_whole_session <= 0.98


def test_a_session_of_which_a_turn_abstains_is_partly_missing() -> None:
    none = np.zeros(TURNS.shape, dtype=bool)
    abstained = none.copy()
    abstained[1, 0] = abstained[5, 0] = True
    values = np.where(abstained, 0.0, TURNS)
    missing = by_session(joined(values, missing=MissingValues(none, abstained, none))).missing
    assert missing is not None
    assert missing.abstained[:, 0].tolist() == [False, False, True]
    assert missing.partly is not None
    assert missing.partly.abstained[:, 0] == pytest.approx([1 / 3, 0, 0])
    # Without the abstention, two of two turns are right, and with it two of three.
    assert missing.partly.without_abstained[:, 0] == pytest.approx([1 / 3, 0, 0])


def test_questions_of_different_sessions_or_of_none_are_rows_of_their_own() -> None:
    texts = Queries([Query("q1", "", fields={"session": "s"}), Query("q2", "", fields={"session": "t"}), Query("q3", "")])
    assert sessions_of(("q1", "q2", "q3"), texts) is None
    assert by_session(replace(joined(), sessions=None)).queries == tuple(f"q{at}" for at in range(len(TURNS)))


def log(folder: Path, name: str, sessions: int, turns: int, *, column: str = "session", wrong: int = 0) -> str:
    """A log in which the last `wrong` sessions have wrong answers only, the others right ones."""
    rows = [
        {
            **{"id": f"{at}/{turn}", column: f"s{at}", "turn": turn, "question": f"What is {at}, {turn}?", "contexts": ["It."]},
            **{"answer": "no" if at >= sessions - wrong else "yes", "reference": "yes"},
        }
        for at in range(sessions)
        for turn in range(1, turns + 1)
    ]
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("column", ["session", "session_id", "conversation_id"])
def test_the_decision_counts_sessions(tmp_path: Path, column: str) -> None:
    logs = [log(tmp_path, name, 12, 10, column=column, wrong=wrong) for name, wrong in (("a", 0), ("b", 2))]
    comparison = rp.compare(rp.evaluate_answers(logs, measures="EM"))
    assert (comparison.decision.sessions, comparison.n) == (12, 12)
    assert "n = 12 sessions of 120 questions" in str(comparison.decision)
    assert any("turns of a session are not independent" in note for note in comparison.notes)
    alone = rp.compare(
        rp.evaluate_answers([log(tmp_path, name, 120, 1, wrong=20 * (name == "b")) for name in "ab"], measures="EM")
    )
    assert alone.decision.decided
    assert not comparison.decision.decided


def test_answers_show_whole_sessions_and_their_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = [log(tmp_path, name, 20, 3, wrong=wrong) for name, wrong in (("a", 5), ("b", 0))]
    assert main(["answers", *logs, "-m", "EM", "--format", "json"]) == 0
    tables = {table["name"]: table["rows"] for table in json.loads(capsys.readouterr().out)["tables"]}
    by_system = {row["system"]: row for row in tables["sessions"]}
    assert (by_system["a"]["all right"], by_system["b"]["all right"]) == (0.75, 1.0)
    assert (by_system["a"]["first failure"], by_system["b"]["first failure"]) == (1.0, None)
    assert len(tables["turns"]) == 6
