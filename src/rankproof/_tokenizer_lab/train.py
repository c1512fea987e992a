"""Trains encoders: one, and a series of several tokenizers and seeds."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.identity import library_versions
from rankproof._data.table import CellValue, Column, Table
from rankproof._extras import extra
from rankproof._io.files import write_blocks
from rankproof._tokenizer_lab.splits import text_digest
from rankproof._tokenizer_lab.training_config import (
    Batch,
    Device,
    DeviceData,
    TokenIdTable,
    TokenizedData,
    TrainingConfig,
    batches,
    device_name,
    tokenize_data,
    training_device,
)
from rankproof._tokenizer_lab.training_data import TrainingData
from rankproof.errors import ExternalError, UsageError
from rankproof.models._trained.checkpoint import (
    Checkpoint,
    check_checkpoint_folder,
    is_complete_checkpoint,
    open_checkpoint,
    save_checkpoint,
)
from rankproof.models._trained.shape import NetShape, check_parameter_minimum, forward_flops, parameter_count
from rankproof.models._trained.tokenizers import Tokenizer, train_tokenizer

_PASSES_PER_STEP = 3
"""A backward pass costs two forward passes."""


def plan_steps(
    batches: Iterator[Batch], config: TrainingConfig, shape: NetShape, queries: TokenIdTable, documents: TokenIdTable
) -> tuple[list[Batch], float]:
    """The steps within the budget, at least one unless `steps` is 0, and their FLOPs."""
    query_flops, document_flops = _flops_per_row(shape, queries), _flops_per_row(shape, documents)

    def cost(batch: Batch) -> float:
        flops = query_flops[batch.pairs].sum() + document_flops[batch.positives].sum() + document_flops[batch.negatives].sum()
        return _PASSES_PER_STEP * float(flops)

    return _steps_within(islice(batches, config.steps), cost, math.inf if config.flops is None else config.flops)


def _steps_within(batches: Iterator[Batch], cost: Callable[[Batch], float], most: float) -> tuple[list[Batch], float]:
    """The steps within the budget, and their cost."""
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
    """The FLOPs of one forward pass over each row."""
    lengths, back = np.unique(table.lengths, return_inverse=True)
    return np.array([forward_flops(shape, lengths[at : at + 1]) for at in range(len(lengths))])[back]


def contrastive_loss(queries: Any, candidates: Any, masked: Any, temperature: float) -> Any:
    """The mean cross-entropy in 32 bits; candidate i is the positive of query i, other masked candidates are ignored."""
    with extra("torch"):
        import torch

    logits = queries.float() @ candidates.float().T / temperature
    own = torch.arange(len(queries), device=logits.device)
    # Other relevant documents of a query are no negatives of it; its own positive must stay.
    masked = masked.clone()
    masked[own, own] = False
    return torch.nn.functional.cross_entropy(logits.masked_fill(masked, float("-inf")), own)


Losses = list[tuple[int, float]]
StepProgress = Callable[[int, int, float, float], None]
"""Gets the step, the number of steps, the loss and the examples per second."""

_BLOCK = 50
"""Steps between two reads of the loss; each read waits for the device."""


def train_loop(
    net: Any, steps: Sequence[Batch], device_data: DeviceData, config: TrainingConfig, progress: StepProgress
) -> Losses:
    """Trains the network; returns the mean loss of each block of steps with the number of its last step."""
    with extra("torch"):
        import torch

    net.to(device_data.device).train()
    fused = device_data.device.type == "cuda"
    # The schedule below sets the learning rate of each step.
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.0, betas=(0.9, 0.98), weight_decay=config.weight_decay, fused=fused)
    losses: Losses = []
    start = time.perf_counter()
    for first, last in _step_blocks(len(steps)):
        block_losses = []
        for at, rows in zip(range(first, last), device_data.blocks(steps[first:last]), strict=True):
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * learning_rate_factor(at, len(steps), config.warmup)
            block_losses.append(_training_step(net, optimizer, device_data.step(steps[at], rows), config))
        losses.append((last, _mean_loss(block_losses, last)))
        progress(last, len(steps), losses[-1][1], last * config.batch / (time.perf_counter() - start))
    net.eval()
    return losses


def _training_step(net: Any, optimizer: Any, inputs: tuple[Any, Any, Any], config: TrainingConfig) -> Any:
    with extra("torch"):
        import torch

    queries, candidates, masked = inputs
    with _precision(queries.device.type):
        query_vectors, candidate_vectors = net(queries), net(candidates)
    loss = contrastive_loss(query_vectors, candidate_vectors, masked, config.temperature)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), config.clip)
    optimizer.step()
    return loss.detach()


def _precision(device: str) -> AbstractContextManager[Any]:
    """bfloat16 on a GPU; full precision on a CPU, where the same seed gives the same bits."""
    with extra("torch"):
        import torch

    mixed: AbstractContextManager[Any] = torch.autocast("cuda", dtype=torch.bfloat16) if device == "cuda" else nullcontext()
    return mixed


def learning_rate_factor(step: int, steps: int, warmup: float) -> float:
    """The share of the learning rate at a step: linear warm-up, then cosine decay."""
    warmup_steps = max(1, round(warmup * steps))
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return 0.5 * (1 + math.cos(math.pi * (step - warmup_steps) / max(1, steps - warmup_steps)))


def _step_blocks(steps: int) -> Iterator[tuple[int, int]]:
    """The first step, then blocks of steps."""
    edges = [0, *range(1, steps, _BLOCK), steps]
    return ((first, last) for first, last in pairwise(edges) if first < last)


def _mean_loss(losses: list[Any], step: int) -> float:
    with extra("torch"):
        import torch

    loss = float(torch.stack(losses).mean())
    if not math.isfinite(loss):
        raise ExternalError(f"the loss is {loss} at step {step}; lower --learning-rate")
    return loss


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """The network with its shape, its tokenizer and the metadata of its training."""

    net: Any
    shape: NetShape
    tokenizer: Tokenizer
    metadata: Mapping[str, Any]


def no_progress(step: int, steps: int, loss: float, rate: float) -> None:
    """Ignores progress."""


def train(
    tokenized: TokenizedData,
    *,
    seed: int = 1,
    device: Device = "auto",
    threads: int | None = None,
    progress: StepProgress = no_progress,
) -> TrainingOutcome:
    """Train an encoder; on a CPU the same data, seed and threads give the same bits."""
    with extra("torch"):
        from rankproof.models._trained.torch_net import initialise_network

    torch_device = training_device(device, threads)
    training_data, config, queries, documents = tokenized.training_data, tokenized.config, tokenized.queries, tokenized.documents
    steps, flops = plan_steps(batches(training_data, config, seed), config, tokenized.shape, queries, documents)
    net = initialise_network(tokenized.shape, seed)
    start = time.perf_counter()
    losses = (
        train_loop(net, steps, DeviceData(queries, documents, training_data.relevant, torch_device), config, progress)
        if steps
        else []
    )
    metadata = {
        "trained": bool(steps),
        "steps": len(steps),
        "seed": seed,
        "training_config": config.describe(),
        "data": _data_metadata(training_data),
        "examples": len(steps) * config.batch,
        "flops": flops,
        "tokens_per_document": float(documents.lengths.mean()),
        "tokens_per_query": float(queries.lengths.mean()),
        "seconds": time.perf_counter() - start,
        "device": device_name(torch_device),
        "library": library_versions("torch"),
        "losses": [list(pair) for pair in losses],
    }
    return TrainingOutcome(net.cpu(), tokenized.shape, tokenized.tokenizer, metadata)


def _data_metadata(training_data: TrainingData) -> dict[str, Any]:
    """The training data in the metadata of a checkpoint, with ids and text digests of the judged queries."""
    return {
        "name": training_data.name,
        "documents": len(training_data.documents),
        "pairs": len(training_data.queries),
        "judged_count": training_data.judged_count,
        "digest": training_data.digest,
        "queries": list(training_data.ids),
        "texts": sorted({text_digest(text) for text in training_data.queries[: training_data.judged_count]}),
    }


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
    # An interrupted series then has about as many repeats of each tokenizer.
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
        repeat: checkpoint
        for repeat in repeats
        if (checkpoint := _finished_checkpoint(folder, repeat, training_data, config)) is not None
    }
    waiting = [repeat for repeat in repeats if repeat not in done]
    tokenized = {kind: tokenize_data(training_data, kind, config) for kind in dict.fromkeys(repeat.kind for repeat in waiting)}
    for repeat in waiting:
        path = os.path.join(folder, repeat.name)
        outcome = train(tokenized[repeat.kind], seed=repeat.seed, device=device, threads=threads, progress=progress(repeat))
        save_checkpoint(path, outcome.net, outcome.shape, outcome.tokenizer, outcome.metadata)
        done[repeat] = open_checkpoint(path)
        # After each training, so that an interrupted series has the losses of its finished ones.
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
    trained = (
        metadata.get("training_config"),
        metadata.get("seed"),
        data.get("digest") if isinstance(data, dict) else None,
        checkpoint.shape.kind,
    )
    if trained != (config.describe(), repeat.seed, training_data.digest, repeat.kind):
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
    for checkpoint in checkpoints:
        for step, loss in checkpoint.metadata.get("losses", ()):
            yield f"{checkpoint.shape.kind},{checkpoint.metadata.get('seed')},{step},{loss!r}\n".encode()


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
