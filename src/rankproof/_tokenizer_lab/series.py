"""Trains encoders for several tokenizers and seeds."""

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
    """One training of a series: a tokenizer and a seed."""

    kind: str
    seed: int

    @property
    def name(self) -> str:
        """The name of the checkpoint folder."""
        return f"{self.kind}-{self.seed}"


def seed_runs(kinds: Sequence[str], repeats: int, seed: int) -> list[SeedRun]:
    """Each tokenizer with `repeats` seeds from `seed` on; all tokenizers of a seed before the next seed."""
    return [SeedRun(kind, seed + more) for more in range(repeats) for kind in dict.fromkeys(kinds)]


def check_tokenizers(kinds: Sequence[str], config: TrainingConfig) -> None:
    """Raises an error for an unknown tokenizer, and for too few parameters for its smallest vocabulary."""
    for kind in dict.fromkeys(kinds):
        check_parameter_minimum(kind, train_tokenizer(kind, ()).vocabulary, **config.sizes())


def train_series(
    folder: str,
    training_data: TrainingData,
    config: TrainingConfig,
    repeats: Sequence[SeedRun],
    *,
    device: Device = "auto",
    threads: int | None = None,
    progress: Callable[[SeedRun], StepProgress] = lambda repeat: no_progress,
) -> dict[SeedRun, Checkpoint]:
    """Train the missing checkpoints; returns all in the given order. Errors of all tokenizers come before any training."""
    done = {
        repeat: found for repeat in repeats if (found := _finished_checkpoint(folder, repeat, training_data, config)) is not None
    }
    waiting = [repeat for repeat in repeats if repeat not in done]
    tokenized = {kind: tokenize_data(training_data, kind, config) for kind in dict.fromkeys(repeat.kind for repeat in waiting)}
    for repeat in waiting:
        path = os.path.join(folder, repeat.name)
        outcome = train(tokenized[repeat.kind], seed=repeat.seed, device=device, threads=threads, progress=progress(repeat))
        save_checkpoint(path, outcome.net, outcome.shape, outcome.tokenizer, outcome.metadata)
        done[repeat] = open_checkpoint(path)
        _write_losses(folder, repeats, done)
    _write_losses(folder, repeats, done)
    return {repeat: done[repeat] for repeat in repeats}


def _finished_checkpoint(folder: str, repeat: SeedRun, training_data: TrainingData, config: TrainingConfig) -> Checkpoint | None:
    """The checkpoint, None if missing; raises an error if its config, data or seed differ."""
    path = os.path.join(folder, repeat.name)
    if not is_complete_checkpoint(path):
        check_checkpoint_folder(path)
        return None
    checkpoint = open_checkpoint(path)
    metadata, data = checkpoint.metadata, checkpoint.metadata.get("data")
    found = (
        metadata.get("training_config"),
        metadata.get("seed"),
        data.get("digest") if isinstance(data, dict) else None,
        checkpoint.shape.kind,
    )
    if found != (config.describe(), repeat.seed, training_data.digest, repeat.kind):
        raise UsageError(
            f"{path} was trained with another config or on other data", fix="choose another folder, or remove this one"
        )
    open_checkpoint(path).check_weights()
    return checkpoint


def _write_losses(folder: str, repeats: Sequence[SeedRun], done: Mapping[SeedRun, Checkpoint]) -> None:
    """Writes the losses of all checkpoints in the folder, those of this series first."""
    own = [done[repeat] for repeat in repeats if repeat in done]
    write_blocks(os.path.join(folder, LOSSES_FILE), _loss_lines([*own, *_other_checkpoints(folder, repeats)]))


def _other_checkpoints(folder: str, repeats: Sequence[SeedRun]) -> list[Checkpoint]:
    """The checkpoints of earlier series in the folder."""
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
    Column("parameters", "count", "trained parameters"),
    Column("vocabulary", "count", "token ids, padding included"),
    Column("tokens/document", "number", "mean, after truncation"),
    Column("steps", "count"),
    Column("examples", "count", "training pairs, with repetitions"),
    Column("FLOPs", "text", "forward and backward"),
    Column("seconds", "number", "wall-clock time"),
    Column("first loss", "number"),
    Column("last loss", "number"),
)


def training_table(trained: Mapping[SeedRun, Checkpoint]) -> Table:
    """One row per training."""
    rows = tuple(_training_row(repeat, checkpoint) for repeat, checkpoint in trained.items())
    return Table("training", "Trained encoders", _COLUMNS, rows)


def _training_row(repeat: SeedRun, checkpoint: Checkpoint) -> tuple[CellValue, ...]:
    metadata, shape = checkpoint.metadata, checkpoint.shape
    losses = [loss for _, loss in metadata.get("losses", ())]
    flops = metadata.get("flops")
    return (
        repeat.kind,
        repeat.seed,
        parameter_count(shape),
        shape.vocabulary,
        metadata.get("tokens_per_document"),
        metadata.get("steps"),
        metadata.get("examples"),
        None if flops is None else f"{flops:.2e}",
        metadata.get("seconds"),
        losses[0] if losses else None,
        losses[-1] if losses else None,
    )
