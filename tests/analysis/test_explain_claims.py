"""Values of measures of claims, explained: each claim with its verdict and evidence, and arithmetic that gives the value."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.answers import Answer, Answers, nuggets_from_queries, references_from_queries
from rankproof._data.dataset import Queries, Query
from rankproof._evaluation.answers import evaluate_answers
from rankproof._results.answers_results import answers_results
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import save_results
from rankproof.measures._answers import AnswerMeasure
from rankproof.measures._parse import parse_measure
from support.claim_results import CONTEXTS, claim_results

BY_MODEL = [f"{name}(judge='tiny')" for name in ("Faithfulness", "Hallucination", "ContextR", "ContextP", "ContextAP")]
BY_WORDS = [
    *("Faithfulness", "Hallucination", "AnswerRelevance", "ClaimP", "ClaimR", "ClaimF1", "ContextR", "ContextP@2", "ContextAP"),
    *("ContextRelevance", "Utilisation", "Noise", "Noise(from='irrelevant')", "CiteR(by='support')", "CiteP(by='support')"),
]
STATES = ["AnswerRate", "AbstainP", "AbstainR"]
MEASURES = [*BY_MODEL, *BY_WORDS, *STATES]


@pytest.fixture(scope="module")
def results() -> ExperimentResult:
    return claim_results(measures=MEASURES)


@pytest.fixture(scope="module")
def folder(results: ExperimentResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_results(results, tmp_path_factory.mktemp("claims") / "out")


def sentences(results: ExperimentResult, measure: str, query: str, system: str = "open") -> list[str]:
    return list(rp.explain(results, measures=str(parse_measure(measure)), system=system, query=query).tables[0].sentences)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("system", ["open", "short"])
@pytest.mark.parametrize("query", ["q1", "q2", "q3", "q4"])
def test_every_answer_has_its_value_or_the_reason_why_there_is_none(
    results: ExperimentResult, measure: str, system: str, query: str
) -> None:
    assert results.answers is not None
    known = results.answers.per_query(system)[str(parse_measure(measure))].get(query)
    head, *others = rp.explain(results, measures=str(parse_measure(measure)), system=system, query=query).tables
    assert head.facts["value"] == known
    assert head.title.endswith(": no value" if known is None else f": {known:.4f}")
    said = " ".join(head.sentences)
    assert ("There is no value: " in said) == (known is None)
    assert all(table.rows for table in others)
    assert isinstance(parse_measure(measure), AnswerMeasure)


@pytest.mark.parametrize(
    ("measure", "query", "expected"),
    [
        (BY_MODEL[0], "q1", "1 supported / 3 claims = 0.3333."),
        (BY_MODEL[1], "q1", "2 of 3 claims not supported = 1.0000."),
        (BY_MODEL[2], "q1", "2 supported / 2 claims = 1.0000."),
        (BY_MODEL[3], "q1", "1 useful context (1) / 2 contexts = 0.5000."),
        (BY_MODEL[4], "q1", "(1/1) / 1 useful context = 1.0000."),
        ("Faithfulness", "q1", "(1.00 + 0.50 + 0.00) / 3 claims = 0.5000."),
        ("Hallucination", "q1", "1 of 3 claims not supported = 1.0000."),
        ("ClaimF1", "q1", "2 x 2 shared words / (5 in the answer + 3 in the reference) = 0.5000."),
        ("ClaimP", "q1", "2 shared words / 5 words of the answer = 0.4000."),
        ("ClaimR", "q1", "2 shared words / 3 words of the reference = 0.6667."),
        ("ContextR", "q1", "3 words in the contexts / 3 words of the reference = 1.0000."),
        ("Utilisation", "q1", "2 words in contexts and answer / 3 words of the reference in the contexts = 0.6667."),
        ("CiteR(by='support')", "q1", "1 supported / 3 sentences = 0.3333."),
        ("AnswerRate", "q3", "The answer is abstained: 0."),
        ("ClaimF1", "q3", "The answer abstains: 1, without asking a judge."),
        ("Faithfulness", "q3", "There is no value: the answer abstains."),
        ("ContextR", "q4", "There is no value: there is no reference."),
    ],
)
def test_the_arithmetic_gives_the_value(results: ExperimentResult, measure: str, query: str, expected: str) -> None:
    assert expected in sentences(results, measure, query)


def test_the_arithmetic_is_that_of_the_answer_also_if_a_question_has_several() -> None:
    texts = ("Oslo was founded in 1040 by the Viking king Harald Hardrada himself.", "It was in 1999.")
    first, second = (Answer(text, given=("c1",)) for text in texts)
    answers = {"a": Answers({"q1": first}, repeats={"q1": [second]})}
    contexts = {"c1": "Oslo was founded in 1040 by king Harald."}
    queries = Queries([Query("q1", "When was Oslo founded?")])
    evaluated = evaluate_answers(answers, references_from_queries(queries), None, ["Faithfulness"], passage=contexts.get)
    said = sentences(answers_results(evaluated, answers, queries, contexts, name="log"), "Faithfulness", "q1", "a")
    assert "5 words in the contexts / 8 words of the one claim = 0.6250." in said
    assert "The value of the question is the mean of its 2 answers: 0.6250, 0.0000." in said


def test_the_arithmetic_is_that_of_the_reference_and_nuggets_that_count() -> None:
    # The first reference has the better precision, the second the better F1.
    references = ["Oslo fjord harbour capital Norway north sea coast town", "Oslo harbour"]
    nuggets: list[dict[str, str]] = [
        {"text": "Oslo harbour"},
        {"text": "Oslo harbour is wet today"},
        {"text": "rain", "importance": "okay"},
    ]
    fields = {"answers": references, "nuggets": nuggets}
    queries = Queries([Query("q1", "Where?", fields=fields), Query("q2", "Is it wet?", fields={"answers": ["No"]})])
    answers = {"a": Answers({"q1": Answer("Oslo fjord harbour", given=("c1",)), "q2": Answer("No [1], dry", given=("c1",))})}
    measures = ["ClaimP", "ClaimR", "ClaimF1", "NuggetR", "NuggetR(strict=False)"]
    evaluated = evaluate_answers(
        answers, references_from_queries(queries), None, measures, passage=CONTEXTS.get, nuggets=nuggets_from_queries(queries)
    )
    results = answers_results(evaluated, answers, queries, CONTEXTS, name="log")
    expected = {
        "ClaimP": "2 shared words / 3 words of the answer = 0.6667.",
        "ClaimR": "2 shared words / 2 words of the reference = 1.0000.",
        "ClaimF1": "2 x 2 shared words / (3 in the answer + 2 in the reference) = 0.8000.",
        "NuggetR": "1 stated / 2 nuggets = 0.5000.",
        "NuggetR(strict=False)": "(1.00 + 0.50) / 2 nuggets = 0.7500.",
    }
    for measure, line in expected.items():
        assert line in sentences(results, measure, "q1", "a")
    titles = [table.title for table in rp.explain(results, measures="ClaimF1", system="a", query="q1").tables]
    assert "Claims of the answer, checked against reference 2" in titles
    assert "Claims of reference 2, checked against the answer" in titles
    assert "1 shared word / 2 words of the answer = 0.5000." in sentences(results, "ClaimP", "q2", "a")


def test_sums_of_scores_add_up(results: ExperimentResult) -> None:
    for query in ("q1", "q2", "q4"):
        (line,) = [one for one in sentences(results, "Faithfulness", query, "short") if re.search(r" = [\d.]+\.$", one)]
        shape = r"\(?([\d. +]+)\)?(?: words? in the contexts)? / (\d+) (?:claims|words? of the one claim) = ([\d.]+)\."
        terms, number, value = re.fullmatch(shape, line).groups()  # type: ignore[union-attr]
        assert sum(map(float, terms.split(" + "))) / int(number) == pytest.approx(float(value), abs=0.005)


def test_a_failed_question_is_named_and_its_bounds_are_shown(results: ExperimentResult) -> None:
    said = sentences(results, BY_MODEL[0], "q2", "short")
    assert "There is no value: the judge failed." in said
    assert "Questions without a value: 1 failed." in said
    assert "With all failed questions at 0 and at 1, the mean is from 0.5000 to 0.7500." in said
    claims = rp.explain(results, measures=BY_MODEL[0], system="short", query="q2").tables[1]
    assert claims.rows[0][:3] == (1, "failed: no reply in 3 attempts", None)


def test_the_command_prints_claims_verdicts_and_evidence_in_80_columns(
    folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["explain", folder, "--system", "open", "-m", BY_MODEL[0], "--query", "q1"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert re.search(r"4 +contradicted +0\.0000 +1\.1, 2\.1 +It is in Sweden\.", out)
    assert "1       nothing to check: greeting        –   –          Sure!" in out
    assert "2.1        context 2 (c2)   Norway has many fjords." in out
    assert "1 nothing to check, 1 supported, 1 not stated, 1 contradicted." in out


def test_an_unknown_query_is_refused_with_one_that_is_there(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", folder, "-m", "Faithfulness(judge='overlap')", "--query", "q9"]) == 2
    assert "no evaluated query is called q9; there is, for example, q1, q2, q3" in capsys.readouterr().err


def test_another_judge_is_refused_with_the_way_to_ask_it(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", folder, "-m", "Faithfulness(judge='other')", "--query", "q1"]) == 2
    shown = capsys.readouterr().err
    assert "other" in shown
    assert Path(folder, "claims.jsonl").exists()


def test_results_of_answers_alone_are_explained_and_shown_by_their_first_measure(
    results: ExperimentResult, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", folder, "--query", "q1", "--system", "open"]) == 0
    assert capsys.readouterr().out.startswith(f"{BY_MODEL[0]} of open on query q1: 0.3333")
    assert len(rp.explain(results, system="open", query="q1").tables) == 3
    assert main(["explain", folder, "--system", "open"]) == 0
    assert capsys.readouterr().out.startswith(BY_MODEL[0])
    assert BY_MODEL[0] in str(results)
    assert "0.7778" in str(results)
