"""Training: the same pairs for every tokenizer, a budget that is kept, the same bits for the same seed."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from rankproof._cli.options import read_dataset_or_sample
from rankproof._tokenizer_lab.train import learning_rate_factor, plan_steps
from rankproof._tokenizer_lab.training_config import Batch, TrainingConfig, batches, tokenize_data, tokenize_texts
from rankproof._tokenizer_lab.training_data import TrainingData, TrainingDataConfig, build_training_data
from rankproof.errors import ExternalError, UsageError
from rankproof.models._trained.shape import ARCHITECTURES, Architecture, forward_flops
from rankproof.models._trained.tokenizers import ByteTokenizer, train_tokenizer
from support.small_datasets import small_dataset
from support.trained_encoders import KINDS, TRAINED

PARTS = ("pairs", "positives", "negatives")
TINY = TrainingConfig(flops=None, steps=3, parameters=80_000, batch=8, characters=64, width=32, depth=2, crops=4, negatives=3)


@pytest.fixture(scope="module")
def training_data() -> TrainingData:
    return build_training_data(
        {"own": read_dataset_or_sample("sample")}, TrainingDataConfig(holdout=0.5, crops=4, characters=64, negatives=3)
    )


def trained(training_data: TrainingData, kind: str, config: TrainingConfig, seed: int = 1, **more: Any) -> Any:
    pytest.importorskip("torch", reason="the extra torch is not installed")
    from rankproof._tokenizer_lab.train import train

    return train(tokenize_data(training_data, kind, config), seed=seed, device="cpu", threads=1, **more)


def steps_of(training_data: TrainingData, kind: str, seed: int) -> list[Batch]:
    """The steps of a training, as its budget has them."""
    made = tokenize_data(training_data, kind, TINY)
    config = replace(TINY, steps=20)
    return plan_steps(batches(made.training_data, config, seed), config, made.shape, made.queries, made.documents)[0]


def are_alike(one: list[Batch], other: list[Batch]) -> bool:
    pairs = [(getattr(a, name), getattr(b, name)) for a, b in zip(one, other, strict=True) for name in PARTS]
    return all(np.array_equal(a, b) for a, b in pairs)


def test_the_batches_depend_on_the_seed_and_not_on_the_tokenizer(training_data: TrainingData) -> None:
    first = steps_of(training_data, "bytes", 1)
    assert len(first) == 20
    assert all(are_alike(first, steps_of(training_data, kind, 1)) for kind in KINDS)
    assert not are_alike(first, steps_of(training_data, "bytes", 2))


def test_a_batch_has_its_share_of_judged_pairs_and_epochs_have_every_pair_once(training_data: TrainingData) -> None:
    steps = list(islice(batches(training_data, replace(TINY, judged_share=0.5), 1), 3 * training_data.judged_count // 4))
    assert all((batch.pairs < training_data.judged_count).sum() == 4 for batch in steps)
    counts = np.bincount(np.concatenate([batch.pairs for batch in steps]), minlength=len(training_data.queries))
    assert set(counts[: training_data.judged_count]) <= {2, 3}
    assert counts[training_data.judged_count :].max() - counts[training_data.judged_count :].min() <= 1


def test_negatives_of_a_step_are_hard_negatives_of_their_pair(training_data: TrainingData) -> None:
    for batch in islice(batches(training_data, TINY, 1), 30):
        for pair, positive, negative in zip(batch.pairs, batch.positives, batch.negatives, strict=True):
            assert positive == training_data.positives[pair]
            assert negative in training_data.negatives[pair] or (training_data.negatives[pair] < 0).all()


def test_without_crops_or_judged_pairs_a_batch_is_all_of_the_other() -> None:
    judged = build_training_data({"own": small_dataset()}, TrainingDataConfig(crops=0, negatives=0))
    assert (next(batches(judged, TINY, 1)).pairs < judged.judged_count).all()
    crops = replace(judged, judged_count=0)
    assert len(next(batches(crops, TINY, 1)).pairs) == TINY.batch


def test_texts_are_truncated_before_tokenization_and_padded_with_0() -> None:
    table = tokenize_texts(ByteTokenizer("bytes"), ["abc", "x" * 100, ""], 40)
    assert table.lengths.tolist() == [3, 40, 0]
    assert table.ids.shape == (3, 64)
    assert (table.ids != 0).sum(axis=1).tolist() == [3, 40, 0]
    assert table.longest(np.array([0, 2])) == 32


@pytest.mark.torch
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_bits(training_data: TrainingData, kind: str, architecture: Architecture) -> None:
    config = replace(TINY, architecture=architecture)
    one, again, other = (trained(training_data, kind, config, seed).net.state_dict() for seed in (1, 1, 2))
    assert all(np.array_equal(one[name].numpy(), again[name].numpy()) for name in one)
    assert any(not np.array_equal(one[name].numpy(), other[name].numpy()) for name in one)


@pytest.mark.torch
def test_a_flops_budget_is_kept_and_finer_tokens_get_fewer_steps(training_data: TrainingData) -> None:
    config = replace(TINY, steps=None, flops=3e9)
    metadata = {kind: trained(training_data, kind, config).metadata for kind in ("bytes", "bpe-300")}
    assert metadata["bytes"]["steps"] < metadata["bpe-300"]["steps"]
    assert all(0.7 * 3e9 < each["flops"] <= 3e9 for each in metadata.values())
    assert all(each["examples"] == each["steps"] * TINY.batch for each in metadata.values())


def test_flops_are_three_passes_over_the_tokens_of_the_steps(training_data: TrainingData) -> None:
    made = tokenize_data(training_data, "bytes", TINY)
    steps, spent = plan_steps(batches(training_data, TINY, 1), TINY, made.shape, made.queries, made.documents)
    read = [made.queries.lengths[batch.pairs] for batch in steps]
    read += [made.documents.lengths[rows] for batch in steps for rows in (batch.positives, batch.negatives)]
    assert len(steps) == TINY.steps
    assert spent == pytest.approx(3 * forward_flops(made.shape, np.concatenate(read)))


def test_a_tokenizer_is_trained_only_on_the_documents(training_data: TrainingData) -> None:
    texts = [text[: TINY.characters].lower() for text in training_data.documents]
    assert texts != list(training_data.documents)
    for kind in TRAINED:
        assert tokenize_data(training_data, kind, TINY).tokenizer == train_tokenizer(kind, texts)


def test_the_learning_rate_has_a_linear_warm_up_and_cosine_decay() -> None:
    paces = [learning_rate_factor(step, 20, 0.2) for step in range(20)]
    assert paces[:4] == [0.25, 0.5, 0.75, 1.0]
    assert paces[4:12:4] == pytest.approx([1.0, (2 + 2**0.5) / 4])
    assert paces[12] == pytest.approx(0.5)
    assert 0 < paces[19] < 0.01
    assert learning_rate_factor(0, 1, 0.0) == 1


@pytest.mark.torch
def test_gradients_are_clipped(training_data: TrainingData) -> None:
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    net = trained(training_data, "bytes", replace(TINY, steps=1, clip=0.001)).net
    length = torch.stack([values.grad.norm() for values in net.parameters()]).norm()
    assert float(length) == pytest.approx(0.001, rel=1e-3)


@pytest.mark.torch
def test_of_two_budgets_the_one_that_ends_sooner_counts(training_data: TrainingData) -> None:
    both = [trained(training_data, "bytes-4", replace(TINY, steps=steps, flops=4e9)).metadata["steps"] for steps in (2, 1000)]
    assert both[0] == 2
    assert 2 < both[1] < 1000


@pytest.mark.torch
def test_zero_steps_keep_the_initial_weights(training_data: TrainingData) -> None:
    found = trained(training_data, "bytes", replace(TINY, steps=0))
    from rankproof.models._trained.torch_net import initialise_network

    fresh = initialise_network(found.shape, 1).state_dict()
    assert all(np.array_equal(found.net.state_dict()[name].numpy(), fresh[name].numpy()) for name in fresh)
    assert found.metadata["trained"] is False
    assert found.metadata["losses"] == []


@pytest.mark.torch
def test_the_metadata_has_the_training_data(training_data: TrainingData) -> None:
    heard: list[tuple[int, int]] = []
    metadata = trained(
        training_data, "bytes", TINY, progress=lambda step, steps, loss, rate: heard.append((step, steps))
    ).metadata
    assert heard == [(1, 3), (3, 3)]
    assert [step for step, _ in metadata["losses"]] == [1, 3]
    assert metadata["data"]["queries"] == list(training_data.ids)
    assert len(metadata["data"]["texts"]) == len(set(training_data.queries[: training_data.judged_count]))
    assert (metadata["trained"], metadata["steps"], metadata["seed"], metadata["training_config"]) == (
        True,
        3,
        1,
        TINY.describe(),
    )


@pytest.mark.torch
def test_other_relevant_candidates_are_masked() -> None:
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    from rankproof._tokenizer_lab.train import contrastive_loss

    queries, candidates = torch.eye(2, 4), torch.eye(2, 4)[[0, 0, 1]]
    free = contrastive_loss(queries[:1], candidates, torch.tensor([[True, False, False]]), 1.0)
    barred = contrastive_loss(queries[:1], candidates, torch.tensor([[True, True, False]]), 1.0)
    assert float(free) == pytest.approx(np.log(2 + np.exp(-1)))
    assert float(barred) == pytest.approx(np.log(1 + np.exp(-1)))
    warm = contrastive_loss(queries[:1], candidates, torch.tensor([[True, False, False]]), 0.5)
    assert float(warm) == pytest.approx(np.log(2 + np.exp(-2)))


@pytest.mark.torch
def test_a_loss_that_is_not_finite_is_an_error(training_data: TrainingData) -> None:
    with pytest.raises(ExternalError, match=r"the loss is .*lower learning_rate="):
        trained(
            training_data,
            "bytes",
            replace(TINY, steps=40, learning_rate=1.0, clip=1e6, temperature=0.001, weight_decay=10.0, warmup=0.0),
        )


@pytest.mark.parametrize(
    "wrong",
    [
        {"flops": None, "steps": None},
        {"flops": float("nan")},
        {"flops": None, "steps": -1},
        {"batch": 1},
        {"width": 30},
        {"width": 20, "heads": 2},
        {"depth": 80},
        {"architecture": "lstm", "depth": 3},
        {"heads": 256, "width": 512},
        {"characters": 200_000},
        {"crops": -1},
        {"negatives": 101},
        {"learning_rate": 0.0},
        {"temperature": 0.0},
        {"judged_share": 1.5},
        {"architecture": "convolution"},
        {"characters": 2},
    ],
)
def test_an_invalid_config_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        TrainingConfig(**wrong)
