"""Reliable differences, and the conclusions from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankproof._tokenizer_lab.comparison import conclusions, difference, pairwise_differences
from rankproof._tokenizer_lab.measured import is_conclusive, system_notes
from rankproof._tokenizer_lab.tables import comparison_tables
from support.tokenizer_comparisons import comparison_of, entry_of, wide_comparison

FEW = [0.5, 0.6, 0.4, 0.5]


def above(row: list[float], more: list[float]) -> list[float]:
    return [one + each for one, each in zip(row, more, strict=True)]


def test_a_difference_is_reliable_if_the_interval_excludes_0_and_all_repeats_agree() -> None:
    # By query the means over two repeats differ by .2, .1, .3, .2: mean .2, deviation .0816, t(3) = 3.182, so .2 ± .130; the
    # repeats have the same mean, which widens nothing.
    one = entry_of("one", [above(FEW, [0.1, 0.0, 0.4, 0.3]), above(FEW, [0.3, 0.2, 0.2, 0.1])])
    other = entry_of("other", [FEW, FEW])
    found = difference(one, other, "nDCG@10")
    assert found.mean == pytest.approx(0.2)
    assert found.interval == pytest.approx((0.0701, 0.3299), abs=1e-4)
    assert (found.pairs, found.same_sign, found.is_reliable) == (4, True, True)


def test_a_difference_that_one_repeat_contradicts_is_not_reliable() -> None:
    # Of thirty repeats one alone lies below: the interval of the mean is sure, the agreement is not there.
    one = entry_of("one", [above(FEW, [-0.02, -0.01, -0.01, -0.02]), *[above(FEW, [0.2, 0.21, 0.19, 0.2])] * 29])
    other = entry_of("other", [FEW, FEW])
    found = difference(one, other, "nDCG@10")
    assert found.is_significant
    assert not found.same_sign
    assert not found.is_reliable
    said = conclusions(comparison_of([one, other]))
    assert any("no reliable difference" in sentence and "signs differ between repeats" in sentence for sentence in said)
    assert not any("is better than" in sentence for sentence in said)


def test_a_single_training_shows_no_reliable_difference() -> None:
    one, other = entry_of("one", [above(FEW, [0.2, 0.1, 0.3, 0.2])]), entry_of("other", [FEW, FEW])
    found = difference(one, other, "nDCG@10")
    assert (found.is_significant, found.same_sign, found.is_reliable) == (True, True, False)
    comparison = comparison_of([one, other])
    assert any("no reliable difference" in sentence and "single training" in sentence for sentence in conclusions(comparison))
    notes = comparison_tables(comparison)[0].notes
    assert [note for note in notes if "trained once" in note and note.startswith("one:")]
    assert not any(note.startswith("other:") for note in notes)
    certain, plain = entry_of("one", one.values["RR"].tolist(), family="encoder"), entry_of("other", [FEW], family="lexical")
    assert difference(certain, plain, "nDCG@10").is_reliable


def test_systems_that_never_differ_are_not_called_different() -> None:
    found = difference(entry_of("one", [FEW]), entry_of("other", [FEW]), "RR")
    assert (found.mean, found.interval, found.is_reliable) == (0.0, None, False)


def test_values_are_averaged_over_repeats_and_their_range_is_given() -> None:
    entry = entry_of("one", [[0.2, 0.4, 0.9], [0.4, 0.6, 0.8]])
    assert entry.per_query("RR").tolist() == pytest.approx([0.3, 0.5, 0.85])
    assert entry.mean("RR") == pytest.approx(0.55)
    assert entry.seed_range("RR") == pytest.approx((0.5, 0.6))


def test_the_loss_by_typos_is_computed_repeat_by_repeat() -> None:
    # Each repeat falls by .1 to .3, though the better repeat with errors is above the worse one without.
    low, high = [0.3, 0.4, 0.2, 0.3], [0.8, 0.9, 0.7, 0.8]
    plain = entry_of("one", [low, high])
    edited = entry_of("one", [above(row, [-0.1, -0.2, -0.1, -0.2]) for row in (low, high)], edits=1)
    comparison = comparison_of([plain, edited])
    change = comparison.change(edited)
    assert change is not None
    assert change.is_reliable
    assert change.mean == pytest.approx(-0.15)
    assert comparison.relative_change(edited) == pytest.approx(-0.15 / 0.55)
    assert any("one loses 15.0 pp" in sentence and "(27%)" in sentence for sentence in conclusions(comparison))


def test_there_is_no_loss_without_a_run_without_typos() -> None:
    comparison = comparison_of([entry_of("one", [[0.9 / edits] * 4], edits=edits) for edits in (1, 2)])
    assert [comparison.change(entry) for entry in comparison.entries] == [None, None]
    assert not any("loses" in sentence or "no reliable loss" in sentence for sentence in conclusions(comparison))
    table = next(table for table in comparison_tables(comparison) if table.name == "typos")
    assert [column.name for column in table.columns] == ["system", "1 edit", "2 edits"]
    assert table.rows == (("one", 0.9, 0.45),)


def test_every_pair_is_given_with_the_higher_one_first() -> None:
    comparison = wide_comparison(["a", "b", "c"])
    entries = comparison.at_condition(comparison.base_condition)
    pairs = pairwise_differences(entries, "nDCG@10")
    assert len(pairs) == 3
    assert [(one.one, one.other) for one in comparison.pairs(comparison.base_condition)] == [("b", "a")]
    assert all(pair.mean >= 0 for pair in pairs)
    higher, lower = (comparison.entry(name, comparison.base_condition) for name in (pairs[0].one, pairs[0].other))
    alone = difference(higher, lower, "nDCG@10")
    assert alone.interval == pytest.approx(pairs[0].interval)


def test_an_untrained_model_is_in_no_conclusion_and_has_a_note() -> None:
    comparison = wide_comparison(["a", "b", "blank"])
    entries = comparison.at_condition(comparison.base_condition)
    assert [is_conclusive(entry) for entry in entries] == [True, True, False]
    assert "blank: untrained: not usable to compare tokenizers" in list(system_notes(entries, "nDCG@10", 0.01))
    about_quality = [sentence for sentence in conclusions(comparison) if "nDCG@10" in sentence]
    assert about_quality
    assert not any("blank" in sentence for sentence in about_quality)


def test_a_system_at_the_level_of_chance_has_a_note() -> None:
    weak = entry_of("weak", [[0.0, 0.0, 0.02, 0.01, 0.0]])
    assert any(
        "RR 0.0060 is not significantly above a random ranking (0.0500)" in note for note in system_notes([weak], "RR", 0.05)
    )
    wide = entry_of("wide", [[0.0, 0.0, 1.0, 0.0, 0.0]])
    assert any("is not significantly above" in note for note in system_notes([wide], "RR", 0.05))
    good = entry_of("good", [[0.5, 0.4, 0.52, 0.61, 0.55]])
    assert not any("random ranking" in note for note in system_notes([good], "RR", 0.05))


def test_quality_per_millisecond_is_the_mean_over_the_median_time() -> None:
    entry = entry_of("one", [[0.2, 0.6, 0.4]], ms=3.0)
    assert entry.quality_per_ms("RR") == pytest.approx(0.4 / 4.0)
    skewed = replace(entry, times={"total": np.array([[1.0, 2.0, 30.0]])})
    assert skewed.quality_per_ms("RR") == pytest.approx(0.4 / 2.0)


def test_the_slowest_is_named_only_if_significant_and_not_cached() -> None:
    values = [[0.2, 0.6, 0.4, 0.5]]
    slow, quick, near = (entry_of(name, values, ms=ms) for name, ms in {"slow": 9.0, "quick": 1.0, "near": 9.0}.items())
    wavering = replace(near, times={**near.times, "total": near.times["total"] * np.array([[0.8, 1.3, 0.8, 1.1]])})
    assert any("slow is the slowest: " in sentence for sentence in conclusions(comparison_of([slow, quick])))
    assert not any("is the slowest" in sentence for sentence in conclusions(comparison_of([slow, quick, wavering])))
    cached = replace(quick, from_cache=True)
    assert not any("is the slowest" in sentence for sentence in conclusions(comparison_of([slow, cached])))
