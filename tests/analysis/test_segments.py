"""Segments: groups of queries, and the test of each group against the rest."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankproof._analysis.bands import builtin_profiles, profiles_from_toml
from rankproof._analysis.inputs import AnalysisInput, reevaluated
from rankproof._analysis.options import SegmentOptions
from rankproof._analysis.query_groups import by_list, default_grouping, group_queries
from rankproof._analysis.segments import flat_segments_table, segment_findings, segments
from rankproof._cli.options import read_segments
from rankproof._data.arrays import FloatArray
from rankproof._evaluation.options import EvaluateOptions
from rankproof._io.toml_file import read_toml
from rankproof._statistics.permutation import group_label_p, label_p
from rankproof.errors import InputError, UsageError
from support.analysis_inputs_with_texts import input_of, one_target, ranked_at
from support.examples import examples

FAST = SegmentOptions(samples=500)


def weak_and_strong(weak: int = 20, strong: int = 30, *, systems: tuple[str, ...] = ("one",)) -> AnalysisInput:
    """The weak queries have their target at rank 6 to 10 or nowhere, the strong ones at 1 or 2."""
    ranks: dict[str, int | None] = {f"w{at}": 6 + at % 5 if at % 3 else None for at in range(weak)}
    ranks |= {f"s{at}": 1 + at % 2 for at in range(strong)}
    fields = {query: {"category": "weak" if query[0] == "w" else "strong"} for query in ranks}
    return input_of(one_target(list(ranks)), {name: ranked_at(ranks) for name in systems}, fields=fields)


def test_a_weak_segment_is_lower_than_the_rest_and_comes_first() -> None:
    inputs = weak_and_strong()
    (table,) = segments(inputs, group_queries(inputs, "category"), "RR@10", FAST)
    weak, strong = table.records()
    assert (weak["category"], weak["n"], weak["verdict"]) == ("weak", 20, "lower")
    assert (strong["category"], strong["n"], strong["verdict"]) == ("strong", 30, "higher")
    assert weak["rest"] == strong["value"]
    assert any("is significantly lower on weak (n = 20)" in sentence for sentence in table.sentences)


def test_two_segments_that_are_each_others_rest_are_one_test() -> None:
    inputs = weak_and_strong(systems=("one", "two"))
    _, one, two = segments(
        inputs, group_queries(inputs, "category"), "RR@10", SegmentOptions(samples=500, correction="bonferroni")
    )
    assert one.facts["tests"] == 2
    for table in (one, two):
        weak, strong = table.records()
        assert weak["p"] == strong["p"] == pytest.approx(2 / 501)
        assert sum("significantly" in sentence for sentence in table.sentences) == 1
    assert (
        "over 2 tests (every segment of every system; two segments that are each other's rest are one test)" in two.sentences[-1]
    )


def test_values_of_segments_weighted_by_n_give_the_mean_of_all() -> None:
    inputs = weak_and_strong()
    (table,) = segments(inputs, group_queries(inputs, "category"), "RR@10", FAST)
    weak, strong = table.records()
    assert (20 * weak["value"] + 30 * strong["value"]) / 50 == pytest.approx(inputs.result.value("RR@10"))  # type: ignore[operator]


def test_a_small_segment_is_shown_and_not_tested() -> None:
    inputs = weak_and_strong(weak=4)
    (table,) = segments(inputs, group_queries(inputs, "category"), "RR@10", FAST)
    weak = table.records()[0]
    assert weak["p"] is None
    assert weak["verdict"] == "too few queries"
    assert table.notes == ("segments with fewer than 10 queries are not tested: 1 (weak)",)


def test_the_lowest_of_the_larger_segments_is_not_called_the_lowest_of_all() -> None:
    inputs = weak_and_strong(weak=4, systems=("one", "two"))
    overview, *_ = segments(inputs, group_queries(inputs, "category"), "RR@10", FAST)
    (sentence,) = overview.sentences
    assert sentence.startswith("strong has the lowest RR@10 of the segments with at least 10 queries for 2 of 2 systems,")


def test_the_lowest_value_is_not_called_lower_without_significance() -> None:
    ranks: dict[str, int | None] = {f"q{at:02}": 1 + at % 2 for at in range(40)}
    ranks["q00"] = 2
    fields = {query: {"half": "first" if query < "q20" else "second"} for query in ranks}
    runs = {name: ranked_at(ranks) for name in ("one", "two")}
    inputs = input_of(one_target(list(ranks)), runs, fields=fields)
    overview, *_ = segments(inputs, group_queries(inputs, "half"), "RR@10", FAST)
    assert overview.sentences == ("first has the lowest RR@10 for 2 of 2 systems, but not significantly for any of them.",)


def test_a_segment_of_one_query_has_no_interval_and_one_of_equal_values_has_wilsons() -> None:
    ranks = {f"q{at:02}": 1 + at % 3 for at in range(30)} | {"alone": 5, "x1": 2, "x2": 2}
    fields = {query: {"kind": query if query == "alone" else query[0]} for query in ranks}
    inputs = input_of(one_target(list(ranks)), {"one": ranked_at(ranks)}, fields=fields)
    (table,) = segments(inputs, group_queries(inputs, "kind"), "RR@10", FAST)
    intervals = {str(row["kind"]): row["95% CI"] for row in table.records()}
    assert intervals["alone"] is None
    square = stats.t.ppf(0.975, 1) ** 2 / 2
    half = np.sqrt(square * (0.25 + square / 4)) / (1 + square)
    assert intervals["x"] == pytest.approx((0.5 - half, 0.5 + half))
    assert intervals["q"] is not None


def test_a_segment_of_few_queries_has_an_interval_of_students_t_within_what_a_mean_can_be() -> None:
    inputs = weak_and_strong(weak=12, strong=3)
    (table,) = segments(inputs, group_queries(inputs, "category"), "RR@10", FAST)
    weak, strong = (row["95% CI"] for row in table.records())
    values = np.array([0 if at % 3 == 0 else 1 / (6 + at % 5) for at in range(12)])
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert weak == pytest.approx((max(low, 0.0), high))
    assert strong[1] == 1.0  # type: ignore[index]
    assert "(Student's t; Wilson's if all values are equal), not corrected" in table.sentences[-1]
    assert table.notes[-1] == "intervals of segments with fewer than 20 queries are approximate: 1 (weak)"


def test_every_segment_of_every_system_is_one_table_for_programs() -> None:
    inputs = weak_and_strong(systems=("one", "two"))
    tables = [table for by in ("category", "relevant") for table in segments(inputs, group_queries(inputs, by), "RR@10", FAST)]
    rows = flat_segments_table(tables).records()
    assert [(row["by"], row["segment"], row["system"]) for row in rows] == [
        *(("category", segment, system) for system in ("one", "two") for segment in ("weak", "strong")),
        *(("relevant", "1", system) for system in ("one", "two")),
    ]
    assert {row["measure"] for row in rows} == {"RR@10"}


def test_several_systems_have_an_overview_and_one_correction() -> None:
    inputs = weak_and_strong(systems=("one", "two", "three"))
    overview, *details = segments(inputs, group_queries(inputs, "category"), "RR@10", FAST)
    assert [row["category"] for row in overview.records()] == ["weak", "strong", "all queries"]
    assert overview.sentences == (
        "weak has the lowest RR@10 for 3 of 3 systems, significantly lower than the rest for 3 of them.",
        "Failing by the bands of rag, with the whole 95% interval: weak (one, two, three).",
    )
    assert [table.facts["system"] for table in details] == ["one", "two", "three"]
    assert {table.facts["tests"] for table in details} == {3}
    least = 1 / (FAST.samples + 1)
    assert details[0].records()[0]["p"] == pytest.approx(3 * least)


def successes(counts: dict[str, tuple[int, int]], measures: tuple[str, ...] = ("Success@5", "nDCG@10")) -> AnalysisInput:
    """Segments by the number of their queries with the target at rank 1, and of those without it."""
    ranks: dict[str, int | None] = {
        f"{name}{at:03}": 1 if at < hits else None for name, (hits, misses) in counts.items() for at in range(hits + misses)
    }
    fields = {query: {"kind": query[:-3]} for query in ranks}
    return input_of(one_target(list(ranks)), {"one": ranked_at(ranks)}, fields=fields, measures=measures)


TUTORIAL = {"appliance": (85, 15), "timing": (78, 22), "technique": (65, 35), "substitution": (42, 58)}
"""Hits and misses in the top 5 of 100 queries each, the example of segments in the Retrieval Metrics Tutorial."""


def test_segments_are_rated_by_the_bands_of_the_tutorial() -> None:
    inputs = successes(TUTORIAL)
    (table,) = segments(inputs, group_queries(inputs, "kind"), "Success@5", FAST)
    assert [(row["kind"], row["band"], row["rating"]) for row in table.records()] == [
        ("substitution", "Poor", "failing"),
        ("technique", "Poor (Poor to Acceptable)", "failing (failing to weak)"),
        ("timing", "Acceptable (Poor to Good)", "weak (failing to good)"),
        ("appliance", "Good (Acceptable to Excellent)", "good (weak to good)"),
    ]
    assert (table.facts["profile"], table.facts["bands_source"][:26]) == ("tutorial", "Retrieval Metrics Tutorial")
    assert any(said.startswith("Bands of the profile tutorial: Poor from 0 (failing), ") for said in table.sentences)


def test_a_rating_is_sure_only_if_the_whole_interval_has_it() -> None:
    inputs = successes({"many": (420, 580), "few": (6, 6)})
    (table,) = segments(inputs, group_queries(inputs, "kind"), "Success@5", FAST)
    assert {row["kind"]: row["rating"] for row in table.records()} == {"many": "failing", "few": "failing (failing to good)"}


def test_a_small_segment_says_so_and_equal_values_are_rated_by_wilsons_interval() -> None:
    inputs = successes({"tiny": (2, 2), "sure": (12, 0), "none": (0, 15), "rest": (12, 13)})
    (table,) = segments(inputs, group_queries(inputs, "kind"), "Success@5", FAST)
    cells = {row["kind"]: (row["band"], row["rating"]) for row in table.records()}
    assert cells["tiny"] == ("Poor (Poor to Excellent)", "too few queries")
    assert cells["sure"] == ("Excellent (Acceptable to Excellent)", "good (weak to good)")
    assert cells["none"] == ("Poor", "failing")
    assert table.sentences[0] == ("Failing by the bands of tutorial, with the whole 95% interval: none (one); rest (one).")


def test_a_value_below_every_band_has_no_rating(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text('[shop]\nsource = "ours"\n[shop.measures."Success@5"]\nGood = { from = 0.8, rating = "good" }\n')
    inputs = successes({"none": (0, 15), "some": (18, 4)})
    (table,) = segments(
        inputs, group_queries(inputs, "kind"), "Success@5", FAST, list(profiles_from_toml(read_toml(str(path))).values())
    )
    assert {row["kind"]: (row["band"], row["rating"]) for row in table.records()} == {
        "none": ("below Good", "no rating"),
        "some": ("Good (below Good to Good)", "good (no rating to good)"),
    }


def test_chosen_profiles_without_the_measure_are_noted() -> None:
    inputs = successes(TUTORIAL)
    by, chosen = group_queries(inputs, "kind"), builtin_profiles()
    note = "the profile tutorial has no bands for nDCG@10; choose another measure, such as -m Success@5"
    assert note in segments(inputs, by, "nDCG@10", FAST, [chosen["tutorial"]])[-1].notes
    (both,) = segments(inputs, by, "nDCG@10", FAST, list(chosen.values()))
    assert any("the profiles tutorial, rag have no bands" in one for one in both.notes)
    for table in (*segments(inputs, by, "nDCG@10", FAST), *segments(inputs, by, "Success@5", FAST, [chosen["tutorial"]])):
        assert not any("bands" in one for one in table.notes)


def test_a_measure_without_bands_has_no_rating() -> None:
    inputs = successes(TUTORIAL)
    (table,) = segments(inputs, group_queries(inputs, "kind"), "nDCG@10", FAST)
    assert not {"band", "rating"} & {column.name for column in table.columns}
    assert "profile" not in table.facts
    flat = flat_segments_table([table, *segments(inputs, group_queries(inputs, "kind"), "Success@5", FAST)])
    assert [row["rating"] is None for row in flat.records()] == [True] * 4 + [False] * 4
    assert all(row["segment"] in TUTORIAL and row["system"] == "one" for row in flat.records())


def test_what_counts_as_relevant_does_not_change_the_profile() -> None:
    inputs = successes({"one": (6, 6), "two": (1, 11)}, ("Success(rel=1)@5",))
    (table,) = segments(inputs, group_queries(inputs, "kind"), "Success@5", FAST)
    assert table.facts["profile"] == "tutorial"


def test_own_bands_without_ratings_give_bands_alone(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text('[shop]\nsource = "our targets"\n[shop.measures."Success@5"]\nfine = 0.4\ngreat = { above = 0.7 }\n')
    inputs = successes(TUTORIAL)
    (table,) = segments(
        inputs, group_queries(inputs, "kind"), "Success@5", FAST, list(profiles_from_toml(read_toml(str(path))).values())
    )
    assert [row["band"] for row in table.records()] == [
        "fine (below fine to fine)",
        "fine (fine to great)",
        "great (fine to great)",
        "great",
    ]
    assert "rating" not in {column.name for column in table.columns}


def test_queries_without_a_value_are_a_segment_with_a_unique_name() -> None:
    kinds = {"q1": "(no kind)", "q2": "", "q3": None, "q4": 7, "q5": True}
    fields = {query: {"kind": kind} for query, kind in kinds.items()}
    inputs = input_of(one_target(list(fields)), {"one": ranked_at(dict.fromkeys(fields, 1))}, fields=fields)
    assert group_queries(inputs, "kind").segments == {
        "(no kind)": ("q1",),
        "((no kind))": ("q2", "q3"),
        "7": ("q4",),
        "true": ("q5",),
    }


@pytest.mark.parametrize(
    ("words", "segment"), [(1, "short (under 8 words)"), (7, "short (under 8 words)"), (8, "medium (8-15 words)")]
)
def test_length_counts_words(words: int, segment: str) -> None:
    assert list(by_length_of(" ".join(["word"] * words))) == [segment]


def test_fifteen_words_are_medium_and_sixteen_are_long() -> None:
    assert list(by_length_of("word " * 15)) == ["medium (8-15 words)"]
    assert list(by_length_of("word\t" * 16)) == ["long (over 15 words)"]


def by_length_of(text: str) -> dict[str, tuple[str, ...]]:
    inputs = input_of(one_target(["q"]), {"one": ranked_at({"q": 1})}, texts={"q": text})
    return dict(group_queries(inputs, "length").segments)


def test_queries_are_grouped_by_how_many_documents_are_relevant() -> None:
    counts = {"none": 0, "one": 1, "five": 5, "six": 6, "ten": 10, "many": 11}
    qrels = {query: {"d0": 0, **{f"d{at}": 1 for at in range(1, count + 1)}} for query, count in counts.items()}
    inputs = input_of(qrels, {"one": {query: ["d1"] for query in qrels}})
    assert group_queries(inputs, "relevant").segments == {
        "none": ("none",),
        "1": ("one",),
        "2-5": ("five",),
        "6-10": ("six", "ten"),
        "more than 10": ("many",),
    }


def test_a_list_of_segments_leaves_no_query_out() -> None:
    inputs = input_of(one_target(["q1", "q2"]), {"one": ranked_at({"q1": 1, "q2": 1})})
    assert by_list(inputs, {"q1": "a", "q9": "b"}, "list.csv").segments == {"a": ("q1",), "(not in list.csv)": ("q2",)}
    with pytest.raises(UsageError, match="contains no judged query"):
        by_list(inputs, {"q9": "b"}, "list.csv")


def test_the_default_grouping_depends_on_the_input() -> None:
    runs = {"one": ranked_at({"q": 1})}
    assert default_grouping(input_of(one_target(["q"]), runs)) == "relevant"
    assert default_grouping(input_of(one_target(["q"]), runs, texts={"q": "text"})) == "length"
    assert default_grouping(input_of(one_target(["q"]), runs, fields={"q": {"category": "x"}})) == "category"


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no query has a field color; choose from: category, length, relevant, complexity;"):
        group_queries(weak_and_strong(), "color")


def test_a_field_of_lists_is_not_offered_instead_of_an_unknown_field() -> None:
    fields = {"q": {"kind": "x", "answers": ["yes"]}}
    inputs = input_of(one_target(["q"]), {"one": ranked_at({"q": 1})}, fields=fields)
    with pytest.raises(UsageError, match="color; choose from: kind, length, relevant, complexity; or pass"):
        group_queries(inputs, "color")


def test_a_sum_has_no_segments() -> None:
    inputs = input_of(one_target(["q"]), {"one": ranked_at({"q": 1})}, measures=["NumRet"])
    with pytest.raises(UsageError, match="NumRet is not a mean"):
        segments(inputs, group_queries(inputs, "relevant"), "NumRet", FAST)


def test_only_the_queries_that_a_run_has_count_where_missing_ones_are_skipped() -> None:
    ranks = {f"q{at}": 1 + at % 3 for at in range(24)}
    fields = {query: {"half": "a" if int(query[1:]) < 12 else "b"} for query in ranks}
    some = {query: rank for query, rank in ranks.items() if query != "q0"}
    inputs = input_of(
        one_target(list(ranks)), {"all": ranked_at(ranks), "some": ranked_at(some)}, fields=fields, skip_missing=True
    )
    overview, whole, part = segments(inputs, group_queries(inputs, "half"), "RR@10", FAST)
    assert {row["half"]: row["n"] for row in whole.records()} == {"a": 12, "b": 12}
    assert {row["half"]: row["n"] for row in part.records()} == {"a": 11, "b": 12}
    assert overview.notes == ("some: n = 23 queries",)


def test_one_segment_alone_has_no_rest() -> None:
    inputs = weak_and_strong(weak=0)
    (table,) = segments(inputs, group_queries(inputs, "category"), "RR@10", FAST)
    (row,) = table.records()
    assert (row["rest"], row["difference"], row["p"], row["verdict"]) == (None, None, None, "no rest")


def exact_p(values: FloatArray, size: int) -> float:
    def apart(chosen: tuple[int, ...]) -> float:
        inside = np.isin(np.arange(len(values)), chosen)
        return abs(float(values[inside].mean() - values[~inside].mean()))

    seen = apart(tuple(range(size)))
    every = [apart(chosen) for chosen in combinations(range(len(values)), size)]
    return float(np.mean([each >= seen - 1e-12 for each in every]))


def test_the_label_permutation_test_agrees_with_full_enumeration() -> None:
    values = np.array([0.1, 0.0, 0.3, 0.2, 0.9, 0.7, 0.4, 0.8, 0.6])
    samples = 20_000
    p = label_p(values[:, None], [4, 5], samples=samples, seed=1)[:, 0]
    wanted = exact_p(values, 4)
    assert p == pytest.approx([wanted, wanted], abs=4 * (wanted * (1 - wanted) / samples) ** 0.5)


def test_each_of_three_segments_is_compared_with_its_own_rest() -> None:
    values = np.array([0.9, 0.8, 0.3, 0.2, 0.5, 0.1, 0.0, 0.4, 0.6])
    samples, starts = 20_000, (0, 2, 5)
    p = label_p(values[:, None], [2, 3, 4], samples=samples, seed=1)[:, 0]
    wanted = [exact_p(np.roll(values, -start), size) for start, size in zip(starts, (2, 3, 4), strict=True)]
    assert len({round(one, 2) for one in wanted}) == 3
    assert p == pytest.approx(wanted, abs=4 * 0.5 / samples**0.5)


def test_random_labels_are_rarely_significant() -> None:
    generator = np.random.default_rng(3)
    values = (generator.random((40, 500)) < 0.6).astype(np.float64)
    p = label_p(values, [15, 25], samples=400, seed=5)[0]
    assert 0.02 <= float(np.mean(p <= 0.05)) <= 0.07


def test_equal_values_are_never_significant() -> None:
    assert label_p(np.full((20, 1), 0.3), [10, 10], samples=99, seed=0).tolist() == [[1.0], [1.0]]


def test_permutations_do_not_depend_on_the_scale_of_the_values() -> None:
    values = np.random.default_rng(8).integers(0, 4, (30, 1)) / 10
    plain, large, small = (label_p(values * size, [10, 20], samples=999, seed=2) for size in (1.0, 1e9, 1e-13))
    assert plain.tolist() == large.tolist() == small.tolist()
    assert 0.01 < float(plain[0, 0]) < 1


def test_the_permutations_of_a_seed_never_change() -> None:
    values = np.arange(24.0)[:, None] % 7
    assert label_p(values, [9, 15], samples=999, seed=4).tolist() == [[0.594], [0.594]]


def test_permutations_of_groups_of_one_query_are_those_of_queries() -> None:
    values = np.random.default_rng(5).random((30, 2))
    inside = np.arange(30) < 12
    p = label_p(values, [12, 18], samples=20_000, seed=1)[0]
    groups = group_label_p(values, [inside], groups=np.arange(30), samples=20_000, seed=1)[0]
    assert groups == pytest.approx(p, abs=0.02)
    assert group_label_p(values, [inside], np.full(30, 7.0), samples=999, seed=1).tolist() == pytest.approx(
        group_label_p(values, [inside], samples=999, seed=1)
    )


@pytest.mark.parametrize("share_of_turns", [0.0, 0.15, 1.0])
def test_turns_of_conversations_give_few_false_alarms(share_of_turns: float) -> None:
    """Sessions of 5 correlated turns: in a segment as a whole, but for some turns, or turn by turn."""
    generator = np.random.default_rng(11)
    groups = np.repeat(np.arange(40), 5)
    values = (0.8 * generator.normal(size=(40, 600))[groups] + 0.6 * generator.normal(size=(200, 600)) > 0.5).astype(np.float64)
    inside = (np.arange(40) < 14)[groups]
    single = generator.random(200) < share_of_turns
    inside[single] = generator.random(int(single.sum())) < 0.35
    p = group_label_p(values, [inside], groups=groups, samples=300, seed=2)[0]
    assert 0.02 <= float(np.mean(p <= 0.05)) <= 0.075
    if share_of_turns == 0.0:
        naive = label_p(np.concatenate([values[inside], values[~inside]]), [70, 130], samples=300, seed=2)[0]
        assert float(np.mean(naive <= 0.05)) > 0.15


def test_segments_count_conversations_and_not_their_turns() -> None:
    """12 turns of 3 conversations are 3 conversations: too few for a test, and the others are 8."""
    ranks: dict[str, int | None] = {f"q{at:02}": 1 + at % 4 for at in range(80)}
    fields = {query: {"kind": "shop" if at < 40 else "help", "session": f"s{at // 5}"} for at, query in enumerate(ranks)}
    inputs = input_of(one_target(list(ranks)), {"one": ranked_at(ranks)}, fields=fields)
    alone = input_of(
        one_target(list(ranks)), {"one": ranked_at(ranks)}, fields={query: {"kind": own["kind"]} for query, own in fields.items()}
    )
    (table,), (by_query,) = (segments(each, group_queries(each, "kind"), "RR@10", FAST) for each in (inputs, alone))
    assert [row["verdict"] for row in by_query.records()] == ["not significant"] * 2
    assert [(row["n"], row["p"], row["verdict"]) for row in table.records()] == [(40, None, "too few conversations")] * 2
    assert "segments with fewer than 10 conversations are not tested: 2 (help, shop)" in table.notes
    assert "the 80 questions are of 16 conversations: p and intervals count conversations" in table.notes
    assert segment_findings([table]).sentences == ("Every segment has too few conversations, fewer than 10, or all others have.",)


def test_the_test_of_weighted_segments_has_the_sign_and_size_of_the_weighted_difference() -> None:
    """By weight the first segment is lower, by count the two are equal."""
    ranks: dict[str, int | None] = {f"q{at:02}": 1 if at % 2 else 10 for at in range(80)}
    fields = {query: {"kind": "first" if at < 40 else "other"} for at, query in enumerate(ranks)}
    plain = input_of(one_target(list(ranks)), {"one": ranked_at(ranks)}, fields=fields)
    weights = {query: 8.0 if at % 2 == (at >= 40) else 1.0 for at, query in enumerate(ranks)}
    weighted = reevaluated(plain, None, EvaluateOptions(weights=weights))
    by_count, by_weight = (segments(each, group_queries(each, "kind"), "RR@10", FAST)[0].records() for each in (plain, weighted))
    assert [row["verdict"] for row in by_count] == ["not significant"] * 2
    assert [(row["kind"], row["verdict"]) for row in by_weight] == [("first", "lower"), ("other", "higher")]


@given(st.permutations(range(45)))
@examples(10)
def test_the_order_of_the_judgements_changes_no_bit(order: list[int]) -> None:
    # Kinds x and y have the same values, so that only their names can order them.
    ranks: dict[str, int | None] = {f"q{at}": 1 + (at // 3) ** 2 % 7 + (at % 3 == 2) for at in range(45)}
    fields = {query: {"kind": "xyz"[at % 3]} for at, query in enumerate(ranks)}
    systems = {"one": ranked_at(ranks), "two": ranked_at({query: rank and rank + 1 for query, rank in ranks.items()})}
    plain, mixed = (input_of(one_target([f"q{at}" for at in places]), systems, fields=fields) for places in (range(45), order))
    how = SegmentOptions(samples=500, correction="none")
    rows, others = ([each.rows for each in segments(one, group_queries(one, "kind"), "RR@10", how)] for one in (plain, mixed))
    assert rows == others


def test_too_few_permutations_for_any_significance_are_noted() -> None:
    inputs = weak_and_strong(systems=("one", "two", "three", "four", "five", "six"))
    *_, last = segments(inputs, group_queries(inputs, "category"), "RR@10", SegmentOptions(samples=100))
    assert last.notes == (
        "no segment can be significantly different from the rest: the smallest p of this test is 0.0099,"
        " and one test may need 0.0083; use more samples: at least 119",
    )
    *_, last = segments(inputs, group_queries(inputs, "category"), "RR@10", SegmentOptions(samples=119))
    assert last.notes == ()


@pytest.mark.parametrize("wrong", [{"samples": 1}, {"alpha": 0.5}, {"alpha": "0.05"}, {"seed": -1}, {"correction": "sidak"}])
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(UsageError, match=f"{name} is "):
        SegmentOptions(**wrong)


def test_a_file_of_segments_may_have_a_header_and_quotes(tmp_path: Path) -> None:
    path = tmp_path / "segments.csv"
    path.write_text('query,segment\nq1,"a, b"\n# not me\n007,timing\nq2,\n')
    assert read_segments(str(path), None, "utf-8") == {"q1": "a, b", "007": "timing", "q2": ""}


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("q1,a\nq1,b\n", 2, "query q1 is in b and, on line 1, in a"),
        ("q1,a\nq2\n", 2, "1 columns where 2 are expected, a query id and its segment"),
        ("query,segment\n", None, "the file has no queries"),
    ],
)
def test_a_wrong_file_of_segments_is_refused_with_its_line(tmp_path: Path, text: str, line: int | None, what: str) -> None:
    path = tmp_path / "segments.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_segments(str(path), None, "utf-8")
    assert (caught.value.what, caught.value.line) == (what, line)
