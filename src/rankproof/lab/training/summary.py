"""What a series of trainings came to, as a table."""

from __future__ import annotations

from collections.abc import Mapping

from ...analysis.table import Column, Item, Table
from ...models.trial.checkpoint import Checkpoint
from ...models.trial.shape import parameters
from .series import Repeat

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


def training_table(trained: Mapping[Repeat, Checkpoint]) -> Table:
    """A row a training."""
    rows = tuple(_row(repeat, checkpoint) for repeat, checkpoint in trained.items())
    return Table("training", "Trained encoders", _COLUMNS, rows)


def _row(repeat: Repeat, checkpoint: Checkpoint) -> tuple[Item, ...]:
    card, shape = checkpoint.card, checkpoint.shape
    losses = [loss for _, loss in card.get("losses", ())]
    operations = card.get("operations")
    return (
        repeat.kind,
        repeat.seed,
        parameters(shape),
        shape.vocabulary,
        card.get("tokens_per_document"),
        card.get("steps"),
        card.get("examples"),
        None if operations is None else f"{operations:.2e}",
        card.get("seconds"),
        losses[0] if losses else None,
        losses[-1] if losses else None,
    )
