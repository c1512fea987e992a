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
from rankproof.lab.lessons.make import lessons_of
from rankproof.lab.lessons.syllabus import Syllabus
from rankproof.lab.training.batches import Batch, batches
from rankproof.lab.training.budget import planned
from rankproof.lab.training.id_table import id_table
from rankproof.lab.training.loop import pace
from rankproof.lab.training.prepared import prepared
from rankproof.lab.training.recipe import Recipe
from rankproof.models.trial.byte_tokenizer import ByteTokenizer
from rankproof.models.trial.shape import Body, operations
from rankproof.models.trial.tokenizer import trained_tokenizer
from small_datasets import small_dataset
from trial_nets import BODIES, KINDS, TRAINED

PARTS = ("pairs", "positives", "negatives")
TINY = Recipe(operations=None, steps=3, parameters=80_000, batch=8, characters=64, width=32, depth=2, crops=4, negatives=3)


@pytest.fixture(scope="module")
def lessons() -> Lessons:
    return lessons_of({"own": read_named("sample")}, Syllabus(holdout=0.5, crops=4, characters=64, negatives=3))


def trained(lessons: Lessons, kind: str, recipe: Recipe, seed: int = 1, **more: Any) -> Any:
    pytest.importorskip("torch", reason="the extra torch is not installed")
    from rankproof.lab.training.train import train

    return train(prepared(lessons, kind, recipe), seed=seed, device="cpu", threads=1, **more)


def steps_of(lessons: Lessons, kind: str, seed: int) -> list[Batch]:
    """The steps of a training, as its budget has them."""
    made = prepared(lessons, kind, TINY)
    recipe = replace(TINY, steps=20)
    return planned(batches(made.lessons, recipe, seed), recipe, made.shape, made.queries, made.documents)[0]


def are_alike(one: list[Batch], other: list[Batch]) -> bool:
    pairs = [(getattr(a, name), getattr(b, name)) for a, b in zip(one, other, strict=True) for name in PARTS]
    return all(np.array_equal(a, b) for a, b in pairs)


def test_the_seed_decides_which_pairs_are_seen_and_the_tokenizer_has_no_say(lessons: Lessons) -> None:
    first = steps_of(lessons, "bytes", 1)
    assert len(first) == 20
    assert all(are_alike(first, steps_of(lessons, kind, 1)) for kind in KINDS)
    assert not are_alike(first, steps_of(lessons, "bytes", 2))


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


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_bits(lessons: Lessons, kind: str, body: Body) -> None:
    recipe = replace(TINY, body=body)
    one, again, other = (trained(lessons, kind, recipe, seed).net.state_dict() for seed in (1, 1, 2))
    assert all(np.array_equal(one[name].numpy(), again[name].numpy()) for name in one)
    assert any(not np.array_equal(one[name].numpy(), other[name].numpy()) for name in one)


def test_a_budget_of_operations_is_kept_and_gives_finer_tokens_fewer_steps(lessons: Lessons) -> None:
    recipe = replace(TINY, steps=None, operations=3e9)
    cards = {kind: trained(lessons, kind, recipe).card for kind in ("bytes", "bpe-300")}
    assert cards["bytes"]["steps"] < cards["bpe-300"]["steps"]
    assert all(0.7 * 3e9 < card["operations"] <= 3e9 for card in cards.values())
    assert all(card["examples"] == card["steps"] * TINY.batch for card in cards.values())


def test_operations_are_three_passes_over_what_the_steps_read(lessons: Lessons) -> None:
    made = prepared(lessons, "bytes", TINY)
    steps, spent = planned(batches(lessons, TINY, 1), TINY, made.shape, made.queries, made.documents)
    read = [made.queries.lengths[batch.pairs] for batch in steps]
    read += [made.documents.lengths[rows] for batch in steps for rows in (batch.positives, batch.negatives)]
    assert len(steps) == TINY.steps
    assert spent == pytest.approx(3 * operations(made.shape, np.concatenate(read)))


def test_a_tokenizer_is_trained_on_the_documents_alone_as_the_net_reads_them(lessons: Lessons) -> None:
    texts = [text[: TINY.characters].lower() for text in lessons.documents]
    assert texts != list(lessons.documents)
    for kind in TRAINED:
        assert prepared(lessons, kind, TINY).tokenizer == trained_tokenizer(kind, texts)


def test_the_learning_rate_rises_in_a_line_and_falls_by_half_a_cosine() -> None:
    paces = [pace(step, 20, 0.2) for step in range(20)]
    assert paces[:4] == [0.25, 0.5, 0.75, 1.0]
    assert paces[4:12:4] == pytest.approx([1.0, (2 + 2**0.5) / 4])
    assert paces[12] == pytest.approx(0.5)
    assert 0 < paces[19] < 0.01
    assert pace(0, 1, 0.0) == 1


def test_gradients_are_no_longer_than_the_clip(lessons: Lessons) -> None:
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    net = trained(lessons, "bytes", replace(TINY, steps=1, clip=0.001)).net
    length = torch.stack([values.grad.norm() for values in net.parameters()]).norm()
    assert float(length) == pytest.approx(0.001, rel=1e-3)


def test_of_two_budgets_the_one_that_ends_sooner_counts(lessons: Lessons) -> None:
    both = [trained(lessons, "bytes-4", replace(TINY, steps=steps, operations=4e9)).card["steps"] for steps in (2, 1000)]
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
    warm = contrastive_loss(queries[:1], candidates, torch.tensor([[True, False, False]]), 0.5)
    assert float(warm) == pytest.approx(np.log(2 + np.exp(-2)))


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
        {"width": 20, "heads": 2},
        {"depth": 80},
        {"body": "lstm", "depth": 3},
        {"heads": 256, "width": 512},
        {"characters": 200_000},
        {"crops": -1},
        {"negatives": 101},
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
