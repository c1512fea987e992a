"""How lessons are made, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from json import dumps
from typing import TYPE_CHECKING

from ...data import checks
from ...models.trial.shape import MOST

if TYPE_CHECKING:
    from ...data.dataset import Dataset
    from .other_splits import Elsewhere

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Syllabus:
    """How lessons are made: the share of documents whose queries are held out, crops a document, characters a text, negatives."""

    holdout: float = 0.0
    crops: int = 16
    characters: int = 512
    negatives: int = 10
    seed: int = 1

    def __post_init__(self) -> None:
        checks.number("holdout", self.holdout, 0, 0.95)
        checks.whole("crops", self.crops, 0, 1000)
        checks.whole("characters", self.characters, 16, MOST["characters"])
        checks.whole("negatives", self.negatives, 0, 100)
        checks.whole("seed", self.seed, 0)

    def made_of(self, languages: Mapping[str, Dataset], elsewhere: Elsewhere) -> str:
        """A sha256 of all that the lessons follow from."""
        prints = {name: dataset.fingerprint() for name, dataset in languages.items()}
        parts = [_VERSION, asdict(self), prints, sorted(elsewhere.ids), sorted(elsewhere.texts)]
        return sha256(dumps(parts, sort_keys=True).encode()).hexdigest()
