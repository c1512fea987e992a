"""Training: the same pairs for every tokenizer, a budget that is kept, the same bits for the same seed."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from rankproof.cli.dataset import read_named
from rankproof.errors import UsageError, WorldError
from rankproof.lab.lessons.lessons import Lessons
from rankproof.lab.lessons.teach import Syllabus, lessons_of
from rankproof.lab.training.plan import batches
from rankproof.lab.training.recipe import Recipe
from rankproof.lab.training.tables import id_table
from rankproof.models.trial.byte_tokenizer import ByteTokenizer
from small_datasets import small_dataset

TINY = Recipe(operations=None, steps=3, parameters=30_000, batch=8, characters=64, width=32, depth=2, crops=4, negatives=3)
KINDS = ("bytes", "bytes-4", "bpe-300", "wordpiece-300")


@pytest.fixture(scope="module")
def lessons() -> Lessons:
    return lessons_of({"own": read_named("sample")}, Syllabus(holdout=0.5, crops=4, characters=64, negatives=3))


def trained(lessons: Lessons, kind: str, recipe: Recipe, seed: int = 1, **more: Any) -> Any:
    pytest.importorskip("torch", reason="the extra torch is not installed")
    from rankproof.lab.training.train import train

    return train(lessons, kind, recipe, seed=seed, device="cpu", threads=1, **more)


def test_the_seed_alone_decides_which_pairs_are_seen(lessons: Lessons) -> None:
    one, again, other = (list(islice(batches(lessons, TINY, seed), 20)) for seed in (1, 1, 2))
    assert all(
        np.array_equal(a.pairs, b.pairs) and np.array_equal(a.negatives, b.negatives) for a, b in zip(one, again, strict=True)
    )
    assert any(not np.array_equal(a.pairs, b.pairs) for a, b in zip(one, other, strict=True))


def test_a_batch_has_its_share_of_judged_pairs_and_every_pair_comes_before_any_comes_again(lessons: Lessons) -> None:
    steps = list(islice(batches(lessons, replace(TINY, real_share=0.5), 1), 3 * lessons.real // 4))
    assert all((batch.pairs < lessons.real).sum() == 4 for batch in steps)
    counts = np.bincount(np.concatenate([batch.pairs for batch in steps]), minlength=len(lessons.queries))
    assert set(counts[: lessons.real]) <= {2, 3}
    assert counts[lessons.real :].max() - counts[lessons.real :].min() <= 1


def test_negatives_of_a_step_are_hard_ones_of_their_pair(lessons: Lessons) -> None:
    for batch in islice(batches(lessons, TINY, 1), 30):
        for pair, positive, negative in zip(batch.pairs, batch.positives, batch.negatives, strict=True):
            assert positive == lessons.positives[pair]
            assert negative in lessons.negatives[pair] or (lessons.negatives[pair] < 0).all()


def test_without_crops_or_judged_pairs_a_batch_is_all_of_the_other() -> None:
    judged = lessons_of({"own": small_dataset()}, Syllabus(crops=0, negatives=0))
    assert (next(batches(judged, TINY, 1)).pairs < judged.real).all()
    crops = replace(judged, real=0)
    assert len(next(batches(crops, TINY, 1)).pairs) == TINY.batch


def test_texts_are_cut_before_they_are_tokens_and_padded_with_0() -> None:
    table = id_table(ByteTokenizer("bytes"), ["abc", "x" * 100, ""], 40)
    assert table.lengths.tolist() == [3, 40, 0]
    assert table.ids.shape == (3, 64)
    assert (table.ids != 0).sum(axis=1).tolist() == [3, 40, 0]
    assert table.longest(np.array([0, 2])) == 32


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_bits(lessons: Lessons, kind: str) -> None:
    one, again, other = (trained(lessons, kind, TINY, seed).net.state_dict() for seed in (1, 1, 2))
    assert all(np.array_equal(one[name].numpy(), again[name].numpy()) for name in one)
    assert any(not np.array_equal(one[name].numpy(), other[name].numpy()) for name in one)


def test_a_budget_of_operations_is_kept_and_gives_finer_tokens_fewer_steps(lessons: Lessons) -> None:
    recipe = replace(TINY, steps=None, operations=3e9)
    cards = {kind: trained(lessons, kind, recipe).card for kind in ("bytes", "bpe-300")}
    assert cards["bytes"]["steps"] < cards["bpe-300"]["steps"]
    assert all(0.7 * 3e9 < card["operations"] <= 3e9 for card in cards.values())
    assert all(card["examples"] == card["steps"] * TINY.batch for card in cards.values())


def test_of_two_budgets_the_one_that_ends_sooner_counts(lessons: Lessons) -> None:
    both = [trained(lessons, "bytes-4", replace(TINY, steps=steps, operations=1e9)).card["steps"] for steps in (2, 1000)]
    assert both[0] == 2
    assert 2 < both[1] < 1000


def test_no_steps_leave_the_weights_as_they_were_drawn(lessons: Lessons) -> None:
    found = trained(lessons, "bytes", replace(TINY, steps=0))
    from rankproof.models.trial.net import net_of

    fresh = net_of(found.shape, 1).state_dict()
    assert all(np.array_equal(found.net.state_dict()[name].numpy(), fresh[name].numpy()) for name in fresh)
    assert found.card["trained"] is False
    assert found.card["losses"] == []


def test_the_card_says_what_was_taught(lessons: Lessons) -> None:
    heard: list[tuple[int, int]] = []
    card = trained(lessons, "bytes", TINY, progress=lambda step, steps, loss, rate: heard.append((step, steps))).card
    assert heard == [(1, 3), (3, 3)]
    assert [step for step, _ in card["losses"]] == [1, 3]
    assert card["data"]["queries"] == list(lessons.ids)
    assert len(card["data"]["texts"]) == len(set(lessons.queries[: lessons.real]))
    assert (card["trained"], card["steps"], card["seed"], card["recipe"]) == (True, 3, 1, TINY.told())


def test_a_candidate_that_answers_too_does_not_count() -> None:
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    from rankproof.lab.training.loss import contrastive_loss

    queries, candidates = torch.eye(2, 4), torch.eye(2, 4)[[0, 0, 1]]
    free = contrastive_loss(queries[:1], candidates, torch.tensor([[True, False, False]]), 1.0)
    barred = contrastive_loss(queries[:1], candidates, torch.tensor([[True, True, False]]), 1.0)
    assert float(free) == pytest.approx(np.log(2 + np.exp(-1)))
    assert float(barred) == pytest.approx(np.log(1 + np.exp(-1)))


def test_a_loss_that_is_no_number_is_told_with_a_fix(lessons: Lessons) -> None:
    with pytest.raises(WorldError, match=r"the loss is .*lower --learning-rate"):
        trained(
            lessons,
            "bytes",
            replace(TINY, steps=40, learning_rate=1.0, clip=1e6, temperature=0.001, weight_decay=10.0, warmup=0.0),
        )


@pytest.mark.parametrize(
    "wrong",
    [
        {"operations": None, "steps": None},
        {"operations": float("nan")},
        {"operations": None, "steps": -1},
        {"batch": 1},
        {"width": 30},
        {"learning_rate": 0.0},
        {"temperature": 0.0},
        {"real_share": 1.5},
        {"body": "convolution"},
        {"characters": 2},
    ],
)
def test_a_recipe_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Recipe(**wrong)
