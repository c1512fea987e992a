"""Collapsed vectors are detected; vectors of trained encoders are not reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankproof._data.arrays import Matrix
from rankproof._statistics.collapse import COLLAPSE_THRESHOLD, CosineSums
from rankproof.models._base import EncoderModel
from rankproof.models._bert import Bert, MiniLM
from rankproof.models._wordllama import WordLlama
from support.tiny_bert import bert_tensors, write_bert

TEXTS = [
    "A cast iron pan wants a thin film of oil after every wash.",
    "Soak the beans overnight and change the water once.",
    "Orders above forty euros are sent free of charge.",
    "The blender comes with a jug of two litres and a spare gasket.",
    "Fold the egg whites in slowly, or the batter will collapse.",
    "How do I descale an espresso machine with citric acid?",
    "Returned knives must lie in their original sheath.",
    "Simmer the stock for six hours without a lid.",
    "The warranty of the oven ends after three years.",
    "Rye bread keeps longer than wheat bread.",
    "Saffron is measured by the thread and not by the spoon.",
    "Your parcel number arrives by mail in the evening.",
    "A whetstone of grain 1000 serves for most kitchen blades.",
    "Pickled cucumbers need salt, dill and a week of patience.",
    "The induction hob does not recognise aluminium pots.",
    "Whip the cream cold, in a cold bowl.",
]


def rows_of(values: object) -> Matrix:
    return np.array(values, dtype=np.float32)


def test_the_mean_cosine_of_known_vectors() -> None:
    same = rows_of([[0.5] * 4] * 5)
    assert CosineSums.of(same).mean() == pytest.approx(1)
    assert CosineSums.of(rows_of(np.eye(4))).mean() == 0
    assert CosineSums.of(same[:1]).mean() == 0
    assert CosineSums.of(same[:0]).mean() == 0


def test_a_pair_is_never_a_row_with_itself() -> None:
    assert CosineSums.of(rows_of([[1, 0], [-1, 0]])).mean() == pytest.approx(-1)


def test_a_row_whose_length_is_almost_1_is_taken_as_it_is() -> None:
    rows = rows_of([[1.0005, 0], [0, 0.9995], [0, 3]])
    total = CosineSums.of(rows)
    assert (total.sums / 2**30).tolist() == pytest.approx([1.0005, 1.9995], abs=1e-6)
    assert total.count == 3


def test_the_mean_is_that_of_all_pairs_and_leaves_zero_vectors_out() -> None:
    rows = rows_of(np.random.default_rng(1).normal(size=(300, 8)))
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = np.mean([units[left] @ units[right] for left in range(300) for right in range(left)])
    assert CosineSums.of(rows).mean() == pytest.approx(expected, abs=1e-6)
    assert CosineSums.of(np.concatenate([rows, rows_of(np.zeros((50, 8)))])).mean() == CosineSums.of(rows).mean()


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
def test_parts_of_any_size_give_the_same_bits(size: int) -> None:
    rows = rows_of(np.random.default_rng(2).normal(size=(9000, 24)))
    parts = [CosineSums.of(rows[start : start + size]) for start in range(0, 9000, size)]
    total = sum(parts[1:], parts[0])
    assert (total.mean(), total.count) == (CosineSums.of(rows[::-1]).mean(), 9000)


def test_static_vectors_are_not_collapsed() -> None:
    assert_apart(WordLlama())


def test_vectors_of_minilm_are_not_collapsed(minilm_cache: Path) -> None:
    assert_apart(MiniLM())


def assert_apart(model: EncoderModel) -> None:
    rows = model.load().encode(TEXTS)
    assert CosineSums.of(rows).mean() < 0.6
    assert CosineSums.of(rows).collapse_note() is None


def test_a_model_that_was_never_trained_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    tensors = {name: tensor / 15 for name, tensor in bert_tensors().items()}
    tensors |= {name: np.ones_like(tensor) for name, tensor in tensors.items() if name.endswith("LayerNorm.weight")}
    rows = Bert(str(write_bert(tmp_path / "m", tensors=tensors)), pooling="cls").load().encode(TEXTS)
    assert CosineSums.of(rows).mean() > COLLAPSE_THRESHOLD
    assert "the encoder maps all texts to nearly the same vector: the mean cosine of two texts is" in (
        CosineSums.of(rows).collapse_note() or ""
    )
