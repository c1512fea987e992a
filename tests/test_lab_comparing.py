"""Comparing: repeats, differences that are real, queries that nobody was trained on, counts, files."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compared import comparison_of, entry_of, save_trial, wide_comparison
from rankproof.data.queries import Queries, Query
from rankproof.errors import UsageError
from rankproof.experiment import Settings
from rankproof.lab.comparing.columns import SEED_NAMES, measures_of
from rankproof.lab.comparing.compare import compare
from rankproof.lab.comparing.conclusion import conclusions, drop
from rankproof.lab.comparing.contestants import encoder, lexical, named_once
from rankproof.lab.comparing.counts import document_counts
from rankproof.lab.comparing.csv_files import comparison_csv, queries_csv
from rankproof.lab.comparing.differences import all_pairs, difference
from rankproof.lab.comparing.document import comparison_json
from rankproof.lab.comparing.entry import Condition
from rankproof.lab.comparing.folder import save_comparison
from rankproof.lab.comparing.plan import Plan
from rankproof.lab.comparing.standing import remarks, speaks
from rankproof.lab.comparing.tables import tables_of
from rankproof.lab.comparing.trials import trials_in
from rankproof.lab.comparing.unseen import seen_queries
from rankproof.lab.lessons.digest import text_digest
from rankproof.lab.lessons.languages import OWN
from rankproof.stores.memory import Memory
from small_datasets import payloads, small_dataset

FEW = [0.5, 0.6, 0.4, 0.5]


def above(row: list[float], more: list[float]) -> list[float]:
    return [one + each for one, each in zip(row, more, strict=True)]


def test_a_difference_is_real_where_the_interval_excludes_0_and_every_pair_of_repeats_agrees() -> None:
    # By query the means over two repeats differ by .2, .1, .3, .2: mean .2, deviation .0816, t(3) = 3.182, so .2 ± .130.
    one = entry_of("one", [above(FEW, [0.1, 0.0, 0.2, 0.1]), above(FEW, [0.3, 0.2, 0.4, 0.3])])
    other = entry_of("other", [FEW, FEW])
    found = difference(one, other, "nDCG@10")
    assert found.mean == pytest.approx(0.2)
    assert found.interval == pytest.approx((0.0701, 0.3299), abs=1e-4)
    assert (found.pairs, found.agree, found.is_real) == (4, True, True)


def test_a_difference_that_one_repeat_contradicts_is_not_real_however_sure_its_mean() -> None:
    one = entry_of("one", [above(FEW, [-0.1, -0.2, 0.0, -0.1]), above(FEW, [0.5, 0.4, 0.6, 0.5])])
    other = entry_of("other", [FEW])
    found = difference(one, other, "nDCG@10")
    assert found.is_sure
    assert not found.agree
    assert not found.is_real
    said = conclusions(comparison_of([one, other]))
    assert any("no difference" in sentence and "not in every pair of repeats" in sentence for sentence in said)
    assert not any("is better than" in sentence for sentence in said)


def test_systems_that_never_differ_are_not_called_different() -> None:
    found = difference(entry_of("one", [FEW]), entry_of("other", [FEW]), "RR")
    assert (found.mean, found.interval, found.is_real) == (0.0, None, False)


def test_repeats_are_merged_by_query_and_their_range_is_told() -> None:
    entry = entry_of("one", [[0.2, 0.4, 0.9], [0.4, 0.6, 0.5]])
    assert entry.per_query("RR").tolist() == pytest.approx([0.3, 0.5, 0.7])
    assert entry.mean("RR") == pytest.approx(0.5)
    assert entry.span("RR") == pytest.approx((0.5, 0.5))


def test_a_fall_under_typing_errors_is_taken_repeat_by_repeat() -> None:
    # Each repeat falls by .1 to .3, though the better repeat with errors is above the worse one without.
    low, high = [0.3, 0.4, 0.2, 0.3], [0.8, 0.9, 0.7, 0.8]
    plain = entry_of("one", [low, high])
    edited = entry_of("one", [above(row, [-0.1, -0.2, -0.1, -0.2]) for row in (low, high)], edits=1)
    comparison = comparison_of([plain, edited])
    assert drop(comparison, edited, "nDCG@10").is_real
    assert drop(comparison, edited, "nDCG@10").mean == pytest.approx(-0.15)
    assert any("one falls by 15.0 pp" in sentence and "(27%)" in sentence for sentence in conclusions(comparison))


def test_every_pair_is_given_with_the_higher_one_first() -> None:
    comparison = wide_comparison(["a", "b", "c"])
    entries = comparison.under(comparison.first)
    pairs = all_pairs(entries, "nDCG@10")
    assert len(pairs) == 3
    assert all(pair.mean >= 0 for pair in pairs)
    alone = difference(*(comparison.entry(name, comparison.first) for name in (pairs[0].one, pairs[0].other)), "nDCG@10")
    assert alone.interval == pytest.approx(pairs[0].interval)


def test_what_was_never_trained_is_in_no_conclusion_and_has_a_note() -> None:
    comparison = wide_comparison(["a", "b", "blank"])
    entries = comparison.under(comparison.first)
    assert [speaks(entry) for entry in entries] == [True, True, False]
    assert "blank: untrained: its numbers say nothing about tokenization" in list(remarks(entries, "nDCG@10", 0.01))
    about_quality = [sentence for sentence in conclusions(comparison) if "nDCG@10" in sentence]
    assert about_quality
    assert not any("blank" in sentence for sentence in about_quality)


def test_a_system_at_the_level_of_chance_has_a_note() -> None:
    weak = entry_of("weak", [[0.0, 0.0, 0.02, 0.01, 0.0]])
    assert any("random ranking" in note for note in remarks([weak], "RR", 0.05))
    good = entry_of("good", [[0.5, 0.4, 0.52, 0.61, 0.55]])
    assert not any("random ranking" in note for note in remarks([good], "RR", 0.05))


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
    plan = Plan("small", [*trials.contestants, lexical("words")], {OWN: small_dataset()}, cards=trials.cards)
    found = compare(plan, Settings(cache=tmp_path / "cache"))
    assert [entry.queries for entry in found.entries] == [("q2", "q4")] * 2
    assert [entry.repeats for entry in found.entries] == [2, 1]
    assert found.left_out == 2
    assert any("2 queries that a trial was trained on are left out" in note for note in found.notes)
    everything = replace(plan, cards=[{"data": {"name": "small", "queries": ["q1", "q2", "q3", "q4"]}}])
    with pytest.raises(UsageError, match="no query is left"):
        compare(everything, Settings(cache=tmp_path / "cache"))


def test_repeats_that_differ_in_more_than_their_seed_are_refused(tmp_path: Path) -> None:
    save_trial(tmp_path / "bytes-1", "bytes", 1)
    save_trial(tmp_path / "bytes-2", "bytes", 2, documents=7)
    with pytest.raises(UsageError, match="differ in more than their seed"):
        trials_in(str(tmp_path), Memory())
    save_trial(tmp_path / "bytes-2", "bytes", 1)
    with pytest.raises(UsageError, match="have the same seed"):
        trials_in(str(tmp_path), Memory())
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


@pytest.mark.parametrize(("kind", "tokens", "read"), [("bytes", 12, 12), ("bytes-4", 12, 3), ("characters", 12, 3)])
def test_tokens_are_counted_as_the_layers_see_them(tmp_path: Path, kind: str, tokens: float, read: float) -> None:
    folder = save_trial(tmp_path / "one", kind, 1)
    stage = encoder(str(folder), Memory()).stages(OWN)["one"]
    counts = document_counts(stage, small_dataset().corpus).with_queries(["the hob hums"], {})
    assert counts.query_tokens is not None
    assert counts.query_read is not None
    assert (counts.query_tokens.mean, counts.query_read.mean, counts.unknown) == (tokens, read, 0.0)
    assert counts.parameters


def test_terms_that_no_document_has_are_unknown_to_bm25() -> None:
    stage = lexical("words").stages(OWN)["BM25 words"]
    counts = document_counts(stage, small_dataset().corpus).with_queries(["the dough xyzzy zzz"], {})
    assert counts.unknown == 0.5
    assert counts.query_tokens is not None
    assert counts.query_tokens.mean == 4


def test_stems_fall_back_to_words_where_a_language_has_no_stemmer() -> None:
    stems = lexical("stems")
    assert stems.stages("th")["BM25 stems"] == lexical("words").stages("th")["BM25 words"]
    assert stems.stages("de")["BM25 stems"] != stems.stages(OWN)["BM25 stems"]


def test_two_systems_never_share_a_name() -> None:
    names = [one.name for one in named_once([lexical("words"), lexical("words"), lexical("stems"), lexical("words")])]
    assert names == ["BM25 words", "BM25 words (2)", "BM25 stems", "BM25 words (3)"]


def test_the_csv_has_the_columns_that_were_asked_for_and_their_numbers() -> None:
    comparison = wide_comparison(["a", "b"], edits=1)
    rows = list(csv.DictReader(io.StringIO(comparison_csv(comparison))))
    assert len(rows) == 4
    wanted = {*SEED_NAMES.values(), "embedding_ms", "retrieval_ms", "total_ms", "slow_queries"}
    assert wanted <= set(rows[0])
    first = comparison.entries[0]
    assert float(rows[0]["mrr"]) == first.mean("RR")
    assert float(rows[0]["total_ms"]) == pytest.approx(float(rows[0]["embedding_ms"]) + float(rows[0]["retrieval_ms"]))
    assert rows[0]["drop_pp"] == ""
    assert float(rows[2]["drop_pp"]) == pytest.approx(100 * (comparison.entries[2].mean("nDCG@10") - first.mean("nDCG@10")))


def test_queries_over_100_ms_are_marked_one_by_one() -> None:
    entry = entry_of("slow", [[0.5] * 4], ms=80.0)
    rows = list(csv.DictReader(io.StringIO(queries_csv(comparison_of([entry])))))
    assert [row["slow"] for row in rows] == ["0", "0", "1", "1"]
    assert [float(row["total_ms"]) > 100 for row in rows] == [False, False, True, True]
    assert any("slow 2 of 4" in sentence for sentence in conclusions(comparison_of([entry])))


def test_quality_per_millisecond_is_the_mean_over_the_median_time() -> None:
    entry = entry_of("one", [[0.2, 0.6, 0.4]], ms=3.0)
    assert entry.per_ms("RR") == pytest.approx(0.4 / float(np.median(entry.ms("total"))))


def test_hostile_names_and_ids_are_harmless_in_every_file(tmp_path: Path) -> None:
    texts = payloads()
    bad = ["=cmd()", "a\u202eb", "<script>", *texts[:3]]
    entries = [entry_of(name, [[0.1, 0.5, 0.9]], queries=["=1+1", "x,y", '"\n']) for name in dict.fromkeys(bad)]
    comparison = comparison_of(entries)
    path = save_comparison(comparison, tmp_path / "out", conclusion="")
    for name in ("comparison.csv", "queries.csv"):
        rows = list(csv.reader((Path(path) / name).read_text().splitlines()))
        assert len({len(row) for row in rows}) == 1
        assert not any(cell.startswith(("=", "@")) for row in rows for cell in row)
    told = json.loads((Path(path) / "comparison.json").read_text())
    assert [one["system"] for one in told["systems"]] == [entry.system for entry in entries]
    assert "\u202e" not in (Path(path) / "comparison.json").read_text()


def test_a_comparison_is_replaced_and_anything_else_is_not(tmp_path: Path) -> None:
    comparison = wide_comparison(["a"])
    goal = tmp_path / "out"
    save_comparison(comparison, goal, conclusion="one")
    save_comparison(comparison, goal, conclusion="two", charts={"quality": b"png"})
    assert (goal / "conclusion.md").read_text() == "two"
    (goal / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"mine\.txt"):
        save_comparison(comparison, goal, conclusion="three")
    assert (goal / "conclusion.md").read_text() == "two"
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists and is no"):
        save_comparison(comparison, other, conclusion="")


def test_the_document_has_every_pair_of_every_condition() -> None:
    told = json.loads(comparison_json(wide_comparison(["a", "b", "c"], languages=["own", "de"], edits=1)))
    assert len(told["pairs"]) == 3 * 4
    assert told["format"].startswith("rankproof")


def test_languages_and_typing_errors_have_tables_where_there_are_several() -> None:
    assert [table.name for table in tables_of(wide_comparison(["a"]))] == ["quality", "tokens", "time", "conclusion"]
    names = [table.name for table in tables_of(wide_comparison(["a", "b"], languages=["own", "de"], edits=2))]
    assert names == ["quality", "tokens", "time", "typos", "languages", "pairs", "conclusion"]


@pytest.mark.parametrize("measures", [["NumRet"], ["RR", "NumRet"], ["GMAP"]])
def test_measures_that_are_no_means_are_refused(measures: list[str]) -> None:
    with pytest.raises(UsageError):
        measures_of(measures)


def test_the_first_measure_asked_for_is_the_main_one() -> None:
    assert measures_of(["RR@10", "nDCG@5"])[:3] == ["RR@10", "nDCG@5", "R@1"]
    assert Condition("own", 1) == Condition("own", 1)
