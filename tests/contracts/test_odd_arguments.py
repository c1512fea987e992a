"""Public functions with arguments of another type, and logs without any value: a documented error or a result, no traceback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import rankproof as rp

QRELS, RUN = {"q1": {"d1": 1}}, {"q1": {"d1": 0.5}}
ROW = {"id": "1", "question": "q?", "answer": "<b>", "contexts": ["<b>"], "reference": "<b>"}
Call = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("call", "value", "words"),
    [
        (rp.Answers, {"q1": "text"}, "an answer is a str; pass {query: Answer"),
        (rp.Answers, ["text"], "answers cannot be a list"),
        (lambda value: rp.Answers({}, repeats=value), {"q1": ["text"]}, "an answer is a str"),
        (rp.Queries, [{"id": "q1"}], "a record is a dict; pass records such as Query"),
        (rp.Queries, 0.5, "a record is a float"),
        (lambda value: rp.Qrels(QRELS, on_conflict=value), pd.NA, "on_conflict is '?<NA>"),
        (lambda value: rp.gate(QRELS, RUN, thresholds=value), pd.NA, "thresholds is a NAType; pass text"),
        (lambda value: rp.online([], estimator=value), pd.NA, "estimator is <NA>; choose one of"),
        (lambda value: rp.import_dataset([ROW], text_column=value), True, "text_column is a bool; pass text"),
        (lambda value: rp.read_run("x.run", delimiter=value), pd.NA, "a delimiter cannot be a NAType"),
        (lambda value: rp.agreement({"a": value, "b": QRELS}), "\ud800", "ud800 cannot be a path"),
        (lambda value: rp.agreement({"a": value, "b": QRELS}), "a\0", "a.*x00 cannot be a path"),
        (lambda value: rp.evaluate_answers([ROW], labels=value), 5, "labels cannot be an int"),
        (lambda value: rp.online([{"session": "a"}], since=value), pd.NaT, "NaT"),
    ],
)
def test_a_value_of_another_type_is_a_documented_error(call: Call, value: Any, words: str) -> None:
    with pytest.raises(rp.errors.RankproofError, match=words):
        call(value)


@pytest.mark.parametrize("systems", [[[ROW]], [[ROW], [ROW]], [[ROW] * 3, [ROW] * 3], [[ROW], [{**ROW, "answer": "\n"}]]])
def test_answers_without_a_single_value_are_shown_without_a_decision(systems: list[list[Any]]) -> None:
    text = str(rp.evaluate_answers({f"s{number}": rows for number, rows in enumerate(systems)}))
    assert "ClaimF1" in text
    assert not any(words in text for words in ("Ship", "leads by"))
