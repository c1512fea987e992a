"""One training: lessons in a tokenizer's tokens, a recipe and a seed make an encoder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...data.versions import behind
from ..lessons.digest import text_digest
from ..lessons.lessons import Lessons
from .batches import batches
from .budget import planned
from .classroom import Classroom
from .device import Device, chosen_device, told_device
from .loop import Progress, taught
from .prepared import Prepared

if TYPE_CHECKING:
    from ...models.trial.shape import Shape
    from ...models.trial.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Trained:
    """The net with its shape and tokenizer, and the card that says how it came to be."""

    net: Any
    shape: Shape
    tokenizer: Tokenizer
    card: Mapping[str, Any]


def silent(step: int, steps: int, loss: float, rate: float) -> None:
    """Tells nobody."""


def train(
    material: Prepared,
    *,
    seed: int = 1,
    device: Device = "auto",
    threads: int | None = None,
    progress: Progress = silent,
) -> Trained:
    """The encoder; on the processor the same material, seed and threads give the same bits."""
    from ...models.trial.net import net_of

    place = chosen_device(device, threads)
    lessons, recipe, queries, documents = material.lessons, material.recipe, material.queries, material.documents
    steps, operations = planned(batches(lessons, recipe, seed), recipe, material.shape, queries, documents)
    net = net_of(material.shape, seed)
    start = time.perf_counter()
    losses = taught(net, steps, Classroom(queries, documents, lessons.relevant, place), recipe, progress) if steps else []
    card = {
        "trained": bool(steps),
        "steps": len(steps),
        "seed": seed,
        "recipe": recipe.told(),
        "data": _told_data(lessons),
        "examples": len(steps) * recipe.batch,
        "operations": operations,
        "tokens_per_document": float(documents.lengths.mean()),
        "seconds": time.perf_counter() - start,
        "device": told_device(place),
        "library": behind("torch"),
        "losses": [list(pair) for pair in losses],
    }
    return Trained(net.cpu(), material.shape, material.tokenizer, card)


def _told_data(lessons: Lessons) -> dict[str, Any]:
    """What the lessons hold, as a checkpoint's card has it: the judged queries by id and by digest of the text."""
    return {
        "name": lessons.name,
        "documents": len(lessons.documents),
        "pairs": len(lessons.queries),
        "real": lessons.real,
        "digest": lessons.digest,
        "queries": list(lessons.ids),
        "texts": sorted({text_digest(text) for text in lessons.queries[: lessons.real]}),
    }
