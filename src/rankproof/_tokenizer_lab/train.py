"""One training."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.identity import library_versions
from rankproof._extras import extra
from rankproof._tokenizer_lab.batches import Batch, DeviceData, TokenIdTable, TokenizedData, batches
from rankproof._tokenizer_lab.splits import text_digest
from rankproof._tokenizer_lab.training_config import Device, TrainingConfig, device_name, training_device
from rankproof._tokenizer_lab.training_data import TrainingData
from rankproof.errors import ExternalError

if TYPE_CHECKING:
    from rankproof.models._trained.shape import NetShape
    from rankproof.models._trained.tokenizers import Tokenizer


_PASSES_PER_STEP = 3
"""A backward pass is two forward ones."""


def plan_steps(
    batches: Iterator[Batch], recipe: TrainingConfig, shape: NetShape, queries: TokenIdTable, documents: TokenIdTable
) -> tuple[list[Batch], float]:
    """The steps that the budget allows, at least one unless none is asked for, and the operations that they take."""
    of_query, of_document = _flops_per_row(shape, queries), _flops_per_row(shape, documents)

    def cost(batch: Batch) -> float:
        found = of_query[batch.pairs].sum() + of_document[batch.positives].sum() + of_document[batch.negatives].sum()
        return _PASSES_PER_STEP * float(found)

    return _steps_within(islice(batches, recipe.steps), cost, math.inf if recipe.flops is None else recipe.flops)


def _steps_within(batches: Iterator[Batch], cost: Callable[[Batch], float], most: float) -> tuple[list[Batch], float]:
    """As many steps as stay within the budget."""
    steps: list[Batch] = []
    spent = 0.0
    for batch in batches:
        more = cost(batch)
        if steps and spent + more > most:
            break
        steps.append(batch)
        spent += more
    return steps, spent


def _flops_per_row(shape: NetShape, table: TokenIdTable) -> FloatArray:
    """The operations of one forward pass over each row; rows of one length cost the same."""
    from rankproof.models._trained.shape import forward_flops

    lengths, back = np.unique(table.lengths, return_inverse=True)
    return np.array([forward_flops(shape, lengths[at : at + 1]) for at in range(len(lengths))])[back]


def contrastive_loss(queries: Any, candidates: Any, masked: Any, temperature: float) -> Any:
    """The mean cross-entropy in 32 bits; candidate i answers query i, and others that are barred for it do not count."""
    with extra("torch"):
        import torch

    logits = queries.float() @ candidates.float().T / temperature
    own = torch.arange(len(queries), device=logits.device)
    masked = masked.clone()
    masked[own, own] = False
    return torch.nn.functional.cross_entropy(logits.masked_fill(masked, float("-inf")), own)


Losses = list[tuple[int, float]]
StepProgress = Callable[[int, int, float, float], None]
"""Hears of the step, the number of steps, the loss and the examples a second."""

_BLOCK = 50
"""Steps between two looks at the loss: each look waits for the device."""


def train_loop(
    net: Any, steps: Sequence[Batch], device_data: DeviceData, recipe: TrainingConfig, progress: StepProgress
) -> Losses:
    """Trains the net, and gives the mean loss of every block of steps under the block's last step, and the first one's own."""
    with extra("torch"):
        import torch

    net.to(device_data.device).train()
    fused = device_data.device.type == "cuda"
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.0, betas=(0.9, 0.98), weight_decay=recipe.weight_decay, fused=fused)
    losses: Losses = []
    start = time.perf_counter()
    for first, last in _step_blocks(len(steps)):
        found = []
        for at, rows in zip(range(first, last), device_data.blocks(steps[first:last]), strict=True):
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate * learning_rate_factor(at, len(steps), recipe.warmup)
            found.append(_training_step(net, optimizer, device_data.step(steps[at], rows), recipe))
        losses.append((last, _mean_loss(found, last)))
        progress(last, len(steps), losses[-1][1], last * recipe.batch / (time.perf_counter() - start))
    net.eval()
    return losses


def _training_step(net: Any, optimizer: Any, read: tuple[Any, Any, Any], recipe: TrainingConfig) -> Any:
    with extra("torch"):
        import torch

    asked, candidates, barred = read
    with _precision(asked.device.type):
        queries, documents = net(asked), net(candidates)
    loss = contrastive_loss(queries, documents, barred, recipe.temperature)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), recipe.clip)
    optimizer.step()
    return loss.detach()


def _precision(device: str) -> AbstractContextManager[Any]:
    """Half the bits on a GPU; all of them on the processor, where the same seed gives the same bits."""
    with extra("torch"):
        import torch

    mixed: AbstractContextManager[Any] = torch.autocast("cuda", dtype=torch.bfloat16) if device == "cuda" else nullcontext()
    return mixed


def learning_rate_factor(step: int, steps: int, warmup: float) -> float:
    """The part of the learning rate at a step: up in a line, then down by half a cosine."""
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising)))


def _step_blocks(steps: int) -> Iterator[tuple[int, int]]:
    """The first step alone, then blocks."""
    edges = [0, *range(1, steps, _BLOCK), steps]
    return ((first, last) for first, last in pairwise(edges) if first < last)


def _mean_loss(found: list[Any], step: int) -> float:
    with extra("torch"):
        import torch

    loss = float(torch.stack(found).mean())
    if not math.isfinite(loss):
        raise ExternalError(f"the loss is {loss} by step {step}; lower --learning-rate")
    return loss


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """The net with its shape and tokenizer, and the card that says how it came to be."""

    net: Any
    shape: NetShape
    tokenizer: Tokenizer
    metadata: Mapping[str, Any]


def no_progress(step: int, steps: int, loss: float, rate: float) -> None:
    """Tells nobody."""


def train(
    tokenized: TokenizedData,
    *,
    seed: int = 1,
    device: Device = "auto",
    threads: int | None = None,
    progress: StepProgress = no_progress,
) -> TrainingOutcome:
    """The encoder; on the processor the same material, seed and threads give the same bits."""
    from rankproof.models._trained.encoder import initialise_network

    place = training_device(device, threads)
    lessons, recipe, queries, documents = tokenized.lessons, tokenized.recipe, tokenized.queries, tokenized.documents
    steps, operations = plan_steps(batches(lessons, recipe, seed), recipe, tokenized.shape, queries, documents)
    net = initialise_network(tokenized.shape, seed)
    start = time.perf_counter()
    losses = train_loop(net, steps, DeviceData(queries, documents, lessons.relevant, place), recipe, progress) if steps else []
    metadata = {
        "trained": bool(steps),
        "steps": len(steps),
        "seed": seed,
        "training_config": recipe.describe(),
        "data": _data_metadata(lessons),
        "examples": len(steps) * recipe.batch,
        "flops": operations,
        "tokens_per_document": float(documents.lengths.mean()),
        "seconds": time.perf_counter() - start,
        "device": device_name(place),
        "library": library_versions("torch"),
        "losses": [list(pair) for pair in losses],
    }
    return TrainingOutcome(net.cpu(), tokenized.shape, tokenized.tokenizer, metadata)


def _data_metadata(lessons: TrainingData) -> dict[str, Any]:
    """What the lessons hold, as a checkpoint's card has it: the judged queries by id and by digest of the text."""
    return {
        "name": lessons.name,
        "documents": len(lessons.documents),
        "pairs": len(lessons.queries),
        "real": lessons.judged_count,
        "digest": lessons.digest,
        "queries": list(lessons.ids),
        "texts": sorted({text_digest(text) for text in lessons.queries[: lessons.judged_count]}),
    }
