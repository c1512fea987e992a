"""Comparing: contestants, repeats, and queries that nobody was trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._data.dataset import Queries, Query
from rankproof._experiment.run import RunOptions
from rankproof._tokenizer_lab.compare import ComparisonPlan, compare_tokenizers, training_queries
from rankproof._tokenizer_lab.measured import requested_measures
from rankproof._tokenizer_lab.splits import OWN_LANGUAGE, text_digest
from rankproof._tokenizer_lab.systems import (
    encoder_system,
    find_trained_systems,
    lexical_system,
    missing_stemmer_notes,
    unique_names,
)
from rankproof.errors import RankproofError, UsageError
from rankproof.stores._memory import Memory
from support.small_datasets import small_dataset
from support.tokenizer_comparisons import save_tiny_checkpoint


def test_training_queries_match_by_text_or_by_id_in_the_same_dataset() -> None:
    queries = Queries([Query("1", "Why  does my hob HUM"), Query("2", "jam"), Query("3", "rice")])
    other = {"data": {"name": "elsewhere", "queries": ["2"], "texts": [text_digest("soup")]}}
    assert training_queries([other], "kitchen", [queries]) == set()
    assert training_queries([{"data": {"name": "kitchen", "queries": ["2"], "texts": ["x"]}}], "kitchen", [queries]) == {"2"}
    copied = {"data": {"name": "copy", "queries": ["3"], "texts": [text_digest("why does my hob hum")]}}
    assert training_queries([copied], "kitchen", [queries]) == {"1", "3"}
    assert training_queries([{"data": None}, {}], "kitchen", [queries]) == set()
    untrained = {"trained": False, "data": {"name": "kitchen", "queries": ["2"]}}
    assert training_queries([untrained], "kitchen", [queries]) == set()


@pytest.mark.torch
def test_queries_that_an_encoder_was_trained_on_are_excluded(tmp_path: Path) -> None:
    save_tiny_checkpoint(tmp_path / "bytes-1", "bytes", 1, queries=["q1", "q3"], name="small")
    save_tiny_checkpoint(tmp_path / "bytes-2", "bytes", 2, queries=["q1", "q3"], name="small")
    trained = find_trained_systems(str(tmp_path), Memory())
    plan = ComparisonPlan("small", [*trained.systems, lexical_system("words")], {OWN_LANGUAGE: small_dataset()})
    found = compare_tokenizers(plan, RunOptions(cache=tmp_path / "cache"))
    assert [entry.queries for entry in found.entries] == [("q2", "q4")] * 2
    assert [entry.repeats for entry in found.entries] == [2, 1]
    assert found.left_out == 2
    assert any("2 queries are excluded because an encoder was trained on them" in note for note in found.notes)


@pytest.mark.torch
@pytest.mark.parametrize("before", ["", "trained:", "bpe:"])
def test_queries_that_a_given_checkpoint_was_trained_on_are_excluded(tmp_path: Path, before: str) -> None:
    folder = save_tiny_checkpoint(tmp_path / "one", "bpe-300", 1, queries=["q1", "q3"], name="small")
    plan = ComparisonPlan(
        "small",
        unique_names([lexical_system("words"), encoder_system(f"{before}{folder}", Memory())]),
        {OWN_LANGUAGE: small_dataset()},
    )
    found = compare_tokenizers(plan, RunOptions(cache=tmp_path / "cache"))
    assert [entry.queries for entry in found.entries] == [("q2", "q4")] * 2
    assert found.left_out == 2


@pytest.mark.torch
def test_training_on_every_query_is_an_error(tmp_path: Path) -> None:
    folder = save_tiny_checkpoint(tmp_path / "one", "bytes", 1, queries=["q1", "q2", "q3", "q4"], name="small")
    twice = unique_names([encoder_system(str(folder), Memory())] * 2)
    with pytest.raises(UsageError, match="no queries left"):
        compare_tokenizers(
            ComparisonPlan("small", twice[1:], {OWN_LANGUAGE: small_dataset()}), RunOptions(cache=tmp_path / "cache")
        )


@pytest.mark.torch
@pytest.mark.parametrize(
    ("taught", "asked"), [("small", "de"), ("small-de", OWN_LANGUAGE), ("small-de", "zh"), ("small", "own+zh")]
)
def test_a_query_trained_on_in_one_language_is_excluded_in_all(tmp_path: Path, taught: str, asked: str) -> None:
    folder = save_tiny_checkpoint(
        tmp_path / "one", "bytes", 1, queries=["q1", "q3"], name=taught, texts=[text_digest("something else")]
    )
    editions = {
        one: replace(small_dataset(), name=f"small-{one}" if one != OWN_LANGUAGE else "small") for one in asked.split("+")
    }
    plan = ComparisonPlan("small", [lexical_system("words"), encoder_system(str(folder), Memory())], editions)
    assert compare_tokenizers(plan, RunOptions(cache=tmp_path / "cache")).left_out == 2


@pytest.mark.torch
def test_truncated_weights_are_an_error_before_any_search(tmp_path: Path) -> None:
    weights = save_tiny_checkpoint(tmp_path / "bytes-1", "bytes", 1) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    for open_it in (
        lambda: find_trained_systems(str(tmp_path), Memory()),
        lambda: encoder_system(str(tmp_path / "bytes-1"), Memory()),
    ):
        with pytest.raises(RankproofError, match=r"model\.safetensors"):
            open_it()


@pytest.mark.torch
def test_an_interrupted_training_leaves_no_checkpoint(tmp_path: Path) -> None:
    for name in ("bytes-1", ".unfinished-bytes-1"):
        save_tiny_checkpoint(tmp_path / name, "bytes", 1)
    assert [one.name for one in find_trained_systems(str(tmp_path), Memory()).systems] == ["bytes"]


@pytest.mark.torch
def test_repeats_that_differ_in_more_than_their_seed_are_an_error(tmp_path: Path) -> None:
    save_tiny_checkpoint(tmp_path / "bytes-1", "bytes", 1)
    save_tiny_checkpoint(tmp_path / "bytes-2", "bytes", 2, documents=7)
    with pytest.raises(UsageError, match="differ in more than their seed"):
        find_trained_systems(str(tmp_path), Memory())
    save_tiny_checkpoint(tmp_path / "twice" / "bytes-1", "bytes", 1)
    save_tiny_checkpoint(tmp_path / "twice" / "bytes-2", "bytes", 1)
    with pytest.raises(UsageError, match=r"have the same seed, .*bytes-1 and .*bytes-2"):
        find_trained_systems(str(tmp_path / "twice"), Memory())
    with pytest.raises(UsageError, match="has no checkpoint"):
        find_trained_systems(str(tmp_path / "nowhere"), Memory())


def test_documents_are_encoded_once_for_all_conditions(tmp_path: Path) -> None:
    plan = ComparisonPlan("small", [encoder_system("wordllama", Memory())], {OWN_LANGUAGE: small_dataset()}, edits=[0, 1, 2])
    compare_tokenizers(plan, RunOptions(cache=tmp_path))
    assert len(list(tmp_path.glob("vectors/*/vectors.arrays"))) == 1


def test_a_language_without_a_stemmer_uses_words() -> None:
    stems = lexical_system("stems")
    assert stems.stages("th")["BM25 stems"] == lexical_system("words").stages("th")["BM25 words"]
    assert stems.stages("de")["BM25 stems"] != stems.stages(OWN_LANGUAGE)["BM25 stems"]
    note = "BM25 stems: no stemmer for th, zh: words are not stemmed there"
    assert missing_stemmer_notes(
        [lexical_system("words"), stems, lexical_system("characters-4")], [OWN_LANGUAGE, "th", "zh"]
    ) == [note]
    assert missing_stemmer_notes([stems], [OWN_LANGUAGE, "de"]) == []


@pytest.mark.torch
def test_a_system_is_named_by_its_prefix_and_its_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_tiny_checkpoint(tmp_path / name, "bpe-300", 1)
    specs = (f"bpe:{tmp_path / 'a'}", f"trained:{tmp_path / 'b'}", str(tmp_path / "a"), "wordllama", "byt5:google/byt5-small")
    names = [encoder_system(spec, Memory()).name for spec in specs]
    assert names == ["bpe:a", "trained:b", "a", "wordllama", "byt5:google/byt5-small"]


def test_two_systems_never_share_a_name() -> None:
    names = [
        one.name
        for one in unique_names(
            [lexical_system("words"), lexical_system("words"), lexical_system("stems"), lexical_system("words")]
        )
    ]
    assert names == ["BM25 words", "BM25 words (2)", "BM25 stems", "BM25 words (3)"]


@pytest.mark.parametrize("measures", [["NumRet"], ["RR", "NumRet"], ["GMAP"]])
def test_measures_that_are_not_means_are_an_error(measures: list[str]) -> None:
    with pytest.raises(UsageError):
        requested_measures(measures)


def test_the_first_requested_measure_is_the_main_one() -> None:
    assert requested_measures(["RR@10", "nDCG@5"])[:3] == ["RR@10", "nDCG@5", "R@1"]
