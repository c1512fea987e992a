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


def test_a_query_is_left_out_by_its_id_or_by_its_text_and_not_because_another_dataset_has_the_id() -> None:
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
def test_no_system_is_asked_a_query_that_a_trial_was_trained_on(tmp_path: Path) -> None:
    save_tiny_checkpoint(tmp_path / "bytes-1", "bytes", 1, queries=["q1", "q3"], name="small")
    save_tiny_checkpoint(tmp_path / "bytes-2", "bytes", 2, queries=["q1", "q3"], name="small")
    trials = find_trained_systems(str(tmp_path), Memory())
    plan = ComparisonPlan("small", [*trials.systems, lexical_system("words")], {OWN_LANGUAGE: small_dataset()})
    found = compare_tokenizers(plan, RunOptions(cache=tmp_path / "cache"))
    assert [entry.queries for entry in found.entries] == [("q2", "q4")] * 2
    assert [entry.repeats for entry in found.entries] == [2, 1]
    assert found.left_out == 2
    assert any("2 queries that a trial was trained on are left out" in note for note in found.notes)


@pytest.mark.torch
@pytest.mark.parametrize("before", ["", "trained:", "bpe:"])
def test_a_checkpoint_that_is_named_is_not_asked_what_it_was_trained_on_either(tmp_path: Path, before: str) -> None:
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
def test_where_a_trial_was_trained_on_every_query_there_is_no_comparison(tmp_path: Path) -> None:
    folder = save_tiny_checkpoint(tmp_path / "one", "bytes", 1, queries=["q1", "q2", "q3", "q4"], name="small")
    twice = unique_names([encoder_system(str(folder), Memory())] * 2)
    with pytest.raises(UsageError, match="no query is left"):
        compare_tokenizers(
            ComparisonPlan("small", twice[1:], {OWN_LANGUAGE: small_dataset()}), RunOptions(cache=tmp_path / "cache")
        )


@pytest.mark.torch
@pytest.mark.parametrize(
    ("taught", "asked"), [("small", "de"), ("small-de", OWN_LANGUAGE), ("small-de", "zh"), ("small", "own+zh")]
)
def test_a_query_that_was_taught_in_one_language_is_asked_in_none(tmp_path: Path, taught: str, asked: str) -> None:
    folder = save_tiny_checkpoint(
        tmp_path / "one", "bytes", 1, queries=["q1", "q3"], name=taught, texts=[text_digest("something else")]
    )
    editions = {
        one: replace(small_dataset(), name=f"small-{one}" if one != OWN_LANGUAGE else "small") for one in asked.split("+")
    }
    plan = ComparisonPlan("small", [lexical_system("words"), encoder_system(str(folder), Memory())], editions)
    assert compare_tokenizers(plan, RunOptions(cache=tmp_path / "cache")).left_out == 2


@pytest.mark.torch
def test_weights_that_are_cut_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    weights = save_tiny_checkpoint(tmp_path / "bytes-1", "bytes", 1) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    for open_it in (
        lambda: find_trained_systems(str(tmp_path), Memory()),
        lambda: encoder_system(str(tmp_path / "bytes-1"), Memory()),
    ):
        with pytest.raises(RankproofError, match=r"model\.safetensors"):
            open_it()


@pytest.mark.torch
def test_what_a_killed_training_left_is_no_checkpoint(tmp_path: Path) -> None:
    for name in ("bytes-1", ".unfinished-bytes-1"):
        save_tiny_checkpoint(tmp_path / name, "bytes", 1)
    assert [one.name for one in find_trained_systems(str(tmp_path), Memory()).systems] == ["bytes"]


@pytest.mark.torch
def test_repeats_that_differ_in_more_than_their_seed_are_refused(tmp_path: Path) -> None:
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


def test_documents_are_encoded_once_whatever_is_asked(tmp_path: Path) -> None:
    labels: list[str] = []

    def hear(label: str, done: int, total: int) -> None:
        if "encoding passages" in label and done == 0:
            labels.append(label)

    plan = ComparisonPlan("small", [encoder_system("wordllama", Memory())], {OWN_LANGUAGE: small_dataset()}, edits=[0, 1, 2])
    compare_tokenizers(plan, RunOptions(cache=tmp_path, progress=hear))
    assert labels == ["own, 0 edits: encoding passages"]


def test_stems_fall_back_to_words_where_a_language_has_no_stemmer() -> None:
    stems = lexical_system("stems")
    assert stems.stages("th")["BM25 stems"] == lexical_system("words").stages("th")["BM25 words"]
    assert stems.stages("de")["BM25 stems"] != stems.stages(OWN_LANGUAGE)["BM25 stems"]
    note = "BM25 stems: no stemmer for th, zh, where it takes words as they stand"
    assert missing_stemmer_notes(
        [lexical_system("words"), stems, lexical_system("characters-4")], [OWN_LANGUAGE, "th", "zh"]
    ) == [note]
    assert missing_stemmer_notes([stems], [OWN_LANGUAGE, "de"]) == []


@pytest.mark.torch
def test_a_system_is_called_by_what_stands_before_its_source_and_the_last_part_of_it(tmp_path: Path) -> None:
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
def test_measures_that_are_no_means_are_refused(measures: list[str]) -> None:
    with pytest.raises(UsageError):
        requested_measures(measures)


def test_the_first_measure_asked_for_is_the_main_one() -> None:
    assert requested_measures(["RR@10", "nDCG@5"])[:3] == ["RR@10", "nDCG@5", "R@1"]
