"""The loop: a net, steps, losses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Any

from ..._extras import extra
from ...errors import WorldError
from .batches import Batch
from .classroom import Classroom
from .loss import contrastive_loss
from .recipe import Recipe

Losses = list[tuple[int, float]]
Progress = Callable[[int, int, float, float], None]
"""Hears of the step, the number of steps, the loss and the examples a second."""

_BLOCK = 50
"""Steps between two looks at the loss: each look waits for the device."""


def taught(net: Any, steps: Sequence[Batch], classroom: Classroom, recipe: Recipe, progress: Progress) -> Losses:
    """Trains the net, and gives the mean loss of every block of steps under the block's last step, and the first one's own."""
    with extra("torch"):
        import torch

    net.to(classroom.device).train()
    fused = classroom.device.type == "cuda"
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.0, betas=(0.9, 0.98), weight_decay=recipe.weight_decay, fused=fused)
    losses: Losses = []
    start = time.perf_counter()
    for first, last in _blocks(len(steps)):
        found = []
        for at, rows in zip(range(first, last), classroom.blocks(steps[first:last]), strict=True):
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate * pace(at, len(steps), recipe.warmup)
            found.append(_step(net, optimizer, classroom.step(steps[at], rows), recipe))
        losses.append((last, _read(found, last)))
        progress(last, len(steps), losses[-1][1], last * recipe.batch / (time.perf_counter() - start))
    net.eval()
    return losses


def _step(net: Any, optimizer: Any, read: tuple[Any, Any, Any], recipe: Recipe) -> Any:
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


def pace(step: int, steps: int, warmup: float) -> float:
    """The part of the learning rate at a step: up in a line, then down by half a cosine."""
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising)))


def _blocks(steps: int) -> Iterator[tuple[int, int]]:
    """The first step alone, then blocks."""
    edges = [0, *range(1, steps, _BLOCK), steps]
    return ((first, last) for first, last in pairwise(edges) if first < last)


def _read(found: list[Any], step: int) -> float:
    with extra("torch"):
        import torch

    loss = float(torch.stack(found).mean())
    if not math.isfinite(loss):
        raise WorldError(f"the loss is {loss} by step {step}; lower --learning-rate")
    return loss
