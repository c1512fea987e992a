"""Comparing: contestants, repeats, and queries that nobody was trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compared import save_trial
from rankproof.data.queries import Queries, Query
from rankproof.errors import RankproofError, UsageError
from rankproof.experiment import Settings
from rankproof.lab.comparing.compare import compare
from rankproof.lab.comparing.contestants import encoder, lexical, named_once, unstemmed
from rankproof.lab.comparing.measures import measures_of
from rankproof.lab.comparing.plan import Plan
from rankproof.lab.comparing.seen import seen_queries
from rankproof.lab.comparing.trials import trials_in
from rankproof.lab.lessons.digest import text_digest
from rankproof.lab.lessons.languages import OWN
from rankproof.stores.memory import Memory
from small_datasets import small_dataset


def test_a_query_is_left_out_by_its_id_or_by_its_text_and_not_because_another_dataset_has_the_id() -> None:
    queries = Queries([Query("1", "Why  does my hob HUM"), Query("2", "jam"), Query("3", "rice")])
    other = {"data": {"name": "elsewhere", "queries": ["2"], "texts": [text_digest("soup")]}}
    assert seen_queries([other], "kitchen", [queries]) == set()
    assert seen_queries([{"data": {"name": "kitchen", "queries": ["2"], "texts": ["x"]}}], "kitchen", [queries]) == {"2"}
    copied = {"data": {"name": "copy", "queries": ["3"], "texts": [text_digest("why does my hob hum")]}}
    assert seen_queries([copied], "kitchen", [queries]) == {"1", "3"}
    assert seen_queries([{"data": None}, {}], "kitchen", [queries]) == set()
    untrained = {"trained": False, "data": {"name": "kitchen", "queries": ["2"]}}
    assert seen_queries([untrained], "kitchen", [queries]) == set()


def test_no_system_is_asked_a_query_that_a_trial_was_trained_on(tmp_path: Path) -> None:
    save_trial(tmp_path / "bytes-1", "bytes", 1, queries=["q1", "q3"], name="small")
    save_trial(tmp_path / "bytes-2", "bytes", 2, queries=["q1", "q3"], name="small")
    trials = trials_in(str(tmp_path), Memory())
    plan = Plan("small", [*trials.contestants, lexical("words")], {OWN: small_dataset()})
    found = compare(plan, Settings(cache=tmp_path / "cache"))
    assert [entry.queries for entry in found.entries] == [("q2", "q4")] * 2
    assert [entry.repeats for entry in found.entries] == [2, 1]
    assert found.left_out == 2
    assert any("2 queries that a trial was trained on are left out" in note for note in found.notes)


@pytest.mark.parametrize("before", ["", "trial:", "bpe:"])
def test_a_checkpoint_that_is_named_is_not_asked_what_it_was_trained_on_either(tmp_path: Path, before: str) -> None:
    folder = save_trial(tmp_path / "one", "bpe-300", 1, queries=["q1", "q3"], name="small")
    plan = Plan("small", named_once([lexical("words"), encoder(f"{before}{folder}", Memory())]), {OWN: small_dataset()})
    found = compare(plan, Settings(cache=tmp_path / "cache"))
    assert [entry.queries for entry in found.entries] == [("q2", "q4")] * 2
    assert found.left_out == 2


def test_where_a_trial_was_trained_on_every_query_there_is_no_comparison(tmp_path: Path) -> None:
    folder = save_trial(tmp_path / "one", "bytes", 1, queries=["q1", "q2", "q3", "q4"], name="small")
    twice = named_once([encoder(str(folder), Memory())] * 2)
    with pytest.raises(UsageError, match="no query is left"):
        compare(Plan("small", twice[1:], {OWN: small_dataset()}), Settings(cache=tmp_path / "cache"))


@pytest.mark.parametrize(("taught", "asked"), [("small", "de"), ("small-de", OWN), ("small-de", "zh"), ("small", "own+zh")])
def test_a_query_that_was_taught_in_one_language_is_asked_in_none(tmp_path: Path, taught: str, asked: str) -> None:
    folder = save_trial(tmp_path / "one", "bytes", 1, queries=["q1", "q3"], name=taught, texts=[text_digest("something else")])
    editions = {one: replace(small_dataset(), name=f"small-{one}" if one != OWN else "small") for one in asked.split("+")}
    plan = Plan("small", [lexical("words"), encoder(str(folder), Memory())], editions)
    assert compare(plan, Settings(cache=tmp_path / "cache")).left_out == 2


def test_weights_that_are_cut_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    weights = save_trial(tmp_path / "bytes-1", "bytes", 1) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    for open_it in (lambda: trials_in(str(tmp_path), Memory()), lambda: encoder(str(tmp_path / "bytes-1"), Memory())):
        with pytest.raises(RankproofError, match=r"model\.safetensors"):
            open_it()


def test_what_a_killed_training_left_is_no_checkpoint(tmp_path: Path) -> None:
    for name in ("bytes-1", ".unfinished-bytes-1"):
        save_trial(tmp_path / name, "bytes", 1)
    assert [one.name for one in trials_in(str(tmp_path), Memory()).contestants] == ["bytes"]


def test_repeats_that_differ_in_more_than_their_seed_are_refused(tmp_path: Path) -> None:
    save_trial(tmp_path / "bytes-1", "bytes", 1)
    save_trial(tmp_path / "bytes-2", "bytes", 2, documents=7)
    with pytest.raises(UsageError, match="differ in more than their seed"):
        trials_in(str(tmp_path), Memory())
    save_trial(tmp_path / "twice" / "bytes-1", "bytes", 1)
    save_trial(tmp_path / "twice" / "bytes-2", "bytes", 1)
    with pytest.raises(UsageError, match=r"have the same seed, .*bytes-1 and .*bytes-2"):
        trials_in(str(tmp_path / "twice"), Memory())
    with pytest.raises(UsageError, match="has no checkpoint"):
        trials_in(str(tmp_path / "nowhere"), Memory())


def test_documents_are_encoded_once_whatever_is_asked(tmp_path: Path) -> None:
    labels: list[str] = []

    def hear(label: str, done: int, total: int) -> None:
        if "encoding passages" in label and done == 0:
            labels.append(label)

    plan = Plan("small", [encoder("wordllama", Memory())], {OWN: small_dataset()}, edits=[0, 1, 2])
    compare(plan, Settings(cache=tmp_path, progress=hear))
    assert labels == ["own, 0 edits: encoding passages"]


def test_stems_fall_back_to_words_where_a_language_has_no_stemmer() -> None:
    stems = lexical("stems")
    assert stems.stages("th")["BM25 stems"] == lexical("words").stages("th")["BM25 words"]
    assert stems.stages("de")["BM25 stems"] != stems.stages(OWN)["BM25 stems"]
    note = "BM25 stems: there is no stemmer for th, zh, where it takes words as they stand"
    assert unstemmed([lexical("words"), stems, lexical("characters-4")], [OWN, "th", "zh"]) == [note]
    assert unstemmed([stems], [OWN, "de"]) == []


def test_a_system_is_called_by_what_stands_before_its_source_and_the_last_part_of_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_trial(tmp_path / name, "bpe-300", 1)
    specs = (f"bpe:{tmp_path / 'a'}", f"trial:{tmp_path / 'b'}", str(tmp_path / "a"), "wordllama", "byt5:google/byt5-small")
    names = [encoder(spec, Memory()).name for spec in specs]
    assert names == ["bpe:a", "trial:b", "a", "wordllama", "byt5:google/byt5-small"]


def test_two_systems_never_share_a_name() -> None:
    names = [one.name for one in named_once([lexical("words"), lexical("words"), lexical("stems"), lexical("words")])]
    assert names == ["BM25 words", "BM25 words (2)", "BM25 stems", "BM25 words (3)"]


@pytest.mark.parametrize("measures", [["NumRet"], ["RR", "NumRet"], ["GMAP"]])
def test_measures_that_are_no_means_are_refused(measures: list[str]) -> None:
    with pytest.raises(UsageError):
        measures_of(measures)


def test_the_first_measure_asked_for_is_the_main_one() -> None:
    assert measures_of(["RR@10", "nDCG@5"])[:3] == ["RR@10", "nDCG@5", "R@1"]
