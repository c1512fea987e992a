"""A judge of claims against labels of people: agreement, corrected means, and labels that do not fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from rankproof._analysis.answers.judge_reliability import judge_family
from rankproof._analysis.answers.trust import calibration_words, trust_report
from rankproof._data.claims import Claim, ClaimVerdict, Verdict
from rankproof._data.table import Table
from rankproof._evaluation.claim_verdicts import matching_label
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._formats.claims import ClaimLabel, ClaimLabels, PersonLabel, claim_key
from rankproof.errors import InputError, UsageError
from rankproof.measures import ClaimR, Faithfulness, Hallucination
from rankproof.measures._claim_base import ClaimMeasure

JUDGE = "llm:mine:12345678"
MINE = type(Faithfulness)(judge="mine")
HALLUCINATION = type(Hallucination)(judge="mine")


def verdict(query: str, n: int, said: Verdict = "supported", *, judge: str = JUDGE, system: str = "a") -> ClaimVerdict:
    return ClaimVerdict(query, system, Claim("answer", n, f"{query} claim {n}", 0, 9), "contexts", said, judge)


def label(of: ClaimVerdict, said: ClaimLabel = "supported", person: str = "ann", line: int = 1) -> PersonLabel:
    return PersonLabel(claim_key(of), of.claim.text, said, person, "", line)


def result_of(verdicts: Iterable[ClaimVerdict], *, known: dict[str, float] | None = None, measure: ClaimMeasure = MINE) -> Result:
    """The result of Faithfulness, with the values that follow from the verdicts, and further known ones."""
    claims = tuple(verdicts)
    systems = []
    for system in dict.fromkeys(one.system for one in claims):
        credits: dict[str, list[float]] = {}
        for one in claims:
            if one.system == system and one.verdict != "nothing_to_check":
                credits.setdefault(one.query, []).append(one.credit)
        values = {query: sum(each) / len(each) for query, each in credits.items()} | (known or {})
        numbers = np.array(list(values.values()))
        found = {str(one): MeasureResult(one, float(numbers.mean()), tuple(values), numbers) for one in (measure, HALLUCINATION)}
        systems.append(SystemResult(system, found, ()))
    return Result(tuple(values), tuple(systems), claims)


def labels_of(*labels: PersonLabel) -> ClaimLabels:
    return ClaimLabels("people.jsonl", labels)


def some_claims(queries: int = 12, each: int = 3) -> list[ClaimVerdict]:
    """Every third claim is not stated by the judge."""
    return [
        verdict(f"q{query}", n, "not_stated" if (query + n) % 3 == 0 else "supported")
        for query in range(queries)
        for n in range(1, each + 1)
    ]


def trust_tables(result: Result, labels: ClaimLabels) -> tuple[Table, ...]:
    return trust_report(result, labels).tables


def test_agreement_with_people_is_that_of_the_labelled_claims() -> None:
    claims = some_claims()
    people = [label(one, "supported" if one.verdict == "supported" else "contradicted") for one in claims[:20]]
    people[0] = label(claims[0], "not_stated" if claims[0].verdict == "supported" else "supported")
    (found,) = trust_report(result_of(claims), labels_of(*people)).calibrations
    assert (found.judge, found.table, found.labels, found.queries) == (JUDGE, "answer-contexts", 20, 7)
    assert found.auc is not None
    assert found.kappa is not None
    assert 0.8 < found.kappa < 1
    assert 0.9 < found.auc < 1
    assert (found.people_kappa, found.people_kappa_interval) == (None, None)


def test_people_are_compared_with_each_other_on_the_claims_that_both_labelled() -> None:
    claims = some_claims(20)
    first = [label(one, "supported" if at % 2 else "not_stated", "ann") for at, one in enumerate(claims)]
    second = [label(one, "supported" if at % 2 or at == 4 else "not_stated", "bob") for at, one in enumerate(claims[:20])]
    (found,) = trust_report(result_of(claims), labels_of(*first, *second)).calibrations
    assert found.labels == 80
    assert found.people_kappa == pytest.approx(0.9)


def test_a_label_of_a_claim_that_two_systems_share_counts_once_in_the_agreement() -> None:
    both = [verdict(f"q{at}", 1, "supported" if at % 2 else "not_stated", system=system) for at in range(9) for system in "ab"]
    given = [PersonLabel(claim_key(one), one.claim.text, "supported", "ann", f"t{one.query}", 1) for one in both]
    (found,) = trust_report(result_of(both), labels_of(*given)).calibrations
    assert (found.labels, found.queries) == (9, 9)


def test_a_label_of_another_text_is_an_error_with_its_line() -> None:
    claims = some_claims()
    wrong = PersonLabel(claim_key(claims[3]), "another text", "supported", "ann", "", 7)
    with pytest.raises(
        InputError, match=r"people\.jsonl:7: the label is of another text than answer claim 1 of system a"
    ) as error:
        trust_tables(result_of(claims), labels_of(label(claims[0]), wrong))
    assert "label the claims of these results" in str(error.value)


def test_labels_of_other_results_are_counted_and_if_all_are_it_is_an_error() -> None:
    claims = some_claims()
    other = [label(verdict("z", n)) for n in (1, 2)]
    agreement, _ = trust_tables(result_of(claims), labels_of(label(claims[0]), *other))
    assert "2 labels left out: these results have no such claim" in agreement.notes
    with pytest.raises(UsageError, match="no label is of a claim that a judge of these results checked"):
        trust_tables(result_of(claims), labels_of(*other))


def test_failed_verdicts_and_claims_without_anything_to_check_are_left_out_and_counted() -> None:
    claims = [*some_claims(), verdict("f", 1, "failed"), verdict("n", 1, "nothing_to_check"), verdict("n", 2)]
    given = [label(one, "supported" if at % 2 else "not_stated") for at, one in enumerate(claims)]
    given[0] = label(claims[0], "nothing_to_check")
    agreement, _ = trust_tables(result_of([one for one in claims if one.query != "f"]), labels_of(*given))
    assert "1 label left out: these results have no such claim" in agreement.notes
    agreement, _ = trust_tables(result_of(claims), labels_of(*given))
    assert agreement.rows[0][4] == 36
    assert "1 labelled claim left out: the judge failed on them" in agreement.notes
    assert "judge and people differ on whether there is anything to check in 2 claims" in agreement.notes


def test_a_judge_that_is_not_better_than_chance_gets_a_sentence() -> None:
    claims = some_claims(30)
    agreement, _ = trust_tables(
        result_of(claims), labels_of(*(label(one, "supported" if at % 5 else "not_stated") for at, one in enumerate(claims)))
    )
    chance = "Not shown to tell supported claims from others, as the AUC may be 0.5: answer in contexts."
    assert agreement.sentences == ("Labelled claims: 90 by ann.", chance)
    agreement, _ = trust_tables(result_of(claims), labels_of(*map(label, claims)))
    same = "Agreement is not known, because people gave every claim the same label: answer in contexts."
    assert agreement.sentences == ("Labelled claims: 90 by ann.", same)
    few = [label(one, "not_stated" if one is claims[0] else "supported", person) for one in claims for person in ("ann", "bob")]
    agreement, _ = trust_tables(result_of(claims), labels_of(*few))
    unclear = "Too few labels to show that the judge tells supported claims from others: answer in contexts."
    assert agreement.sentences == ("Labelled claims: 90 by ann, 90 by bob.", unclear)


def test_with_all_claims_labelled_the_corrected_mean_is_that_of_people_over_answers() -> None:
    claims = [verdict("q1", 1), verdict("q2", 1), verdict("q2", 2), verdict("q3", 1)]
    given = [label(claims[0]), label(claims[1]), label(claims[2], "contradicted"), label(claims[3], "not_stated")]
    _, means = trust_tables(result_of(claims, known={"empty": 0.0}), labels_of(*given))
    judge, people, corrected = means.rows
    assert judge == ("a", "Faithfulness", "judge", 0.75, None, 4, None)
    assert people[3] == corrected[3] == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert "not corrected, because labels of single claims do not give their values: Hallucination" in means.notes


@pytest.mark.slow
def test_corrected_means_of_answers_are_unbiased_and_cover_where_answers_differ_in_length() -> None:
    """Long answers are worse, so the mean over claims is far from the mean over answers; the judge calls too much supported."""
    random = np.random.default_rng(3)
    covered, means, truths = [], [], []
    for _ in range(60):
        lengths = random.choice([1, 10], 80)
        claims, people, shares = list[ClaimVerdict](), list[PersonLabel](), list[float]()
        for query, length in enumerate(lengths):
            truth = random.random(length) < (0.9 if length == 1 else 0.4)
            shares.append(float(truth.mean()))
            for n, is_true in enumerate(truth, 1):
                claims.append(verdict(f"q{query}", n, "supported" if is_true or random.random() < 0.4 else "not_stated"))
                people.append(label(claims[-1], "supported" if is_true else "not_stated"))
        chosen = random.permutation(len(claims))[:120]
        _, table = trust_tables(result_of(claims), labels_of(*(people[at] for at in chosen)))
        value, interval = table.rows[2][3:5]
        assert isinstance(value, float)
        assert isinstance(interval, tuple)
        covered.append(interval[0] <= 0.65 <= interval[1])
        means.append(value)
        truths.append(np.mean(shares))
    assert np.mean(means) == pytest.approx(0.65, abs=0.025)
    assert np.mean(covered) >= 0.88


def test_of_several_references_the_one_that_the_value_is_of_counts() -> None:
    def of_reference(number: int, n: int, said: Verdict) -> ClaimVerdict:
        return ClaimVerdict(f"q{n}", "a", Claim("reference", 1, f"text {number}", 0, 5, number), "answer", said, JUDGE)

    claims = [of_reference(number, n, "supported" if number == 2 else "not_stated") for n in range(6) for number in (1, 2)]
    measure = type(ClaimR)(judge="mine")
    values = {f"q{n}": 1.0 for n in range(6)}
    found = MeasureResult(measure, 1.0, tuple(values), np.ones(6))
    result = Result(tuple(values), (SystemResult("a", {str(measure): found}, ()),), tuple(claims))
    given = [label(one, "supported" if one.claim.reference == 2 else "contradicted") for one in claims]
    _, means = trust_tables(result, labels_of(*given))
    assert means.rows[1][3] == 1.0
    assert means.rows[1][5] == 6


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mine", JUDGE), ("overlap", "overlap:0.5:aaaa"), ("minilm", "embedding:minilm:0.5:bbbb"), ("other", None)],
)
def test_the_label_of_a_judge_is_found_by_its_name(name: str, expected: str | None) -> None:
    assert matching_label(name, [JUDGE, "overlap:0.5:aaaa", "embedding:minilm:0.5:bbbb"]) == expected


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("my model", "llm:my_model:11111111"),
        ("ollama:qwen:7b", "llm:ollama:qwen:7b:11111111"),
        ("logprob:my model", "logprob:my_model:0.5:11111111"),
        ("nli:torch:acme/tiny", "nli:torch:acme/tiny:0.5:11111111"),
    ],
)
def test_a_label_is_that_of_one_judge_alone(name: str, label: str) -> None:
    others = ["llm:other:11111111", "logprob:other:0.5:11111111", "logprob:ollama:qwen:7b:0.5:11111111", "nli:acme:0.5:11111111"]
    assert matching_label(name, [*others, label]) == label
    assert matching_label(name, others) is None


def test_values_are_called_calibrated_only_where_people_labelled_claims_of_their_judge() -> None:
    claims = some_claims()
    report = trust_report(result_of(claims), labels_of(*map(label, claims[:9])))
    calibrations = report.calibrations
    claim_recall = type(ClaimR)(judge="mine")
    assert calibration_words([MINE], calibrations) == "calibrated on 9 labels"
    assert calibration_words([Faithfulness], calibrations) == "not calibrated"
    assert calibration_words([claim_recall], calibrations) == "not calibrated"
    assert calibration_words([MINE, claim_recall], calibrations) == "calibrated on 9 labels (ClaimR: not calibrated)"
    more = (*calibrations, replace(calibrations[0], table="reference-answer", labels=30))
    assert calibration_words([MINE, claim_recall], more) == "calibrated on 9 to 30 labels"


OTHER = "llm:org/Other-4b:87654321"


def judged_twice(systems: str = "ab") -> list[ClaimVerdict]:
    """Two judges of the same claims: the first says yes to everything, the second to two of three claims of each question."""
    return [
        verdict(f"q{query:02}", n, "not_stated" if judge == OTHER and n == 1 else "supported", judge=judge, system=system)
        for judge in (JUDGE, OTHER)
        for system in systems
        for query in range(30)
        for n in (1, 2, 3)
    ]


def table_of(tables: Iterable[Table], name: str) -> Table:
    return next(table for table in tables if table.name == name)


def test_the_bias_of_each_judge_is_its_mean_less_that_of_people_by_system() -> None:
    claims = judged_twice()
    people = [label(one, "supported" if one.claim.n == 3 or one.system == "b" else "not_stated") for one in claims[:180]]
    bias = table_of(trust_tables(result_of(claims), labels_of(*people)), "judge-bias")
    means = {(row[0], row[2]): row[3] for row in bias.rows}
    assert means[JUDGE, "a"] == pytest.approx(2 / 3)
    assert means[JUDGE, "b"] == 0
    assert means[OTHER, "a"] == pytest.approx(1 / 3)
    assert means[OTHER, "b"] == pytest.approx(-1 / 3)
    beyond = {(row[0], row[2]): row[5] for row in bias.rows}
    assert beyond[OTHER, "a"] == pytest.approx(2 / 3)
    assert means["all 2 judges", "a"] == pytest.approx(1 / 2)
    assert {row[7] for row in bias.rows} == {30}
    assert not bias.sentences


def test_a_judge_that_favours_a_system_of_its_own_family_is_named() -> None:
    claims = [replace(one, system={"a": "other-rag", "b": "plain"}[one.system]) for one in judged_twice()]
    fair = {f"q{at:02}" for at in range(6)}
    unfair = [
        label(one, "supported" if one.claim.n == 3 or one.system == "plain" or one.query in fair else "not_stated")
        for one in claims[:180]
    ]
    (sentence,) = table_of(trust_tables(result_of(claims), labels_of(*unfair)), "judge-bias").sentences
    assert sentence.startswith(f"{OTHER} favours other-rag, a name of its family: compared with people it rates it 53.3 pp, ")
    alike = [label(one, "supported" if one.claim.n == 3 else "not_stated") for one in claims[:180]]
    assert not table_of(trust_tables(result_of(claims), labels_of(*alike)), "judge-bias").sentences


def test_several_judges_are_compared_with_people_on_the_claims_that_all_checked() -> None:
    claims = [one for one in judged_twice() if one.judge == JUDGE or one.query != "q00"]
    people = [label(one, "supported" if one.claim.n > 1 else "not_stated") for one in claims[:180]]
    together = table_of(trust_tables(result_of(claims), labels_of(*people)), "judges-together")
    by_judge = {row[0]: (row[2], row[4], row[6]) for row in together.rows}
    assert by_judge[JUDGE] == (0.5, 0.0, 174)
    assert by_judge[OTHER] == (1.0, 1.0, 174)
    # The mean of both credits orders the claims as people do, and one vote of two is not the most.
    assert by_judge["all 2 judges"] == (1.0, 1.0, 174)


def test_the_family_of_a_judge_is_the_first_word_of_its_model() -> None:
    labels = ("llm:gpt-4o:3f2a1b0c", "llm:Qwen/Qwen3.5-9B:3f2a1b0c", "logprob:smollm2:0.5:1f0c2a91", "overlap:0.5:1f0c2a91")
    assert [judge_family(judge) for judge in labels] == ["gpt", "qwen", "smollm", None]
