"""A series of trainings in one folder: every kind with every seed, those that are finished left as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...errors import UsageError
from ...formats.atomic import write_blocks
from ...models.trial.checkpoint import Checkpoint, check_place, is_written, open_checkpoint, save_checkpoint
from ...models.trial.fitting import check_least
from ...models.trial.tokenizer import trained_tokenizer
from ..lessons.lessons import Lessons
from .device import Device
from .loop import Progress
from .prepared import prepared
from .recipe import Recipe
from .train import silent, train

LOSSES = "training.csv"


@dataclass(frozen=True, slots=True)
class Repeat:
    """One training of a series: a tokenizer's name and a seed."""

    kind: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.kind}-{self.seed}"


def repeats_of(kinds: Sequence[str], repeats: int, seed: int) -> list[Repeat]:
    """Every kind with each of so many seeds, the first of them given; a whole round of kinds before the next seed."""
    return [Repeat(kind, seed + more) for more in range(repeats) for kind in dict.fromkeys(kinds)]


def check_kinds(kinds: Sequence[str], recipe: Recipe) -> None:
    """Refuses names that are no tokenizer's, and too few parameters for a net with the fewest tokens that a kind can have."""
    for kind in dict.fromkeys(kinds):
        check_least(kind, trained_tokenizer(kind, ()).vocabulary, **recipe.sizes())


def train_series(
    folder: str,
    lessons: Lessons,
    recipe: Recipe,
    repeats: Sequence[Repeat],
    *,
    device: Device = "auto",
    threads: int | None = None,
    progress: Callable[[Repeat], Progress] = lambda repeat: silent,
) -> dict[Repeat, Checkpoint]:
    """A checkpoint for each, in the order given; a kind that does not fit is refused before any is trained."""
    done = {repeat: found for repeat in repeats if (found := _finished(folder, repeat, lessons, recipe)) is not None}
    waiting = [repeat for repeat in repeats if repeat not in done]
    material = {kind: prepared(lessons, kind, recipe) for kind in dict.fromkeys(repeat.kind for repeat in waiting)}
    for repeat in waiting:
        place = os.path.join(folder, repeat.name)
        made = train(material[repeat.kind], seed=repeat.seed, device=device, threads=threads, progress=progress(repeat))
        save_checkpoint(place, made.net, made.shape, made.tokenizer, made.card)
        done[repeat] = open_checkpoint(place)
        _write_losses(folder, repeats, done)
    _write_losses(folder, repeats, done)
    return {repeat: done[repeat] for repeat in repeats}


def _finished(folder: str, repeat: Repeat, lessons: Lessons, recipe: Recipe) -> Checkpoint | None:
    """The checkpoint, None where there is none; one of another recipe, of other data or of another seed is refused."""
    path = os.path.join(folder, repeat.name)
    if not is_written(path):
        check_place(path)
        return None
    checkpoint = open_checkpoint(path)
    card, data = checkpoint.card, checkpoint.card.get("data")
    told = (card.get("recipe"), card.get("seed"), data.get("digest") if isinstance(data, dict) else None, checkpoint.shape.kind)
    if told != (recipe.told(), repeat.seed, lessons.digest, repeat.kind):
        raise UsageError(f"{path} was trained by another recipe or on other data", fix="name another folder, or remove this one")
    open_checkpoint(path).check_weights()
    return checkpoint


def _write_losses(folder: str, repeats: Sequence[Repeat], done: Mapping[Repeat, Checkpoint]) -> None:
    """The losses of every training in the folder, those of this series first."""
    known = [done[repeat] for repeat in repeats if repeat in done]
    write_blocks(os.path.join(folder, LOSSES), _lines([*known, *_others(folder, repeats)]))


def _others(folder: str, repeats: Sequence[Repeat]) -> list[Checkpoint]:
    """What earlier series have left in the folder."""
    names = sorted(set(os.listdir(folder)) - {repeat.name for repeat in repeats})
    return [open_checkpoint(os.path.join(folder, name)) for name in names if is_written(os.path.join(folder, name))]


def _lines(checkpoints: Sequence[Checkpoint]) -> Iterator[bytes]:
    yield b"kind,seed,step,loss\n"
    for one in checkpoints:
        for step, loss in one.card.get("losses", ()):
            yield f"{one.shape.kind},{one.card.get('seed')},{step},{loss!r}\n".encode()
