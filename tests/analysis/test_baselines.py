"""Baselines: values beside a random ranking, BM25 and the best possible order."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from rankproof._analysis.bands import bands_tables
from rankproof._analysis.baselines import (
    FULL_TEXT,
    TITLE_ONLY,
    baselines,
    best_reranking,
    ideal_ranking,
    reference_systems,
    upper_bounds,
)
from rankproof._analysis.chance import ChanceValues
from rankproof._analysis.inputs import input_from_results
from rankproof._cli.main import main
from rankproof._cli.options import known_profiles
from rankproof._data.arrays import read_only
from rankproof._data.qrels import Qrels
from rankproof._data.validation import ReadOptions
from rankproof.errors import UsageError
from support.analysis_inputs_with_texts import input_of, one_target, ranked_at
from support.small_results import small_results


def test_gains_are_in_points_and_relative_and_the_random_ranking_comes_first() -> None:
    runs = {"title": ranked_at({"q1": 2, "q2": None}), "full": ranked_at({"q1": 1, "q2": 2})}
    inputs = input_of(one_target(["q1", "q2"]), runs, documents=200, measures=["RR@10", "Success@5"])
    table, overview = baselines(inputs, ["RR@10"], {TITLE_ONLY: "title", FULL_TEXT: "full"})
    random, title, full, best = table.records()
    assert random["value"] == pytest.approx(sum(1 / rank for rank in range(1, 11)) / 200)
    assert [title["pp vs full"], title["% vs full"]] == pytest.approx([-50.0, -2 / 3])
    assert [full["pp vs title"], full["% vs title"]] == pytest.approx([50.0, 2.0])
    assert [full["best reranking"], full["pp to gain"]] == pytest.approx([1.0, 25.0])
    assert (title["best reranking"], best["value"]) == (0.5, 1.0)
    assert [row["measure"] for row in overview.records()] == ["RR@10", "Success@5"]
    assert overview.records()[1]["random"] == pytest.approx(0.025)


def test_systems_that_tie_for_the_best_are_all_named() -> None:
    runs = {name: ranked_at({"q1": 2}) for name in ("a", "b")} | {"c": ranked_at({"q1": 3})}
    table, overview = baselines(input_of(one_target(["q1"]), runs, measures=["RR@10"]))
    assert table.sentences[0] == "a and b tie for the best RR@10: 0.500."
    assert overview.records()[0]["best system"] == "a = b"
    alone, _ = baselines(input_of(one_target(["q1"]), {"z": ranked_at({"q1": None})}, measures=["RR@10"]))
    assert alone.sentences[0] == "z has RR@10: 0.000."


def test_a_gain_over_a_baseline_names_the_command_that_tests_its_significance() -> None:
    runs = {"title": ranked_at({"q1": 2}), "mine": ranked_at({"q1": 1})}
    inputs = input_of(one_target(["q1"]), runs, measures=["RR@10"])
    table, _ = baselines(inputs, ["RR@10"], {TITLE_ONLY: "title"})
    assert table.sentences[0].endswith("over title-only BM25 (0.500) (`rankproof compare` tests significance).")
    bare, _ = baselines(inputs, ["RR@10"], {})
    assert "rankproof compare" not in bare.sentences[0]


def test_the_help_of_baselines_explains_bands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baselines", "--help"]) == 0
    assert "Bands are named ranges of values" in " ".join(capsys.readouterr().out.split())


def test_a_system_significantly_below_random_is_reported_in_capitals() -> None:
    queries = [f"q{at}" for at in range(60)]
    inputs = input_of(one_target(queries), {"one": ranked_at(dict.fromkeys(queries))}, documents=100)
    table, overview = baselines(inputs, ["nDCG@10"])
    assert table.sentences[0].startswith("WORSE THAN RANDOM: one has nDCG@10 0.000, a random ranking 0.045 (n = 60;")
    assert f"with probability {0.9**60:.2g}" in table.sentences[0]
    assert sum(sentence.startswith("WORSE THAN RANDOM") for sentence in overview.sentences) == 4


def test_a_system_below_random_without_significance_is_reported_in_lower_case() -> None:
    inputs = input_of(one_target(["q1"]), {"one": ranked_at({"q1": None})}, documents=20)
    table, overview = baselines(inputs, ["nDCG@10"])
    assert table.sentences[0].startswith("below random, not significant: one has nDCG@10 0.000")
    assert not any("WORSE" in sentence for sentence in (*table.sentences, *overview.sentences))


def test_chance_is_over_the_queries_of_each_system_where_missing_ones_are_left_out() -> None:
    qrels = {"q1": {"target": 1}, "q2": {"target": 1, **{f"y{at}": 1 for at in range(9)}}}
    runs = {"all": ranked_at({"q1": 1, "q2": 1}), "easy": ranked_at({"q2": 1})}
    inputs = input_of(qrels, runs, documents=100, measures=["Success@10"], skip_missing=True)
    table, overview = baselines(inputs)
    random, everything, easy, ideal = table.records()
    hard, simple = 0.1, 1 - comb(90, 10) / comb(100, 10)
    assert random["value"] == pytest.approx((hard + simple) / 2)
    assert everything["pp vs random"] == pytest.approx(100 * (1 - (hard + simple) / 2))
    assert easy["pp vs random"] == pytest.approx(100 * (1 - simple))
    assert [row["n"] for row in table.records()] == [2, 2, 1, 2]
    assert table.title == "Baselines of Success@10: n = 1 to 2 queries, 100 documents"
    assert overview.records()[0]["n"] == 2
    assert ideal["value"] == 1.0


def test_bands_have_the_n_of_each_system_where_missing_queries_are_left_out() -> None:
    runs = {"all": ranked_at({"q1": 1, "q2": 1}), "half": ranked_at({"q2": 1})}
    inputs = input_of(one_target(["q1", "q2"]), runs, documents=100, skip_missing=True)
    table, _ = bands_tables(inputs, known_profiles()["tutorial"])
    assert [row["n"] for row in table.records()] == [2, 2, 1]


def test_without_the_size_of_the_corpus_there_is_no_random_row() -> None:
    inputs = input_of(one_target(["q1"]), {"one": ranked_at({"q1": 1})})
    table, _ = baselines(inputs)
    assert [row["system"] for row in table.records()] == ["one", "ideal ranking"]
    assert "pass --documents N" in table.notes[0]


def test_without_unjudged_documents_there_is_no_random_ranking() -> None:
    inputs = input_of(one_target(["q1"]), {"one": ranked_at({"q1": 1})}, documents=100)
    table, _ = baselines(replace(inputs, read_options=ReadOptions(judged_only=True)))
    assert [row["system"] for row in table.records()] == ["one", "ideal ranking"]
    assert table.notes == ("unjudged documents were removed, so there is no comparison with a random ranking",)


@pytest.mark.parametrize("documents", [2, 11])
def test_a_corpus_smaller_than_a_ranking_is_refused(documents: int) -> None:
    inputs = input_of(one_target(["q1"]), {"one": ranked_at({"q1": 1})}, documents=documents)
    with pytest.raises(UsageError, match=f"{documents} documents are fewer"):
        baselines(inputs)


def test_a_measure_outside_0_to_1_is_refused() -> None:
    inputs = input_of(one_target(["q1"]), {"one": ranked_at({"q1": 1})}, measures=["DCG@10", "RR"])
    with pytest.raises(UsageError, match="not a mean from 0 to 1, or a measure of subtopics: DCG@10; choose from: RR"):
        baselines(inputs, ["DCG@10"])


@pytest.mark.parametrize("measure", ["alpha_nDCG@10", "map_avgjg"])
def test_a_measure_that_no_order_by_grade_fulfils_best_is_refused(measure: str) -> None:
    qrels = Qrels.from_subtopics({"q1": {"s1": {"a": 2, "b": 2}, "s2": {"c": 1}}})
    inputs = input_of(qrels, {"one": {"q1": ["b", "c", "a"]}}, measures=[measure, "RR"])
    with pytest.raises(UsageError, match=f"a measure of subtopics: {measure}; choose from: RR"):
        baselines(inputs, [measure])
    assert baselines(inputs)[0].name == "baselines RR"


def test_the_best_order_keeps_to_the_documents_that_were_retrieved() -> None:
    qrels = {"q": {"a": 1, "b": 3, "c": 2, "d": 3}}
    inputs = input_of(qrels, {"one": {"q": ["x", "a", "b", "c"]}}, measures=["nDCG@10"])
    assert best_reranking(inputs, "one").docs == ("b", "c", "a", "x")
    assert set(ideal_ranking(inputs).docs) == {"a", "b", "c", "d"}
    most = upper_bounds(inputs, ["nDCG@10"])["nDCG@10"]
    assert inputs.result.value("nDCG@10") < most.by_system["one"] < most.ideal == 1.0


def test_gains_by_hand_have_their_own_best_order() -> None:
    inputs = input_of({"q": {"a": 1, "b": 2}}, {"one": {"q": ["b", "a"]}}, measures=["nDCG(gain={1:9,2:1})@1"])
    (name,) = inputs.result.systems[0].measures
    assert upper_bounds(inputs, [name])[name].by_system == {"one": 1.0}


def test_reference_systems_are_found_by_their_fields() -> None:
    inputs = input_from_results(small_results())
    title = replace(inputs.system_runs[1], stage={"kind": "BM25", "fields": ["title"]})
    full = replace(inputs.system_runs[2], stage={"kind": "BM25", "fields": ["title", "text"]})
    other = replace(inputs.system_runs[0], stage={"kind": "Dense", "fields": ["title"]})
    assert reference_systems(replace(inputs, system_runs=(other, full, title))) == {TITLE_ONLY: title.name, FULL_TEXT: full.name}


def test_the_chance_of_few_successes_is_binomial_where_all_chances_are_equal() -> None:
    chance = ChanceValues(read_only(np.full(5, 0.3)))
    assert chance.p_at_most(0) == pytest.approx(0.7**5)
    assert chance.p_at_most(1) == pytest.approx(0.7**5 + 5 * 0.3 * 0.7**4)
    assert chance.p_at_most(5) == pytest.approx(1.0)


def test_bands_come_with_the_random_ranking() -> None:
    ranks = {f"q{at}": 1 if at < 6 else None for at in range(10)}
    inputs = input_of(one_target(list(ranks)), {"one": ranked_at(ranks)}, documents=200)
    table, _ = bands_tables(inputs, known_profiles()["tutorial"])
    random, one = table.records()
    assert random["Success@5"] == pytest.approx(0.025)
    assert random["Success@5 band"] is None
    assert (one["Success@1"], one["Success@1 band"], one["Success@5 band"]) == (0.6, "Good", "Poor")
    assert "Source: Retrieval Metrics Tutorial: Recall@k and MRR Explained, typical ranges" in " ".join(table.sentences)


def test_a_profile_of_answers_alone_has_no_table_of_rankings() -> None:
    rag = known_profiles()["rag"]
    answers = replace(rag, measures={name: bands for name, bands in rag.measures.items() if name.startswith("F1")})
    inputs = input_of(one_target(["q1"]), {"one": ranked_at({"q1": 1})})
    assert bands_tables(inputs, answers) == []
