"""What a series of trainings came to, as a table."""

from __future__ import annotations

from collections.abc import Mapping

from ...analysis.table import Column, Item, Table
from ...models.trial.checkpoint import Checkpoint
from ...models.trial.shape import parameters
from .series import Trial

_COLUMNS = (
    Column("tokenizer"),
    Column("seed", "count"),
    Column("parameters", "count", "numbers that the net learns"),
    Column("vocabulary", "count", "ids that the tokenizer has, padding included"),
    Column("tokens/document", "number", "of the part of a text that is read"),
    Column("steps", "count"),
    Column("examples", "count", "pairs seen, repeats counted"),
    Column("operations", "text", "floating-point operations, forward and backward"),
    Column("seconds", "number"),
    Column("first loss", "number"),
    Column("last loss", "number"),
)


def training_table(trials: Mapping[Trial, Checkpoint]) -> Table:
    """A row a trial."""
    rows = tuple(_row(trial, checkpoint) for trial, checkpoint in trials.items())
    return Table("training", "Trained encoders", _COLUMNS, rows)


def _row(trial: Trial, checkpoint: Checkpoint) -> tuple[Item, ...]:
    card, shape = checkpoint.card, checkpoint.shape
    losses = [loss for _, loss in card["losses"]]
    return (
        trial.kind,
        trial.seed,
        parameters(shape),
        shape.vocabulary,
        card["tokens_per_document"],
        card["steps"],
        card["examples"],
        f"{card['operations']:.2e}",
        card["seconds"],
        losses[0] if losses else None,
        losses[-1] if losses else None,
    )
