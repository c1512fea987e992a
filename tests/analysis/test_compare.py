"""Comparisons of systems with known values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankproof as rp
from rankproof._data.table import Table
from rankproof._statistics.intervals import mean_interval
from support.compared_systems import BASE, FAST, SYSTEMS, comparison_tables, noise, result_of, target_at
from support.examples import examples


def table_of(tables: Sequence[Table], name: str, title: str = "") -> Table:
    return next(table for table in tables if table.name == name and title in table.title)


def row_of(tables: Sequence[Table], measure: str, system: str, other: str) -> dict[str, Any]:
    rows = table_of(tables, "details").records()
    return next(row for row in rows if (row["measure"], row["system"], row["other"]) == (measure, system, other))


def test_two_systems_differ_in_reciprocal_rank_and_not_in_success() -> None:
    # A has 80 targets first and 20 tenth, B has 80 fifth and 20 tenth: MRR .82 and .18, Success@5 80% for both.
    qrels = {f"q{at}": {"target": 1} for at in range(100)}
    runs = {"System A": target_at([1] * 80 + [10] * 20), "System B": target_at([5] * 80 + [10] * 20)}
    result = rp.evaluate(qrels, runs, ["RR", "Success@5"])
    assert result.means == {
        "System A": {"RR": pytest.approx(0.82), "Success@5": 0.8},
        "System B": {"RR": pytest.approx(0.18), "Success@5": 0.8},
    }
    tables = comparison_tables(result)
    (real,), (same,) = (table_of(tables, "verdicts", measure).sentences for measure in ("RR", "Success@5"))
    assert real.startswith("System A is better than System B in RR: +64.00 pp (95% CI ")
    assert real.endswith(", p < 0.0001 after Holm, n = 100).")
    assert same == "System A and System B have the same Success@5 on every query (n = 100)."


def test_every_number_of_a_pair_is_that_of_its_definition() -> None:
    one, other = [0.9, 0.8, 0.7, 0.4], [0.5, 0.8, 0.9, 0.1]
    row = row_of(comparison_tables(result_of({"a": {"nDCG@10": one}, "b": {"nDCG@10": other}})), "nDCG@10", "a", "b")
    apart = np.array(one) - np.array(other)
    assert (row["wins"], row["ties"], row["losses"], row["n"]) == (2, 1, 1, 4)
    assert row["difference"] == pytest.approx(0.125)
    assert row["d"] == pytest.approx(apart.mean() / apart.std(ddof=1))
    # Of 16 flips of +.4, 0, -.2, +.3 those of |sum| >= .5: the signs of .4 and .3 agree, four ways, whatever 0 and .2 do.
    assert row["p randomisation"] == row["p"] == 8 / 16
    assert row["verdict"] == "not significant"


def test_against_a_baseline_each_system_has_its_verdict() -> None:
    found = table_of(comparison_tables(result_of(SYSTEMS), baseline="base", **FAST), "verdicts")
    assert {row["system"]: row["verdict"] for row in found.records()} == {
        "good": "better",
        "weak": "worse",
        "near": "not significant",
    }
    assert found.title == "nDCG@10: which differences to base are significant (n = 60 queries)"


def test_without_a_baseline_every_pair_is_compared_the_better_system_first() -> None:
    found = table_of(comparison_tables(result_of(SYSTEMS), **FAST), "verdicts").records()
    assert len(found) == 6
    assert all(float(row["difference"]) >= 0 for row in found)  # type: ignore[arg-type]
    assert [row["verdict"] for row in found] == ["better"] * 5 + ["not significant"]


def test_within_a_margin_systems_are_equivalent() -> None:
    tables = comparison_tables(result_of(SYSTEMS), baseline="base", equivalence=0.02, **FAST)
    rows = {row["system"]: row["verdict"] for row in table_of(tables, "verdicts").records()}
    assert rows == {"good": "better", "weak": "worse", "near": "equivalent"}
    assert any(
        "near and base are equivalent within 2.00 pp in nDCG@10: " in one for one in table_of(tables, "verdicts").sentences
    )


def test_a_significant_difference_within_the_margin_is_equivalent() -> None:
    values = {"a": {"RR": BASE.tolist()}, "b": {"RR": (BASE + 0.001 + noise(5, 0.001)).tolist()}}
    (sentence,) = table_of(comparison_tables(result_of(values), equivalence=0.05, **FAST), "verdicts").sentences
    assert sentence.startswith("b and a are equivalent within 5.00 pp")
    assert sentence.endswith("; the difference is significant, but within the margin.")


def test_a_difference_that_is_not_significant_comes_with_its_power_and_the_queries_needed() -> None:
    tables = comparison_tables(result_of({name: SYSTEMS[name] for name in ("near", "base")}), **FAST)
    (sentence,) = table_of(tables, "verdicts").sentences
    row = table_of(tables, "details").records()[0]
    assert f"80% power for {100 * float(row['detectable']):.2f} pp;" in sentence  # type: ignore[arg-type]
    assert f"{row['needed']:,} queries needed for 80% power at the observed difference." in sentence
    assert int(row["needed"]) > 60  # type: ignore[arg-type]


def test_a_difference_of_0_needs_no_number_of_queries_and_a_tiny_one_more_than_a_billion() -> None:
    for last, words in (
        (0.5, "the observed difference is 0."),
        (0.500001, "more than 1,000,000,000 queries needed for 80% power at the observed difference."),
    ):
        values = {"a": {"RR": [0.6, 0.1, 0.9, last] * 5}, "b": {"RR": [0.1, 0.6, 0.5, 0.9] * 5}}
        (sentence,) = table_of(comparison_tables(result_of(values), **FAST), "verdicts").sentences
        assert sentence.endswith(words)


def test_letters_name_the_systems_that_each_one_beats() -> None:
    table = table_of(comparison_tables(result_of(SYSTEMS), **FAST), "letters")
    assert {row["letter"]: row["nDCG@10 beats"] for row in table.records()} == {"a": "", "b": "a", "c": "a", "d": "abc"}


def test_more_systems_than_letters_have_longer_ones() -> None:
    values = {f"s{at:02}": {"RR": (BASE + at).tolist()} for at in range(28)}
    rows = table_of(comparison_tables(result_of(values), baseline="s27", samples=5_000, resamples=100), "letters").records()
    assert [row["letter"] for row in rows[24:]] == ["y", "z", "aa", "ab"]
    assert str(rows[27]["RR beats"]).endswith("x,y,z,aa")


def test_lower_is_better_where_the_measure_says_so() -> None:
    higher = {"many": (BASE + 0.5).tolist(), "few": BASE.tolist()}
    values = {name: {"RR": BASE.tolist(), "Unjudged@10": row} for name, row in higher.items()}
    (row,) = table_of(comparison_tables(result_of(values), **FAST), "verdicts", "Unjudged@10").records()
    assert (row["pair"], row["verdict"]) == ("few vs many", "better")
    (row,) = table_of(comparison_tables(result_of(values), baseline="few", **FAST), "verdicts", "Unjudged@10").records()
    assert (row["system"], row["verdict"]) == ("many", "worse")


def test_systems_with_the_same_mean_keep_their_order() -> None:
    values = {name: {"RR": BASE.tolist(), "Unjudged@10": BASE.tolist()} for name in ("first", "second")}
    for measure in ("RR", "Unjudged@10"):
        (row,) = table_of(comparison_tables(result_of(values), **FAST), "verdicts", measure).records()
        assert row["pair"] == "first vs second"


@given(st.permutations(range(20)), st.permutations(range(20)))
@examples(10)
def test_queries_are_joined_by_id_and_their_order_changes_no_bit(first: list[int], second: list[int]) -> None:
    one, other = ({f"q{at}": float(BASE[at + shift]) for at in range(20)} for shift in (0, 20))
    plain = comparison_tables(result_of({"a": {"RR": one}, "b": {"RR": other}}), **FAST)
    mixed_one, mixed_other = ({f"q{at}": row[f"q{at}"] for at in order} for row, order in ((one, first), (other, second)))
    mixed = comparison_tables(result_of({"a": {"RR": mixed_one}, "b": {"RR": mixed_other}}), **FAST)
    assert [table.rows for table in mixed] == [table.rows for table in plain]


def test_queries_that_a_system_lacks_count_as_the_worst_value() -> None:
    one = {f"q{at}": 0.5 + at / 100 for at in range(10)}
    other = {query: value - 0.1 for query, value in one.items() if query not in ("q3", "q7")}
    tables = comparison_tables(result_of({"a": {"RR": one}, "b": {"RR": other}}))
    row = row_of(tables, "RR", "a", "b")
    assert row["n"] == 10
    assert row["difference"] == pytest.approx((8 * 0.1 + one["q3"] + one["q7"]) / 10)
    assert all("n = 10 queries" in table.title for table in tables if table.name != "doubt")


def test_a_query_missing_from_a_run_counts_0_and_is_noted() -> None:
    qrels = {f"q{at}": {"d": 1} for at in range(6)}
    whole = {query: {"d": 1.0} for query in qrels}
    result = rp.evaluate(qrels, {"all": whole, "some": {query: whole[query] for query in list(qrels)[:4]}}, ["RR"])
    tables = comparison_tables(result)
    assert row_of(tables, "RR", "all", "some")["n"] == 6
    assert table_of(tables, "letters").notes[0].startswith("some: 2 judged queries are not in the run and score 0")


def test_sums_and_geometric_means_are_left_out_or_refused_by_name() -> None:
    values = {name: {"RR": row["nDCG@10"], "NumRet": [100.0] * 60, "GMAP": row["nDCG@10"]} for name, row in SYSTEMS.items()}
    tables = comparison_tables(result_of(values), **FAST)
    assert [column.name for column in table_of(tables, "letters").columns] == ["system", "letter", "RR", "RR beats"]
    assert table_of(tables, "letters").notes[:2] == (
        "NumRet is a sum over queries and is not compared",
        "GMAP is a geometric mean and is not compared",
    )
    for name in ("NumRet", "GMAP"):
        with pytest.raises(rp.errors.UsageError, match="and has no paired differences; compare a mean"):
            comparison_tables(result_of(values), measures=name)


def test_more_tests_raise_every_p() -> None:
    alone = comparison_tables(result_of({name: SYSTEMS[name] for name in ("near", "base")}), **FAST)
    among = comparison_tables(result_of(SYSTEMS), **FAST)
    pair = [
        row_of(tables, "nDCG@10", *sorted(("near", "base"), key=lambda n: -np.mean(SYSTEMS[n]["nDCG@10"])))
        for tables in (alone, among)
    ]
    assert pair[0]["p randomisation"] == pair[1]["p randomisation"]
    assert pair[0]["p"] <= pair[1]["p"]
    assert pair[0]["needed"] < pair[1]["needed"]


@pytest.mark.parametrize("test", ["randomisation", "t"])
@pytest.mark.parametrize("correction", ["holm", "bonferroni", "bh", "none"])
@pytest.mark.parametrize("interval", ["t", "bca", "percentile"])
def test_every_option_is_used_and_described(test: Any, correction: Any, interval: Any) -> None:
    tables = comparison_tables(
        result_of(SYSTEMS), test=test, correction=correction, interval=interval, seed=9, alpha=0.01, **FAST
    )
    facts = table_of(tables, "details").facts
    assert (facts["test"], facts["correction"], facts["interval"], facts["seed"]) == (test, correction, interval, 9)
    (how,) = table_of(tables, "letters").sentences
    assert "seed 9" in how
    assert "99% intervals" in how
    assert {"t": "Student's t", "bca": "BCa", "percentile": "percentile"}[interval] in how
    assert {"t": "paired t-test", "randomisation": "(2,000 flips)"}[test] in how
    over = {"holm": "Holm over 6 tests", "bonferroni": "Bonferroni over 6 tests", "bh": "Benjamini-Hochberg over 6 tests"}
    assert over.get(correction, "no correction; ") in how
    for row in table_of(tables, "details").records():
        chosen = row["p randomisation" if test == "randomisation" else "p t-test"]
        assert row["p"] >= chosen if correction != "none" else row["p"] == chosen  # type: ignore[operator]


def test_too_few_queries_for_significance_are_noted() -> None:
    tables = comparison_tables(result_of({"a": {"RR": [0.9, 0.8, 0.7]}, "b": {"RR": [0.1, 0.2, 0.3]}}))
    assert table_of(tables, "letters").notes[0] == (
        "the smallest p of this test is 0.25, and one test may need 0.05; use more queries: at least 6"
    )
    (sentence,) = table_of(tables, "verdicts").sentences
    assert "too few queries for any difference to be significant; 6 queries needed for 80% power" in sentence


def test_too_few_samples_for_significance_are_noted() -> None:
    values = {f"s{at}": {"RR": (BASE + at).tolist()} for at in range(6)}
    notes = table_of(comparison_tables(result_of(values), samples=100, resamples=100), "letters").notes
    assert notes[0] == "the smallest p of this test is 0.0099, and one test may need 0.0033; use more samples: at least 299"


@pytest.mark.slow
def test_samples_do_not_help_where_there_are_too_few_queries() -> None:
    values = {f"s{at:02}": {"RR": (BASE[:15] + at).tolist()} for at in range(50)}
    notes = table_of(comparison_tables(result_of(values), resamples=100), "letters").notes
    assert notes[0] == ("the smallest p of this test is 6.1e-05, and one test may need 4.1e-05; use more queries: at least 16")


def test_an_interval_without_0_beside_a_verdict_of_not_significant_is_explained() -> None:
    values = {f"s{at}": {"RR": (BASE + 0.02 * at + noise(at, 0.1)).tolist()} for at in range(6)}
    tables = comparison_tables(result_of(values), correction="bonferroni", **FAST)
    doubtful = [row for row in table_of(tables, "details").records() if row["verdict"] == "not significant"]
    assert any(row["95% CI"][0] > 0 for row in doubtful)  # type: ignore[index,operator]
    assert any(note.startswith("an interval is for its pair alone") for note in table_of(tables, "letters").notes)


def test_a_difference_outside_0_to_1_is_not_in_percentage_points() -> None:
    values = {"a": {"DCG@10": (BASE * 9 + 2).tolist()}, "b": {"DCG@10": (BASE * 9).tolist()}}
    (sentence,) = table_of(comparison_tables(result_of(values), **FAST), "verdicts").sentences
    assert "b in DCG@10: +2.0000 (no interval because every query differs by the same amount, " in sentence
    assert "pp" not in sentence


def test_a_worse_system_has_a_negative_difference_within_its_interval() -> None:
    (sentence,) = table_of(
        comparison_tables(result_of({name: SYSTEMS[name] for name in ("weak", "base")}), baseline="base", **FAST), "verdicts"
    ).sentences
    found = re.search(r"weak is worse than base in nDCG@10: (-[\d.]+) pp \(95% CI \[(-[\d.]+), (-[\d.]+)\],", sentence)
    assert found is not None
    mean, low, high = map(float, found.groups())
    assert low < mean < high


FLAT = {"a": {"RR": [0.9, 0.6]}, "b": {"RR": [0.5, 0.2]}}


@pytest.mark.parametrize("test", ["t", "randomisation"])
@pytest.mark.parametrize("margin", [None, 0.5])
def test_two_queries_with_the_same_difference_are_not_significant(test: Any, margin: float | None) -> None:
    tables = comparison_tables(result_of(FLAT), test=test, equivalence=margin, **FAST)
    row = row_of(tables, "RR", "a", "b")
    assert (row["p"], row["p t-test"], row["95% CI"], row["verdict"]) == (0.5, None, None, "not significant")
    assert row["p equivalence"] == (None if margin is None else 1.0)
    notes = table_of(tables, "letters").notes
    assert any(note.startswith("every query differs by the same amount (1 test): no interval") for note in notes)
    assert notes[0].startswith("the smallest p of this test is 0.5")


def test_few_queries_have_an_approximate_interval_and_a_note() -> None:
    values = {"a": {"RR": [0.9, 0.7, 0.8, 1.0, 0.6, 0.9, 0.3, 0.2, 0.5, 1.0]}, "b": {"RR": [0.2, 0.8, 0.3, 0.2, 0.1] * 2}}
    tables = comparison_tables(result_of(values), **FAST)
    low, high = row_of(tables, "RR", "a", "b")["95% CI"]
    apart = np.array(values["a"]["RR"]) - np.array(values["b"]["RR"])
    assert (low, high) == pytest.approx(stats.t.interval(0.95, 9, apart.mean(), stats.sem(apart)))
    table = table_of(tables, "letters")
    assert "(Student's t)" in table.sentences[0]
    assert "Holm over 1 test;" in table.sentences[0]
    assert table.facts["interval"] == "t"
    assert table.notes == ("n = 10 queries is a small sample: intervals are approximate",)


@pytest.mark.parametrize("interval", ["t", "bca", "percentile"])
def test_few_queries_that_differ_are_counted_and_have_no_interval(interval: Any) -> None:
    base = np.random.default_rng(0).random(60)
    values = {"a": {"RR": base.tolist()}, "b": {"RR": np.where(np.arange(60) < 9, base / 2, base).tolist()}}
    tables = comparison_tables(result_of(values), interval=interval, **FAST)
    assert row_of(tables, "RR", "a", "b")["95% CI"] is None
    assert "(no interval because only 9 queries differ, p = " in table_of(tables, "verdicts").sentences[0]


def test_no_resample_is_drawn_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankproof._analysis.compare import pairs

    def refuse(*_: object) -> None:
        raise AssertionError("resampled")

    monkeypatch.setattr(pairs, "resampled_means", refuse)
    comparison_tables(result_of(SYSTEMS), **FAST)
    with pytest.raises(AssertionError, match="resampled"):
        comparison_tables(result_of(SYSTEMS), interval="bca", **FAST)


def test_with_a_margin_both_tests_of_all_pairs_are_one_family() -> None:
    alone, both = (comparison_tables(result_of(SYSTEMS), equivalence=margin, **FAST) for margin in (None, 0.02))
    plain, together = (table_of(tables, "details").records() for tables in (alone, both))
    assert all(before["p adjusted"] <= after["p adjusted"] for before, after in zip(plain, together, strict=True))  # type: ignore[operator]
    # At most one hypothesis of a pair is true: until both tests of one succeed, each p is raised six times.
    assert [after["p adjusted"] for after in together] == [min(1.0, 6 * float(after["p randomisation"])) for after in together]  # type: ignore[arg-type]
    assert "Holm over 6 tests of differences and 6 of equivalence, as one family" in table_of(both, "letters").sentences[0]


def test_benjamini_hochberg_asks_less_of_one_test_where_others_succeed() -> None:
    values = {f"s{at}": {"RR": (BASE + at + noise(at, 0.1)).tolist()} for at in range(6)}
    tables = comparison_tables(result_of(values), correction="bh", samples=100, resamples=100)
    assert {row["verdict"] for row in table_of(tables, "details").records()} == {"better"}
    assert table_of(tables, "letters").notes == ()


ONE = {"a": {"RR": [1.0, 0.5]}}


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        (ONE, {}, "there is only one system; compare two or more"),
        (
            ONE | {"b": {"RR": {"x": 1.0}}},
            {},
            "the systems have 0 queries in common; compare them on at least two common queries",
        ),
        (ONE | {"b": {"RR": {"q000": 1.0}}}, {}, "the systems have 1 query in common; "),
        (ONE | {"b": {"RR": [1.0, 1.0]}}, {"baseline": "c\x1b"}, r"no system is called c\\x1b; choose from: a, b"),
        (ONE | {"b": {"RR": [1.0, 1.0]}}, {"measures": ["AP"]}, "AP was not evaluated for every system; choose from: RR"),
        (ONE | {"b": {"AP": [1.0, 1.0]}}, {}, "only means can be compared, and no evaluated measure is a mean"),
        (ONE, {"test": "z"}, "test is z; choose one of randomisation, t"),
        (ONE, {"correction": "sidak"}, "correction is sidak; choose one of holm"),
        (ONE, {"interval": None}, "interval is None; choose one of t, bca, percentile"),
        (ONE, {"alpha": 1.0}, "alpha is 1.0; choose a number above 0 and below 0.5"),
        (ONE, {"alpha": float("nan")}, "alpha is nan; "),
        (ONE, {"equivalence": 0.0}, "equivalence is 0.0; choose a number above 0"),
        (ONE, {"equivalence": float("inf")}, "equivalence is inf; "),
        (ONE, {"samples": 10}, "samples is 10; choose a whole number from 100 to 10,000,000"),
        (ONE, {"resamples": 1e4}, "resamples is 10000.0; "),
        (ONE, {"seed": -1}, "seed is -1; "),
        (ONE, {"seed": True}, "seed is True; "),
    ],
)
def test_what_cannot_be_compared_is_refused(values: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(rp.errors.UsageError, match=words):
        comparison_tables(result_of(values), **options)


def test_many_queries_are_tested_by_the_expansion_and_the_method_says_so() -> None:
    random = np.random.default_rng(0)
    base = random.random(20_001)
    values = {"a": {"RR": base.tolist()}, "b": {"RR": (base + random.normal(0.002, 0.1, 20_001)).tolist()}}
    tables = comparison_tables(result_of(values), samples=1_000)
    row = row_of(tables, "RR", "b", "a")
    assert row["p randomisation"] == pytest.approx(row["p t-test"], rel=0.01)
    assert "all flips by Edgeworth expansion, as n > 20,000" in table_of(tables, "letters").sentences[0]


@pytest.mark.parametrize(("n", "flips"), [(13, "exact, all 8,192 flips"), (14, "exact, all 16,384 flips"), (15, "100,000 flips")])
def test_all_flips_of_up_to_fourteen_queries_are_tried_and_the_method_says_so(n: int, flips: str) -> None:
    tables = comparison_tables(result_of({"a": {"RR": [0.9] * n}, "b": {"RR": [0.1] * n}}))
    (how,) = table_of(tables, "letters").sentences
    assert f"({flips})" in how
    (row,) = table_of(tables, "details").records()
    assert row["p"] == (2 / 2**n if n <= 14 else pytest.approx(2 / 2**n, abs=1e-3))


def test_the_decision_has_the_interval_of_students_t_of_each_pair() -> None:
    qrels = {f"q{at}": {"target": 1} for at in range(60)}
    runs = {"a": target_at([1, 2, 3] * 20), "b": target_at([4, 2, 1] * 20), "c": target_at([9, 9, 5] * 20)}
    result = rp.evaluate(qrels, runs, "RR")
    values = {system.name: system.measures["RR"].values for system in result.systems}
    against = rp.compare(result, **FAST).decision.against
    assert [(pair.system, pair.other) for pair in against] == [("a", "b"), ("a", "c")]
    for pair in against:
        assert pair.ci == pytest.approx(mean_interval(values[pair.system] - values[pair.other]))


@pytest.mark.parametrize(("test", "about"), [("t", "not corrected"), ("tukey", "for all pairs")])
def test_the_column_of_p_says_whether_it_is_corrected(test: Any, about: str) -> None:
    tables = comparison_tables(result_of(SYSTEMS), test=test, **FAST)
    assert any(about in column.about for column in table_of(tables, "details").columns if column.name == "p")
