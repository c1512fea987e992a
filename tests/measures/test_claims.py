"""Measures of claims: every edge case of every measure, worked examples with their source, and laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.claims import Claim, ClaimTable, ClaimVerdict, Nugget, Verdict, checkable_claims, claims_of, written_claims
from rankproof.errors import UsageError
from rankproof.measures import ANSWER_MEASURES, Measure, parse_measure, parse_measures
from rankproof.measures._citations import AnswerStateMeasure
from rankproof.measures._claim_base import (
    ClaimMeasure,
    Outcome,
    as_written,
    content_words,
    judged_measures,
    measures_in_results,
    written_measure,
)
from rankproof.plugins import AnswerCase

JUDGE = "tester"
BRIDGE = AnswerCase(
    "It was opened in 1932 by Jack Lang [1].",
    ("It was opened in 1932 by Jack Lang.",),
    question="When was the bridge opened, and by whom?",
    contexts=("The bridge was opened in 1932 by Jack Lang.", "Penguins live in the south."),
    nuggets=(Nugget("opened in 1932"), Nugget("the premier Lang", "okay")),
)
ABSTAINED = replace(BRIDGE, text="", state="abstained")
UNANSWERABLE = replace(BRIDGE, references=("",), nuggets=None)
CASES = {
    "usual": BRIDGE,
    "abstained": ABSTAINED,
    "abstained by wording": replace(BRIDGE, text="I'm sorry, but the passages do not say when it was opened."),
    "abstained, unanswerable": replace(UNANSWERABLE, text="", state="abstained"),
    "answered, unanswerable": UNANSWERABLE,
    "nothing retrieved": replace(BRIDGE, contexts=()),
    "contexts unknown": replace(BRIDGE, contexts=None),
    "nothing to check": replace(BRIDGE, text="There it is!"),
    "no reference": replace(BRIDGE, references=(), nuggets=None),
    "no vital nugget": replace(BRIDGE, nuggets=(Nugget("the premier Lang", "okay"),)),
    "cites nothing": replace(BRIDGE, text="It was opened in 1932 by Jack Lang."),
    "invented cite": replace(BRIDGE, text="It was opened in 1932 by Jack Lang [7]."),
    "missing": replace(BRIDGE, text="", state="missing"),
    "reference without claims": replace(BRIDGE, references=("It is.",)),
}
"""One case for each row of the table of edge cases."""
MEASURES = [
    *("Faithfulness", "Hallucination", "AnswerRelevance", "ClaimP", "ClaimR", "ClaimF1", "ContextR", "ContextP", "ContextAP"),
    *("ContextRelevance", "Utilisation", "Noise(from='relevant')", "Noise(from='irrelevant')", "CiteR(by='support')"),
    *("CiteP(by='support')", "NuggetR", "AnswerRate", "AbstainP", "AbstainR"),
]
ASKED = "asked"
"""The value depends on the judge."""
EXPECTED: dict[str, dict[str, Outcome | str]] = {
    "usual": {
        **dict.fromkeys(MEASURES, ASKED),
        "AnswerRate": 1.0,
        "AbstainP": "not_abstained",
        "AbstainR": "answerable",
    },
    "abstained": {
        **dict.fromkeys(MEASURES, "abstained"),
        **dict.fromkeys(("ClaimR", "ClaimF1", "NuggetR", "AnswerRate", "AbstainP"), 0.0),
        **dict.fromkeys(("ContextR", "ContextP", "ContextAP", "ContextRelevance", "Utilisation"), ASKED),
        "AbstainR": "answerable",
    },
    "abstained, unanswerable": {
        **dict.fromkeys(MEASURES, "abstained"),
        **dict.fromkeys(("ClaimR", "ContextR", "ContextP", "ContextAP", "Utilisation"), "unanswerable"),
        "ClaimF1": 1.0,
        "NuggetR": "no_nugget",
        "ContextRelevance": ASKED,
        "AnswerRate": 0.0,
        "AbstainP": 1.0,
        "AbstainR": 1.0,
    },
    "answered, unanswerable": {
        **dict.fromkeys(MEASURES, ASKED),
        **dict.fromkeys(("ClaimR", "ContextR", "ContextP", "ContextAP", "Utilisation"), "unanswerable"),
        "ClaimP": 0.0,
        "ClaimF1": 0.0,
        "NuggetR": "no_nugget",
        "Noise(from='relevant')": "no_such_context",
        "AnswerRate": 1.0,
        "AbstainP": "not_abstained",
        "AbstainR": 0.0,
    },
    "nothing retrieved": {
        **dict.fromkeys(("AnswerRelevance", "ClaimP", "ClaimR", "ClaimF1", "NuggetR"), ASKED),
        **dict.fromkeys(("Faithfulness", "ContextR", "ContextP", "ContextAP", "ContextRelevance"), 0.0),
        **dict.fromkeys(("CiteR(by='support')", "CiteP(by='support')"), 0.0),
        **dict.fromkeys(("Noise(from='relevant')", "Noise(from='irrelevant')"), "no_such_context"),
        "Hallucination": 1.0,
        "Utilisation": "nothing_found",
    },
    "contexts unknown": {
        **dict.fromkeys(("Faithfulness", "Hallucination", "ContextR", "ContextP", "ContextAP"), "no_contexts"),
        **dict.fromkeys(("ContextRelevance", "Utilisation", "Noise(from='relevant')"), "no_contexts"),
        **dict.fromkeys(("CiteR(by='support')", "CiteP(by='support')"), "no_contexts"),
        **dict.fromkeys(("AnswerRelevance", "ClaimP", "ClaimR", "ClaimF1", "NuggetR"), ASKED),
    },
    "no reference": {
        **dict.fromkeys(("Faithfulness", "Hallucination", "AnswerRelevance", "ContextRelevance"), ASKED),
        **dict.fromkeys(("CiteR(by='support')", "CiteP(by='support')"), ASKED),
        **dict.fromkeys(("ClaimP", "ClaimR", "ClaimF1", "ContextR", "ContextP", "ContextAP", "Utilisation"), "no_reference"),
        **dict.fromkeys(("Noise(from='relevant')", "Noise(from='irrelevant')"), "no_reference"),
        "NuggetR": "no_nugget",
        "AnswerRate": 1.0,
        "AbstainP": "not_abstained",
        "AbstainR": "no_reference",
    },
    "no vital nugget": {"NuggetR": "no_nugget", "Faithfulness": ASKED},
    "cites nothing": {"CiteR(by='support')": 0.0, "CiteP(by='support')": 0.0, "Faithfulness": ASKED},
    "invented cite": {"CiteR(by='support')": 0.0, "CiteP(by='support')": 0.0, "Faithfulness": ASKED},
    "missing": {
        **dict.fromkeys(("Faithfulness", "Hallucination", "AnswerRelevance", "ClaimP", "Noise(from='relevant')"), "missing"),
        **dict.fromkeys(("ClaimR", "ClaimF1", "NuggetR", "CiteR(by='support')", "CiteP(by='support')", "AnswerRate"), 0.0),
        **dict.fromkeys(("ContextR", "ContextP", "ContextAP", "ContextRelevance", "Utilisation"), ASKED),
        "AbstainP": "not_abstained",
        "AbstainR": "answerable",
    },
}
EXPECTED["abstained by wording"] = EXPECTED["abstained"]
ROWS = [(row, name, expected) for row, cells in EXPECTED.items() for name, expected in cells.items()]


def measure_of(name: str, judge: str = "overlap") -> Any:
    measure = parse_measure(name)
    return measure(judge=judge) if isinstance(measure, ClaimMeasure) else measure


@pytest.mark.parametrize(("row", "name", "expected"), ROWS, ids=lambda one: str(one))
def test_an_edge_case_has_the_value_of_the_table_or_none(row: str, name: str, expected: Outcome) -> None:
    case = CASES[row]
    for judge in ("overlap", JUDGE):
        measure = measure_of(name, judge)
        if isinstance(measure, AnswerStateMeasure):
            assert measure.outcome(case) == expected
        elif expected == ASKED:
            assert measure.settled(case) is None
        else:
            assert measure.outcome(case, {}) == expected
            assert measure.claim_value(case, {}) == (None if isinstance(expected, str) else expected)


def test_the_table_has_every_measure_and_row() -> None:
    of_claims = {name for name, one in ANSWER_MEASURES.items() if isinstance(one, ClaimMeasure | AnswerStateMeasure)}
    assert {parse_measure(name).name for name in MEASURES} == of_claims - {"Criterion"}, "a criterion has no value by words"
    assert set(EXPECTED) | {"nothing to check", "reference without claims"} == set(CASES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, "no_claim") for name in ("Faithfulness", "Hallucination", "AnswerRelevance", "ClaimP")),
        *((name, 0.0) for name in ("ClaimR", "ClaimF1", "NuggetR")),
        *((name, "no_claim") for name in ("CiteR(by='support')", "CiteP(by='support')")),
    ],
)
def test_an_answer_with_nothing_to_check_has_no_value_or_states_nothing(name: str, expected: Outcome) -> None:
    assert measure_of(name).outcome(CASES["nothing to check"], {}) == expected


@pytest.mark.parametrize(
    "name", ["Faithfulness", "Hallucination", "AnswerRelevance", "ClaimP", "CiteR(by='support')", "CiteP(by='support')"]
)
@pytest.mark.parametrize("judge", ["overlap", JUDGE])
def test_an_answer_without_a_word_has_no_value(name: str, judge: str) -> None:
    assert claims_of("... [1] – !", "answer") == ()
    assert measure_of(name, judge).outcome(replace(BRIDGE, text="... [1]"), {}) == "no_claim"


@pytest.mark.parametrize("name", ["CiteR(by='support')", "CiteP(by='support')"])
def test_cites_of_a_sentence_with_nothing_to_check_have_no_value(name: str) -> None:
    case = replace(BRIDGE, text="There it is! [1]")
    assert measure_of(name).outcome(case, {}) == "no_claim"
    tables: dict[ClaimTable, list[ClaimVerdict]] = {
        "answer-cited": verdicts_of(claims_of(case.text, "answer"), "cited", ["nothing_to_check"], shown=(1,))
    }
    assert measure_of(name, JUDGE).outcome(case, tables) == "no_claim"


@pytest.mark.parametrize("name", ["ContextR", "ContextP", "ContextAP"])
def test_a_reference_without_claims_gives_no_value(name: str) -> None:
    assert measure_of(name).outcome(CASES["reference without claims"], {}) == "no_claim"


@pytest.mark.parametrize(("answer", "expected"), [("No.", 1.0), ("Yes.", 0.0), ("No, they do.", 0.5)])
def test_stop_words_count_if_the_reference_has_no_other_words(answer: str, expected: float) -> None:
    assert measure_of("ClaimF1").value(AnswerCase(answer, ("No",))) == expected


@pytest.mark.parametrize("name", ["ClaimP", "ClaimR", "ClaimF1", "Faithfulness", "AnswerRelevance"])
def test_marks_of_citations_are_no_words(name: str) -> None:
    plain, cited = (replace(BRIDGE, text=text) for text in ("Jack Lang opened it.", "Jack Lang [1][7] opened it [1, 2]."))
    assert measure_of(name).value(plain) == measure_of(name).value(cited)


def verdicts_of(
    claims: Sequence[Claim],
    against: Any,
    given: Sequence[Verdict],
    evidence: Sequence[Sequence[tuple[int, int]]] = (),
    **more: Any,
) -> list[ClaimVerdict]:
    named = [*evidence, *[()] * len(given)]
    return [
        ClaimVerdict("q", "s", claim, against, verdict, JUDGE, tuple(named[at]), **more)
        for at, (claim, verdict) in enumerate(zip(claims, given, strict=True))
    ]


THREE = AnswerCase("One. Two. Three.", ("First. Second.",), question="Q?", contexts=("a", "b", "c", "d"))
ANSWER, REFERENCE = claims_of(THREE.text, "answer"), claims_of(THREE.references[0], "reference")
TABLES: dict[ClaimTable, list[ClaimVerdict]] = {
    "answer-contexts": verdicts_of(
        ANSWER, "contexts", ["supported", "contradicted", "supported"], [[(1, 1)], [], [(3, 1), (4, 2)]]
    ),
    "answer-reference": verdicts_of(ANSWER, "reference", ["supported", "not_stated", "not_stated"], [[(1, 1)]]),
    "reference-contexts": verdicts_of(REFERENCE, "contexts", ["supported", "supported"], [[(1, 1)], [(3, 2)]]),
    "reference-answer": verdicts_of(REFERENCE, "answer", ["supported", "not_stated"], [[(1, 1)]]),
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Faithfulness", 2 / 3),
        ("Hallucination", 1.0),
        ("ClaimP", 1 / 3),
        ("ClaimR", 1 / 2),
        ("ClaimF1", 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)),
        ("ContextR", 1.0),
        ("ContextP", 2 / 4),
        ("ContextP@2", 1 / 2),
        ("ContextP@9", 2 / 4),
        ("ContextAP", (1 / 1 + 2 / 3) / 2),
        ("ContextAP@1", 1.0),
        ("Utilisation", 1 / 2),
        ("Noise(from='relevant')", 1 / 3),
        ("Noise(from='irrelevant')", 0.0),
    ],
)
def test_a_value_follows_from_four_tables_of_verdicts(name: str, expected: float) -> None:
    assert measure_of(name, JUDGE).claim_value(THREE, TABLES) == pytest.approx(expected)


@pytest.mark.parametrize("name", MEASURES[:13])
def test_a_failed_verdict_gives_no_value(name: str) -> None:
    measure = measure_of(name, JUDGE)
    for table in measure.needed(THREE):
        kept = TABLES.get(table) or verdicts_of(ANSWER[:1], table.partition("-")[2], ["supported"])
        failed = TABLES | {table: [*kept[1:], replace(kept[0], verdict="failed", reason="no reply")]}
        assert measure.outcome(THREE, failed) == "failed"


@pytest.mark.parametrize(("context", "value"), [("lion", 0.0), ("lion east", 1.0), ("lion east west", 1.0)])
def test_a_context_is_useful_with_half_of_the_words_of_a_reference_sentence(context: str, value: float) -> None:
    case = replace(BRIDGE, references=("lion east west south",), contexts=(context,))
    assert measure_of("ContextP").value(case) == value


def test_a_question_without_an_answer_has_no_nugget_even_if_one_is_given() -> None:
    assert measure_of("NuggetR").settled(replace(UNANSWERABLE, nuggets=BRIDGE.nuggets)) == "no_nugget"
    assert measure_of("NuggetR").settled(BRIDGE) is None


def test_noise_of_a_question_without_an_answer_needs_the_verdicts_on_contexts_alone() -> None:
    noise = measure_of("Noise(from='irrelevant')", JUDGE)
    assert noise.needed(UNANSWERABLE) == ("answer-contexts",)
    assert len(noise.needed(BRIDGE)) == 3


@pytest.mark.parametrize(
    ("kind", "contexts", "expected"),
    [
        ("relevant", BRIDGE.contexts, 0.0),
        ("irrelevant", BRIDGE.contexts, 0.0),
        ("relevant", ("Penguins live in the south.",), "no_such_context"),
        ("irrelevant", ("The bridge was opened in 1932 by Jack Lang.",), "no_such_context"),
    ],
)
def test_noise_by_words_needs_a_context_of_its_kind(kind: str, contexts: tuple[str, ...], expected: Outcome) -> None:
    assert measure_of(f"Noise(from='{kind}')").by_words(replace(BRIDGE, contexts=contexts)) == expected


@pytest.mark.parametrize(
    ("context", "grade"),
    [("north", 0), ("lion", 1 / 3), ("lion east", 2 / 3), ("lion east west", 1), ("lion east west south", 1)],
)
def test_a_context_has_a_grade_by_quarters_of_the_words_of_the_question(context: str, grade: float) -> None:
    case = replace(BRIDGE, question="lion east west south", contexts=(context,))
    assert measure_of("ContextRelevance").value(case) == pytest.approx(grade)


def test_nothing_to_check_is_outside_the_denominator() -> None:
    one, two, three = TABLES["answer-contexts"]
    tables: dict[ClaimTable, list[ClaimVerdict]] = {"answer-contexts": [one, replace(two, verdict="nothing_to_check"), three]}
    assert measure_of("Faithfulness", JUDGE).claim_value(THREE, tables) == 1.0
    assert measure_of("Hallucination", JUDGE).claim_value(THREE, tables) == 0.0


def test_a_claim_with_nothing_to_check_is_no_claim_that_the_answer_lacks() -> None:
    one, two = TABLES["reference-answer"]
    assert measure_of("Utilisation", JUDGE).claim_value(THREE, TABLES) == 0.5
    tables = TABLES | {"reference-answer": [one, replace(two, verdict="nothing_to_check")]}
    assert measure_of("Utilisation", JUDGE).claim_value(THREE, tables) == 1.0


def test_faithfulness_is_the_mean_score_and_hallucination_counts_verdicts() -> None:
    scored: dict[ClaimTable, list[ClaimVerdict]] = {
        "answer-contexts": [
            replace(one, score=score) for one, score in zip(TABLES["answer-contexts"], (0.9, 0.2, 0.4), strict=True)
        ]
    }
    assert measure_of("Faithfulness", JUDGE).claim_value(THREE, scored) == pytest.approx(0.5)
    assert measure_of("Hallucination", JUDGE).claim_value(THREE, scored) == 1.0
    supported: dict[ClaimTable, list[ClaimVerdict]] = {
        "answer-contexts": [replace(one, verdict="supported") for one in scored["answer-contexts"]]
    }
    assert measure_of("Hallucination", JUDGE).claim_value(THREE, supported) == 0.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The bridge carries cars.", 0.0),
        ("The bridge carries cars. It was painted red by monkeys.", 1.0),
        ("Yes.", "no_claim"),
        ("Sure!", "no_claim"),
        ("## Overview", "no_claim"),
        ("Yes, the bridge carries cars.", 0.0),
    ],
)
def test_hallucination_by_words_is_0_or_1_and_has_no_value_without_a_claim(text: str, expected: Outcome) -> None:
    case = AnswerCase(text, (), contexts=("The bridge carries trains.",))
    assert measure_of("Hallucination").outcome(case, {}) == expected


def test_the_same_reference_counts_for_precision_recall_and_f1() -> None:
    case = replace(THREE, references=("First.", "Second."))
    answer = [replace(claim, reference=n) for n in (1, 2) for claim in ANSWER]
    wanted = [Claim("reference", 1, "First.", 0, 6), Claim("reference", 1, "Second.", 0, 7, reference=2)]
    tables: dict[ClaimTable, list[ClaimVerdict]] = {
        # The first reference has the better precision, the second the better F1.
        "answer-reference": verdicts_of(
            answer, "reference", ["supported", "supported", "supported", "supported", "not_stated", "supported"]
        ),
        "reference-answer": verdicts_of(wanted, "answer", ["not_stated", "supported"]),
    }
    values = {name: measure_of(name, JUDGE).claim_value(case, tables) for name in ("ClaimP", "ClaimR", "ClaimF1")}
    assert values == pytest.approx({"ClaimP": 2 / 3, "ClaimR": 1.0, "ClaimF1": 0.8})


def test_the_best_of_several_references_counts_for_contexts() -> None:
    case = replace(BRIDGE, references=("Unknown words entirely.", BRIDGE.references[0]))
    assert measure_of("ContextR").value(case) == 1.0
    assert measure_of("ContextP").value(case) == measure_of("ContextP").value(BRIDGE) == 0.5


CITED = AnswerCase("One [1][2]. Two [3]. Three. Four [9].", (), contexts=("a", "b", "c"))


def cite_verdicts(given: dict[tuple[int, tuple[int, ...]], Verdict]) -> dict[ClaimTable, list[ClaimVerdict]]:
    claims = claims_of(CITED.text, "answer")
    found = [verdicts_of([claims[n - 1]], "cited", [verdict], shown=shown)[0] for (n, shown), verdict in given.items()]
    return {"answer-cited": found}


@pytest.mark.parametrize(
    ("alone", "other", "recall", "precision"),
    [
        # Each cite of the first sentence supports it alone.
        ("supported", "supported", 1 / 4, 2 / 4),
        # Only the first does, so the second is not needed.
        ("supported", "not_stated", 1 / 4, 1 / 4),
        # They do only together, so both are needed.
        ("not_stated", "not_stated", 1 / 4, 2 / 4),
    ],
)
def test_a_citation_is_right_if_it_is_needed(alone: Verdict, other: Verdict, recall: float, precision: float) -> None:
    """The cases of Gao et al. 2023, section 3: the third sentence has no cite, the cite of the fourth is invented."""
    tables = cite_verdicts({(1, (1, 2)): "supported", (1, (1,)): alone, (1, (2,)): other, (2, (3,)): "not_stated"})
    assert measure_of("CiteR(by='support')", JUDGE).claim_value(CITED, tables) == recall
    assert measure_of("CiteP(by='support')", JUDGE).claim_value(CITED, tables) == precision


def test_the_score_of_a_cite_alone_is_its_credit() -> None:
    tables = cite_verdicts({(1, (1, 2)): "supported", (1, (1,)): "supported", (1, (2,)): "not_stated", (2, (3,)): "not_stated"})
    joint, first, second, other = tables["answer-cited"]
    scored = {"answer-cited": [joint, replace(first, score=0.7), replace(second, score=0.2), replace(other, score=0.1)]}
    assert measure_of("CiteP(by='support')", JUDGE).claim_value(CITED, scored) == pytest.approx((0.7 + 0.2 + 0.1) / 4)


def test_cites_without_marks_hold_for_every_sentence() -> None:
    case = AnswerCase("Lang opened it. In 1932.", (), contexts=("Lang opened it.", "In 1932."), cited_contexts=(1, 2))
    assert measure_of("CiteR(by='support')").value(case) == 1.0
    assert measure_of("CiteP(by='support')").value(case) == 0.5
    assert measure_of("CiteR(by='support')").value(replace(case, cited_contexts=(1, 0))) == 0.5


def test_strict_and_lenient_vital_and_all_nuggets() -> None:
    nuggets = (Nugget("a"), Nugget("b"), Nugget("c", "okay"))
    case = AnswerCase("text", ("text",), nuggets=nuggets)
    claims = written_claims((one.text for one in nuggets), "nugget")
    found = verdicts_of(claims, "answer", ["supported", "not_stated", "supported"])
    tables: dict[ClaimTable, list[ClaimVerdict]] = {
        "nugget-answer": [
            replace(one, importance=nugget.importance, score=score)
            for one, nugget, score in zip(found, nuggets, (1.0, 0.5, 1.0), strict=True)
        ]
    }
    values = {
        name: measure_of(name, JUDGE).claim_value(case, tables)
        for name in ("NuggetR", "NuggetR(strict=False)", "NuggetR(of='all')", "NuggetR(strict=False,of='all')")
    }
    assert list(values.values()) == pytest.approx([1 / 2, 1.5 / 2, 2 / 3, 2.5 / 3])
    failed = {"nugget-answer": [*tables["nugget-answer"][:2], replace(tables["nugget-answer"][2], verdict="failed")]}
    assert measure_of("NuggetR", JUDGE).outcome(case, failed) == 1 / 2
    assert measure_of("NuggetR(of='all')", JUDGE).outcome(case, failed) == "failed"


TEXTS = st.text(alphabet="ab cd.[1] the", max_size=40)


@given(answer=TEXTS, references=st.lists(TEXTS, min_size=1, max_size=2), contexts=st.lists(TEXTS, max_size=3))
def test_a_value_by_words_is_within_the_range(answer: str, references: list[str], contexts: list[str]) -> None:
    case = AnswerCase(answer, tuple(references), question="ab cd?", contexts=tuple(contexts), nuggets=(Nugget("ab"),))
    for name in MEASURES:
        found = measure_of(name).value(case)
        assert found is None or 0 <= found <= 1, name


@given(answer=TEXTS, reference=TEXTS)
def test_claim_f1_by_words_is_the_f1_of_the_words_that_are_stated(answer: str, reference: str) -> None:
    case = AnswerCase(answer, (reference,))
    ours, theirs = (
        frozenset().union(*(content_words(claim.text) for claim in checkable_claims(text))) for text in (answer, reference)
    )
    if case.answerable and theirs and not case.abstains:
        shared = len(ours & theirs)
        assert measure_of("ClaimF1").value(case) == pytest.approx(2 * shared / (len(ours) + len(theirs)))
        assert measure_of("ClaimR").value(case) == shared / len(theirs)


@given(answer=TEXTS, contexts=st.lists(TEXTS, min_size=1, max_size=3), more=TEXTS)
def test_another_context_never_lowers_faithfulness_by_words(answer: str, contexts: list[str], more: str) -> None:
    fewer, larger = (AnswerCase(answer, (), contexts=tuple(each)) for each in (contexts, [*contexts, more]))
    for name, sign in (("Faithfulness", 1), ("Hallucination", -1)):
        before, after = measure_of(name).value(fewer), measure_of(name).value(larger)
        assert before is None or sign * after >= sign * before


def test_scripts_without_spaces_are_compared_by_pairs_of_characters() -> None:
    assert content_words("東京タワー is 333 m") == {"東京", "京タ", "タワ", "ワー", "333", "m"}
    assert content_words("水") == {"水"}


def test_shared_words_cannot_write_claims() -> None:
    with pytest.raises(UsageError, match="overlap cannot write claims; use unit='sentence', or a language model as the judge"):
        measure_of("Faithfulness(unit='claim')").value(BRIDGE)


def test_a_measure_with_another_judge_needs_verdicts() -> None:
    with pytest.raises(UsageError, match=r"Faithfulness\(judge='gpt-4o-mini'\) needs verdicts"):
        measure_of("Faithfulness", "gpt-4o-mini").value(BRIDGE)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("faithfulness", "Faithfulness(judge='overlap')"),
        ("Faithfulness(judge=gpt-4o-mini)", "Faithfulness(judge='gpt-4o-mini')"),
        ("Faithfulness(unit='claim',judge='openai/gpt-4.1')", "Faithfulness(judge='openai/gpt-4.1',unit='claim')"),
        ("ContextAP(judge='logprob:smollm2')@3", "ContextAP(judge='logprob:smollm2')@3"),
        ("ClaimF1(judge='nli:my-model')", "ClaimF1(judge='nli:my-model')"),
        ("context_recall", "ContextR(judge='overlap')"),
        ("ContextP@5", "ContextP(judge='overlap')@5"),
        ("Noise", "Noise(from='relevant',judge='overlap')"),
        ("Noise(from='irrelevant')", "Noise(from='irrelevant',judge='overlap')"),
        ("CiteR(by='support')", "CiteR(by='support',judge='overlap')"),
        ("CiteP(by='judgements')", "CiteP"),
        ("NuggetR(strict=True,of='vital')", "NuggetR(judge='overlap')"),
        ("NuggetR(strict=False,of='all')", "NuggetR(strict=False,of='all',judge='overlap')"),
        ("AnswerRate", "AnswerRate"),
    ],
)
def test_the_name_has_the_judge_and_parses_back(text: str, name: str) -> None:
    assert str(parse_measure(text)) == name
    assert parse_measure(name) == parse_measure(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Faithfulness(judge='a b')", "the value 'a b' cannot be read"),
        ("Faithfulness(judge=3)", "judge 3 is not the name of a judge"),
        ("Faithfulness(unit='word',judge='x')", "unit is word; choose one of sentence, claim"),
        ("Faithfulness@5", "Faithfulness takes no cutoff"),
        ("Noise(from='x')", "from is x; choose one of relevant, irrelevant"),
        ("NuggetR(strict=maybe)", "strict is maybe"),
        ("CiteP(judge='gpt-4o-mini')", r"write CiteP\(by='support',judge='gpt-4o-mini'\)"),
        ("context_precision", "write ContextAP for theirs, or ContextP"),
        ("contextual_precision", "write ContextAP for theirs, or ContextP"),
        ("answer_correctness", "write ClaimF1 for the claims, or Similarity"),
        ("factual_correctness", "write ClaimF1, ClaimP or ClaimR"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_measure(text)


@pytest.mark.parametrize(
    ("written", "judged", "shown"),
    [
        ("Faithfulness", "Faithfulness(judge='gpt')", "Faithfulness"),
        ("Faithfulness(judge='overlap')", "Faithfulness(judge='overlap')", "Faithfulness(judge='overlap')"),
        ("ContextP(judge='nli:m')@5", "ContextP(judge='nli:m')@5", "ContextP(judge='nli:m')@5"),
        (parse_measure("ClaimF1"), "ClaimF1(judge='gpt')", "ClaimF1"),
        (parse_measure("ClaimF1(judge='nli:m')"), "ClaimF1(judge='nli:m')", "ClaimF1(judge='nli:m')"),
        ("EM", "EM", "EM"),
    ],
)
def test_only_a_measure_that_names_no_judge_gets_another(written: str | Measure, judged: str, shown: str) -> None:
    assert [str(measure) for measure in judged_measures(written, "gpt")] == [judged]
    assert [str(measure) for measure in judged_measures([written, "NuggetR"], "gpt")] == [judged, "NuggetR(judge='gpt')"]
    assert written_measure(written) == shown


@pytest.mark.parametrize(("answer", "strict", "share"), [("lion east west", 1, 0.75), ("lion east", 0, 0.5), ("north", 0, 0)])
def test_a_nugget_is_stated_by_three_quarters_of_its_words(answer: str, strict: float, share: float) -> None:
    case = AnswerCase(answer, ("north",), nuggets=(Nugget("lion east west south"),))
    assert (measure_of("NuggetR").value(case), measure_of("NuggetR(strict=False)").value(case)) == (strict, share)


@pytest.mark.parametrize(
    ("name", "one_reference"),
    [
        ("ClaimP", ("answer-reference",)),
        ("ClaimR", ("reference-answer",)),
        ("ClaimF1", ("answer-reference", "reference-answer")),
    ],
)
def test_the_best_of_several_references_needs_verdicts_in_both_directions(name: str, one_reference: tuple[str, ...]) -> None:
    both = ("answer-reference", "reference-answer")
    assert measure_of(name, JUDGE).needed(THREE) == one_reference
    assert measure_of(name, JUDGE).needed(replace(THREE, references=("First.", "Second."))) == both


@pytest.mark.parametrize(
    ("on_reference", "relevant", "irrelevant"),
    [
        (["supported", "supported", "supported"], 0, 0),
        (["not_stated", "supported", "supported"], 1 / 3, 0),
        (["supported", "supported", "contradicted"], 0, 1 / 3),
        (["contradicted", "supported", "not_stated"], 1 / 3, 1 / 3),
        (["supported", "supported", "nothing_to_check"], 0, 0),
        (["not_stated", "nothing_to_check", "nothing_to_check"], 1, 0),
    ],
)
def test_noise_is_the_share_of_claims_that_contexts_alone_support(
    on_reference: list[Verdict], relevant: float, irrelevant: float
) -> None:
    """The contexts support every claim: the first one by context 1, which the reference has, the third by context 4."""
    tables: dict[ClaimTable, list[ClaimVerdict]] = {
        "answer-contexts": verdicts_of(ANSWER, "contexts", ["supported"] * 3, [[(1, 1)], [(1, 1)], [(4, 1)]]),
        "answer-reference": verdicts_of(ANSWER, "reference", on_reference),
        "reference-contexts": verdicts_of(REFERENCE, "contexts", ["supported", "supported"], [[(1, 1)], [(1, 2)]]),
    }
    values = [measure_of(f"Noise(from='{kind}')", JUDGE).claim_value(THREE, tables) for kind in ("relevant", "irrelevant")]
    assert values == pytest.approx([relevant, irrelevant])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It was opened in 1932 by Jack Lang [1].", 1.0),
        ("It was opened in 1932 by Jack Lang [2].", 0.0),
        ("It was opened in 1932 by Jack Lang [1][2].", 0.5),
        ("It was opened in 1932 by Jack Lang [1][7].", 0.5),
        ("It was opened in 1932 by Jack Lang [1]. Penguins live there [2][1].", 2 / 3),
    ],
)
def test_citation_precision_by_words_is_the_mean_over_cites(text: str, value: float) -> None:
    assert measure_of("CiteP(by='support')").value(replace(BRIDGE, text=text)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("known", "name"),
    [
        ([], "Faithfulness(judge='overlap')"),
        (["EM"], "Faithfulness(judge='overlap')"),
        (["NuggetR(judge='gpt')", "EM"], "Faithfulness(judge='gpt')"),
        (["NuggetR(judge='gpt')", "Faithfulness(judge='nli:m')"], "Faithfulness(judge='nli:m')"),
    ],
)
def test_a_measure_without_a_judge_gets_that_of_the_results(known: list[str], name: str) -> None:
    assert [str(measure) for measure in measures_in_results("Faithfulness", parse_measures(known) if known else [])] == [name]


def test_several_judges_in_results_must_be_chosen_from() -> None:
    known = parse_measures(["NuggetR(judge='gpt')", "ClaimF1(judge='nli:m')"])
    with pytest.raises(UsageError, match="the results have several judges, and Faithfulness names none"):
        measures_in_results("Faithfulness", known)


@pytest.mark.parametrize(
    ("name", "written"), [("nDCG@10", "ndcg@10"), ("ContextP(judge='overlap')@5", "ContextP@5"), ("RR", None)]
)
def test_a_measure_is_shown_as_it_is_written(name: str, written: str | None) -> None:
    measure = parse_measure(name)
    assert as_written(measure, ["AP,ndcg@10", "ContextP@5"]) == (written or measure)


@pytest.mark.parametrize("judge", ["a b", "", "x,y", 3])
def test_the_name_of_a_judge_has_no_characters_of_the_notation(judge: Any) -> None:
    with pytest.raises(UsageError, match=r"judge .* is not the name of a judge"):
        parse_measure("Faithfulness")(judge=judge)


@pytest.mark.parametrize(
    ("name", "case", "tables"),
    [
        ("Utilisation", BRIDGE, ("reference-contexts", "reference-answer")),
        ("Utilisation", ABSTAINED, ("reference-contexts",)),
        ("Noise(from='relevant')", UNANSWERABLE, ("answer-contexts",)),
        ("ClaimP", THREE, ("answer-reference",)),
        ("ClaimR", THREE, ("reference-answer",)),
        ("ClaimF1", THREE, ("answer-reference", "reference-answer")),
        ("ClaimP", replace(THREE, references=("First.", "Second.")), ("answer-reference", "reference-answer")),
        ("Faithfulness", ABSTAINED, ("answer-contexts",)),
    ],
)
def test_a_judge_is_asked_for_the_tables_that_the_value_of_a_case_needs(
    name: str, case: AnswerCase, tables: tuple[str, ...]
) -> None:
    assert measure_of(name, JUDGE).needed(case) == tables
