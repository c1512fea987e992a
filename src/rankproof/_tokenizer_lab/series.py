"""All kinds and seeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rankproof._data.table import CellValue, Column, Table
from rankproof._io.files import write_blocks
from rankproof._tokenizer_lab.batches import tokenize_data
from rankproof._tokenizer_lab.train import StepProgress, no_progress, train
from rankproof._tokenizer_lab.training_config import Device, TrainingConfig
from rankproof._tokenizer_lab.training_data import TrainingData
from rankproof.errors import UsageError
from rankproof.models._trained.checkpoint import (
    Checkpoint,
    check_checkpoint_folder,
    is_complete_checkpoint,
    open_checkpoint,
    save_checkpoint,
)
from rankproof.models._trained.shape import check_parameter_minimum, parameter_count
from rankproof.models._trained.tokenizers import train_tokenizer

LOSSES_FILE = "training.csv"


@dataclass(frozen=True, slots=True)
class SeedRun:
    """One training of a series: a tokenizer's name and a seed."""

    kind: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.kind}-{self.seed}"


def seed_runs(kinds: Sequence[str], repeats: int, seed: int) -> list[SeedRun]:
    """Every kind with each of so many seeds, the first of them given; a whole round of kinds before the next seed."""
    return [SeedRun(kind, seed + more) for more in range(repeats) for kind in dict.fromkeys(kinds)]


def check_tokenizers(kinds: Sequence[str], recipe: TrainingConfig) -> None:
    """Refuses names that are no tokenizer's, and too few parameters for a net with the fewest tokens that a kind can have."""
    for kind in dict.fromkeys(kinds):
        check_parameter_minimum(kind, train_tokenizer(kind, ()).vocabulary, **recipe.sizes())


def train_series(
    folder: str,
    lessons: TrainingData,
    recipe: TrainingConfig,
    repeats: Sequence[SeedRun],
    *,
    device: Device = "auto",
    threads: int | None = None,
    progress: Callable[[SeedRun], StepProgress] = lambda repeat: no_progress,
) -> dict[SeedRun, Checkpoint]:
    """A checkpoint for each, in the order given; a kind that does not fit is refused before any is trained."""
    done = {repeat: found for repeat in repeats if (found := _finished_checkpoint(folder, repeat, lessons, recipe)) is not None}
    waiting = [repeat for repeat in repeats if repeat not in done]
    material = {kind: tokenize_data(lessons, kind, recipe) for kind in dict.fromkeys(repeat.kind for repeat in waiting)}
    for repeat in waiting:
        place = os.path.join(folder, repeat.name)
        made = train(material[repeat.kind], seed=repeat.seed, device=device, threads=threads, progress=progress(repeat))
        save_checkpoint(place, made.net, made.shape, made.tokenizer, made.metadata)
        done[repeat] = open_checkpoint(place)
        _write_losses(folder, repeats, done)
    _write_losses(folder, repeats, done)
    return {repeat: done[repeat] for repeat in repeats}


def _finished_checkpoint(folder: str, repeat: SeedRun, lessons: TrainingData, recipe: TrainingConfig) -> Checkpoint | None:
    """The checkpoint, None where there is none; one of another recipe, of other data or of another seed is refused."""
    path = os.path.join(folder, repeat.name)
    if not is_complete_checkpoint(path):
        check_checkpoint_folder(path)
        return None
    checkpoint = open_checkpoint(path)
    metadata, data = checkpoint.metadata, checkpoint.metadata.get("data")
    told = (
        metadata.get("training_config"),
        metadata.get("seed"),
        data.get("digest") if isinstance(data, dict) else None,
        checkpoint.shape.kind,
    )
    if told != (recipe.describe(), repeat.seed, lessons.digest, repeat.kind):
        raise UsageError(f"{path} was trained by another recipe or on other data", fix="name another folder, or remove this one")
    open_checkpoint(path).check_weights()
    return checkpoint


def _write_losses(folder: str, repeats: Sequence[SeedRun], done: Mapping[SeedRun, Checkpoint]) -> None:
    """The losses of every training in the folder, those of this series first."""
    known = [done[repeat] for repeat in repeats if repeat in done]
    write_blocks(os.path.join(folder, LOSSES_FILE), _loss_lines([*known, *_other_checkpoints(folder, repeats)]))


def _other_checkpoints(folder: str, repeats: Sequence[SeedRun]) -> list[Checkpoint]:
    """What earlier series have left in the folder."""
    names = sorted(set(os.listdir(folder)) - {repeat.name for repeat in repeats})
    return [open_checkpoint(os.path.join(folder, name)) for name in names if is_complete_checkpoint(os.path.join(folder, name))]


def _loss_lines(checkpoints: Sequence[Checkpoint]) -> Iterator[bytes]:
    yield b"kind,seed,step,loss\n"
    for one in checkpoints:
        for step, loss in one.metadata.get("losses", ()):
            yield f"{one.shape.kind},{one.metadata.get('seed')},{step},{loss!r}\n".encode()


_COLUMNS = (
    Column("tokenizer"),
    Column("seed", "count"),
    Column("parameters", "count", "numbers that the net learns"),
    Column("vocabulary", "count", "ids that the tokenizer has, padding included"),
    Column("tokens/document", "number", "of the part of a text that is read"),
    Column("steps", "count"),
    Column("examples", "count", "pairs seen, repeats counted"),
    Column("operations", "text", "floating-point operations, forward and backward"),
    Column("seconds", "number", "by the clock on the wall"),
    Column("first loss", "number"),
    Column("last loss", "number"),
)


def training_table(trained: Mapping[SeedRun, Checkpoint]) -> Table:
    """A row a training."""
    rows = tuple(_training_row(repeat, checkpoint) for repeat, checkpoint in trained.items())
    return Table("training", "Trained encoders", _COLUMNS, rows)


def _training_row(repeat: SeedRun, checkpoint: Checkpoint) -> tuple[CellValue, ...]:
    metadata, shape = checkpoint.metadata, checkpoint.shape
    losses = [loss for _, loss in metadata.get("losses", ())]
    operations = metadata.get("flops")
    return (
        repeat.kind,
        repeat.seed,
        parameter_count(shape),
        shape.vocabulary,
        metadata.get("tokens_per_document"),
        metadata.get("steps"),
        metadata.get("examples"),
        None if operations is None else f"{operations:.2e}",
        metadata.get("seconds"),
        losses[0] if losses else None,
        losses[-1] if losses else None,
    )
