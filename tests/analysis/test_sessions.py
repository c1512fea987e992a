"""Measures of whole sessions, and intervals that count sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._analysis.compare.counted_queries import sessions_of
from rankproof._cli.main import main
from rankproof._data.dataset import Queries, Query


def test_questions_of_different_sessions_or_of_none_are_independent() -> None:
    texts = Queries([Query("q1", "", fields={"session": "s"}), Query("q2", "", fields={"session": "t"}), Query("q3", "")])
    assert sessions_of(("q1", "q2", "q3"), texts) is None


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
def test_plain_logs_name_their_conversations(tmp_path: Path, column: str) -> None:
    logs = [log(tmp_path, name, 12, 10, column=column, wrong=wrong) for name, wrong in (("a", 0), ("b", 2))]
    comparison = rp.compare(rp.evaluate_answers(logs, measures="EM"))
    assert any("12 conversations" in note for note in comparison.notes)
    assert not comparison.decision.decided


def test_answers_show_whole_sessions_and_their_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = [log(tmp_path, name, 20, 3, wrong=wrong) for name, wrong in (("a", 5), ("b", 0))]
    assert main(["answers", *logs, "-m", "EM", "--format", "json"]) == 0
    tables = {table["name"]: table["rows"] for table in json.loads(capsys.readouterr().out)["tables"]}
    by_system = {row["system"]: row for row in tables["sessions"]}
    assert (by_system["a"]["all right"], by_system["b"]["all right"]) == (0.75, 1.0)
    assert (by_system["a"]["first failure"], by_system["b"]["first failure"]) == (1.0, None)
    assert len(tables["turns"]) == 6


def test_repeating_the_turns_of_each_session_narrows_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    intervals = []
    for turns in (1, 8):
        assert main(["answers", log(tmp_path, f"t{turns}", 20, turns, wrong=5), "-m", "EM", "--format", "json"]) == 0
        tables = {table["name"]: table["rows"] for table in json.loads(capsys.readouterr().out)["tables"]}
        intervals.append([value for key, value in tables["answer measures"][0].items() if isinstance(value, list)])
    assert intervals[0]
    assert intervals[0][0] == pytest.approx(intervals[1][0])


def test_sessions_by_an_unchecked_judge_have_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log(tmp_path, "a", 20, 3)
    for measure, warned in (("ClaimF1", True), ("EM", False)):
        assert main(["answers", path, "-m", measure]) == 0
        assert ("Nobody has checked overlap: wrong turns may be right by it." in capsys.readouterr().out) == warned
