"""References, answers from files, and the evaluation of every system over the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof._data.answers import Answer, Answers, Reference, References, references_from_queries
from rankproof._data.arrays import Matrix
from rankproof._data.dataset import Queries, Query
from rankproof._evaluation.answers import evaluate_answers
from rankproof._formats.texts import read_answers
from rankproof._io.open import open_source
from rankproof.errors import InputError, UsageError
from rankproof.measures import parse_measure


def referred(**fields: Any) -> References:
    return references_from_queries(Queries([Query("q", "what?", fields=fields, line=7)], source="queries.jsonl"))


@pytest.mark.parametrize(
    ("fields", "answers", "urls"),
    [
        ({"answers": ["Paris", "paris "]}, ("Paris", "paris"), ()),
        ({"answer": "Paris"}, ("Paris",), ()),
        ({"answer": ["Paris", 7]}, ("Paris", "7"), ()),
        ({"answer": [["a", "b"], "c"]}, ("a", "b", "c"), ()),
        ({"answer": "['https://a.example/x', 'https://b.example']"}, ("https://a.example/x", "https://b.example"), ()),
        ({"answer": '["https://a.example"]'}, ("https://a.example",), ()),
        ({"answer": "[sic] Paris"}, ("[sic] Paris",), ()),
        ({"answer": "[1, 2]"}, ("[1, 2]",), ()),
        ({"expected_urls": ["https://a.example", "b"]}, ("https://a.example", "b"), ("https://a.example", "b")),
        ({"urls": "['https://a.example']"}, ("https://a.example",), ("https://a.example",)),
        ({"answers": ["Paris"], "expected_url": "https://a.example"}, ("Paris",), ("https://a.example",)),
        ({"answers": []}, (), ()),
        ({"answers": [""]}, (), ()),
        ({"answer": " ", "urls": ["https://a.example"]}, (), ("https://a.example",)),
        ({"answerable": False}, (), ()),
        ({"answerable": False, "answers": ["plausible"]}, (), ()),
        ({"answerable": True, "answer": "x"}, ("x",), ()),
        ({"answers": [], "expected_urls": ["https://a.example"]}, (), ("https://a.example",)),
        ({"answerable": False, "urls": []}, (), ()),
    ],
)
def test_a_reference_is_always_a_list(fields: dict[str, Any], answers: tuple[str, ...], urls: tuple[str, ...]) -> None:
    assert referred(**fields)["q"] == Reference(answers, urls)


def test_a_list_that_is_written_as_text_is_reported() -> None:
    found = referred(answer="['https://a.example', 'https://b.example']")
    assert found.lists_as_text == ("q",)
    result = evaluate_answers({"s": Answers({"q": Answer("https://b.example")})}, found)
    assert result.means["s"]["EM"] == 1.0
    assert [note.code for note in result.notes["s"]] == ["list-as-text"]


@pytest.mark.parametrize(
    "fields",
    [{}, {"answer": None}, {"answerable": True}, {"category": "x"}, {"expected_urls": []}, {"urls": [" "], "answerable": True}],
)
def test_a_query_without_a_reference_is_left_out(fields: dict[str, Any]) -> None:
    found = referred(**fields)
    assert not found
    assert found.queries_without == ("q",)


@pytest.mark.parametrize("fields", [{"answer": {"text": "x"}}, {"answers": [True]}, {"answer": "x", "answerable": "no"}])
def test_a_reference_that_is_not_text_is_rejected_with_its_line(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"queries\.jsonl:7: answer"):
        referred(**fields)


REFERENCES = References(
    {"q1": Reference(("Paris",)), "q2": Reference(("Rome", "Roma")), "q3": Reference(), "q4": Reference(("x",))},
    queries_without=("q5",),
)
ANSWERS = Answers(
    {
        "q1": Answer("Paris", ("d1",)),
        "q2": Answer("It is Roma", ("d2#c1", "d9")),
        "q3": Answer("NO ANSWER", state="abstained"),
        "q5": Answer("never asked"),
        "q6": Answer("nobody knows this one"),
    }
)


def test_every_system_is_measured_over_all_questions_with_a_reference() -> None:
    failed = Answers({query: Answer("", state="failed") for query in REFERENCES})
    qrels = {"q1": {"d1": 1}, "q2": {"d2": 2, "d3": 1}}
    result = evaluate_answers({"good": ANSWERS, "down": failed}, REFERENCES, qrels, document=lambda doc: doc.partition("#")[0])
    assert result.queries == ("q1", "q2", "q3", "q4")
    assert result.per_query("good")["EM"] == {"q1": 1.0, "q2": 0.0, "q3": 1.0, "q4": 0.0}
    assert result.per_query("good")["Contains"] == {"q1": 1.0, "q2": 1.0, "q3": 1.0, "q4": 0.0}
    assert result.per_query("good")["CiteP"] == {"q1": 1.0, "q2": 0.5}
    assert result.per_query("good")["CiteR"] == {"q1": 1.0, "q2": 0.5}
    assert all(values == {} for values in result.per_query("down").values())
    assert {note.code: note.count for note in result.notes["good"]} == {
        "missing-answers": 1,
        "abstentions": 1,
        "no-reference": 1,
        "unknown-queries": 1,
    }
    assert {note.code: note.count for note in result.notes["down"]} == {"failed-answers": 4, "no-reference": 1}


def alike(name: str, texts: Sequence[str]) -> Matrix:
    return np.ones((len(texts), 1), np.float32)


def test_a_failed_answer_has_no_value_and_a_missing_one_counts_0() -> None:
    wanted = {"q1": "Paris", "q2": "Rome", "q3": "Bonn"}
    given = {"q1": Answer("Paris"), "q2": Answer("", state="failed")}
    result = evaluate_answers({"s": given}, wanted, None, ["EM", "F1", "ROUGE-L", "Similarity"], alike)
    for one in result.systems[0].measures.values():
        assert (one.per_query, one.value, one.queries) == ({"q1": 1.0, "q3": 0.0}, 0.5, 2)
    assert [(note.code, note.text) for note in result.notes["s"]] == [
        ("missing-answers", "1 query has no answer and scores 0: q3"),
        ("failed-answers", "1 query has a failed answer and is left out of the means: q2"),
    ]


def test_the_note_on_missing_answers_names_the_measures_that_score_0() -> None:
    wanted, given = {"q1": "Paris", "q2": "Rome"}, {"q1": Answer("Paris")}
    found = evaluate_answers({"s": given}, wanted, None, ["ClaimP", "ClaimR", "AnswerRate"])
    notes = {note.code: note.text for note in found.notes["s"]}
    assert notes["missing-answers"] == "1 query has no answer and scores 0 in ClaimR(judge='overlap'), AnswerRate: q2"
    found = evaluate_answers({"s": given}, wanted, None, ["ClaimP"])
    assert [note.text for note in found.notes["s"] if note.code == "missing-answers"] == ["1 query has no answer: q2"]


def test_queries_without_a_reference_get_a_note_only_if_a_measure_needs_one() -> None:
    given = {"q1": Answer("Paris"), "q2": Answer("Rome")}
    for measures, expected in ((["AnswerRate"], False), (["AnswerRate", "EM"], True)):
        found = evaluate_answers({"s": given}, {"q1": "Paris"}, None, measures)
        assert ("some-values" in {note.code for note in found.notes["s"]}) is expected


@pytest.mark.parametrize("measure", ["EM", "Contains", "F1", "F1(stop_words='english')"])
@pytest.mark.parametrize("reference", ["The", "+", "it is an"])
def test_abstaining_does_not_match_a_reference_of_articles_or_punctuation(measure: str, reference: str) -> None:
    answers = {"abstains": {"q": ""}, "knows": {"q": f" {reference.upper()} "}}
    assert evaluate_answers(answers, {"q": reference}, measures=measure).means == {
        "abstains": {str(parse_measure(measure)): 0.0},
        "knows": {str(parse_measure(measure)): 1.0},
    }


def test_without_a_correct_answer_any_answer_scores_0_and_abstaining_1() -> None:
    one = References({"q": Reference()})
    for name, abstained in (
        ("EM", 1.0),
        ("F1(tokens='bag')", 1.0),
        ("Contains", 1.0),
        ("F1(tokens='set')", 0.0),
        ("ROUGE-L", 0.0),
    ):
        measured = evaluate_answers(
            {"says": {"q": Answer("Paris")}, "abstains": {"q": Answer("no", state="abstained")}}, one, measures=name
        )
        assert measured.means == {"says": {name: 0.0}, "abstains": {name: abstained}}


def test_citations_are_default_measures_only_if_an_answer_cites() -> None:
    usual = evaluate_answers({"s": {"q1": Answer("Paris")}}, REFERENCES, {"q1": {"d1": 1}}).systems[0].measures
    assert list(usual) == ["EM", "F1(tokens='bag')", "F1(tokens='set')", "Contains", "ROUGE-L"]


@pytest.mark.parametrize(
    ("answers", "references", "measures", "why"),
    [
        ({}, REFERENCES, None, "there are no answers"),
        ({"s": ANSWERS}, {}, None, "no query has a reference"),
        ({"s": ANSWERS}, REFERENCES, "nDCG@10", "measures rankings, not answers"),
        ({"s": ANSWERS}, REFERENCES, "CiteP", "CiteP needs judgements"),
    ],
)
def test_wrong_arguments_are_rejected(answers: Any, references: Any, measures: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        evaluate_answers(answers, references, None, measures)


def written(path: Path, *lines: str) -> Any:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return open_source(str(path))


def test_answers_of_other_programs_are_read_by_either_field_name(tmp_path: Path) -> None:
    source = written(
        tmp_path / "a.jsonl",
        '{"query": "q1", "answer": "Paris", "cited": ["d1", 2, "d1"], "given": ["d1"]}',
        '{"_id": 7, "text": "Rome", "model": "other"}',
        '{"query": "q3", "answer": null}',
        '{"query": "q4", "answer": "  "}',
        '{"query": "q5", "state": "failed"}',
    )
    assert dict(read_answers(source)) == {
        "q1": Answer("Paris", ("d1", "2"), ("d1",)),
        "7": Answer("Rome"),
        "q3": Answer("", state="abstained"),
        "q4": Answer("  ", state="abstained"),
        "q5": Answer("", state="failed"),
    }


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[1]", "a list where an object was expected"),
        ('{"answer": "x"}', "no query field"),
        ('{"query": "q2"}', "no answer field"),
        ('{"query": "q2", "answer": ["x"]}', "the answer of q2 is a list, not text"),
        ('{"query": "q2", "answer": "x", "cited": "d1"}', "cited of query q2"),
        ('{"query": "q2", "answer": "x", "cited": [null]}', "null document id"),
        ('{"query": "q2", "answer": "x", "state": "dead"}', "state of query q2"),
        ('{"query": "q1", "answer": "x"}', "query q1 occurs twice"),
        ('{"query": "q22", "answer": "x"}', "no query has the id q22; did you mean q2"),
        ('{"query": "q2", "answer": "\\ud800"}', "lone surrogate"),
        ('{"query": "q2", "answer": "x"', "not JSON"),
    ],
)
def test_a_bad_line_of_answers_is_rejected_with_its_line(tmp_path: Path, line: str, why: str) -> None:
    source = written(tmp_path / "a.jsonl", '{"query": "q1", "answer": "x"}', line)
    with pytest.raises(InputError, match=rf"a\.jsonl:2:.*{why}"):
        read_answers(source, {"q1": 1, "q2": 2})


def test_a_file_without_answers_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no rows"):
        read_answers(written(tmp_path / "a.jsonl", "# nothing"))


def test_plain_texts_and_lists_are_accepted() -> None:
    result = evaluate_answers({"s": {"q1": "Rome", "q2": " ", "q3": "x"}}, {"q1": ["Roma", "Rome"], "q2": [], "q3": "['x', 'y']"})
    assert result.per_query("s")["EM"] == {"q1": 1.0, "q2": 1.0, "q3": 1.0}
    with pytest.raises(UsageError, match="an answer is an int"):
        evaluate_answers({"s": {"q1": 3}}, {"q1": "Rome"})  # type: ignore[dict-item]
