"""A series of trainings in one folder: every kind with every seed, those that are finished left as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...formats.atomic import write_blocks
from ...models.trial.checkpoint import Checkpoint, open_checkpoint, save_checkpoint
from ..lessons.lessons import Lessons
from .device import Device
from .loop import Progress
from .prepared import Prepared
from .recipe import Recipe
from .train import trained

LOSSES = "training.csv"


@dataclass(frozen=True, slots=True)
class Trial:
    """One training of a series: a tokenizer's name and a seed."""

    kind: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.kind}-{self.seed}"


def trials_of(kinds: Sequence[str], repeats: int, seed: int) -> list[Trial]:
    """Every kind with each of so many seeds, the first of them given; a whole round of kinds before the next seed."""
    return [Trial(kind, seed + repeat) for repeat in range(repeats) for kind in dict.fromkeys(kinds)]


def finished(folder: str, trial: Trial, lessons: Lessons, recipe: Recipe) -> Checkpoint | None:
    """The trial's checkpoint, None where there is none; one of another recipe, of other data or of another seed is refused."""
    path = os.path.join(folder, trial.name)
    if not os.path.lexists(path):
        return None
    checkpoint = open_checkpoint(path)
    card, data = checkpoint.card, checkpoint.card.get("data")
    told = (card.get("recipe"), card.get("seed"), data.get("digest") if isinstance(data, dict) else None, checkpoint.shape.kind)
    if told != (recipe.told(), trial.seed, lessons.digest, trial.kind):
        raise UsageError(f"{path} was trained by another recipe or on other data", fix="name another folder, or remove this one")
    return checkpoint


def taught_trial(
    folder: str, trial: Trial, material: Prepared, device: Device, threads: int | None, progress: Progress
) -> Checkpoint:
    """The trial, trained and written as a checkpoint."""
    found = trained(material, seed=trial.seed, device=device, threads=threads, progress=progress)
    path = Path(folder) / trial.name
    save_checkpoint(path, found.net, found.shape, found.tokenizer, found.card)
    return open_checkpoint(path)


def write_losses(folder: str, cards: Mapping[Trial, Mapping[str, Any]]) -> None:
    """The losses of every trial as a table: kind, seed, step, loss."""
    write_blocks(os.path.join(folder, LOSSES), _lines(cards))


def _lines(cards: Mapping[Trial, Mapping[str, Any]]) -> Iterator[bytes]:
    yield b"kind,seed,step,loss\n"
    for trial, card in cards.items():
        for step, loss in card.get("losses", ()):
            yield f"{trial.kind},{trial.seed},{step},{loss!r}\n".encode()
