"""The recipe of a trial: everything that is the same for every tokenizer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ...data import checks
from ...errors import UsageError
from ...models.trial.shape import Body, check_layers
from ..lessons.syllabus import Syllabus

_SIZES = ("parameters", "body", "width", "depth", "heads", "characters")
OPERATIONS = 1e15
"""Of a training for which neither operations nor steps are given."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Contrastive training on cosines with in-batch and hard negatives, by AdamW with a warm-up and a cosine down to 0.

    The budget is `operations` (forward and backward: finer tokens get fewer steps), `steps`, or both, whichever ends sooner.
    `real_share` is the part of a batch that is judged pairs, where there are any; the rest are crops.
    """

    parameters: int = 4_000_000
    operations: float | None = OPERATIONS
    steps: int | None = None
    batch: int = 128
    learning_rate: float = 1e-3
    warmup: float = 0.1
    temperature: float = 0.05
    weight_decay: float = 0.01
    clip: float = 1.0
    real_share: float = 0.25
    characters: int = 512
    width: int = 256
    depth: int = 4
    heads: int = 4
    body: Body = "transformer"
    crops: int = 16
    negatives: int = 10

    def __post_init__(self) -> None:
        checks.whole("parameters", self.parameters, 1000, 1_000_000_000)
        checks.whole("batch", self.batch, 2, 65_536)
        checks.number("learning_rate", self.learning_rate, 1e-8, 1)
        checks.number("warmup", self.warmup, 0, 1)
        checks.number("temperature", self.temperature, 1e-3, 10)
        checks.number("weight_decay", self.weight_decay, 0, 10)
        checks.number("clip", self.clip, 1e-3, 1e6)
        checks.number("real_share", self.real_share, 0, 1)
        check_layers(self.body, self.width, self.depth, self.heads)
        self.syllabus()
        self._check_budget()

    def _check_budget(self) -> None:
        if self.operations is None and self.steps is None:
            raise UsageError("a budget has no end", fix="give operations, steps or both")
        if self.operations is not None:
            checks.number("operations", self.operations, 1, 1e24)
        if self.steps is not None:
            checks.whole("steps", self.steps, 0, 10_000_000)

    def syllabus(self, holdout: float = 0.0, seed: int = 1) -> Syllabus:
        """How the lessons of this recipe are made."""
        return Syllabus(holdout, self.crops, self.characters, self.negatives, seed)

    def sizes(self) -> dict[str, Any]:
        """What the net's shape follows from, besides the tokenizer."""
        return {name: getattr(self, name) for name in _SIZES}

    def told(self) -> dict[str, Any]:
        """The recipe as a checkpoint's card has it."""
        return asdict(self)
