"""What a measure is: a frozen value that is called with parameters, cut with `@`, printed in full and parsed back."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

from ..align.hits import Hits, Judged
from ..data.arrays import FloatArray
from ..errors import UsageError
from .aliases import ALIASES
from .parameters import CHECKS, written
from .parts import Ideal, Parts

Summary = Literal["mean", "sum", "geometric"]
NO_LIMIT = (1 << 63) - 1


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """A measure with its parameters; equal parameters, equal measures.

    `at` names the parameter that `@` fills, None where there is none; `needs` says how to write a measure that cannot do
    without it. `suffix` names the parameter that trec_eval and ranx write after a dot or an underscore. `additive` says that what
    a document adds depends on its own grade and rank alone.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    definition: ClassVar[str]
    source: ClassVar[str]
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    kind: ClassVar[Literal["binary", "graded", "count", "answer"]] = "binary"
    summary: ClassVar[Summary] = "mean"
    higher_is_better: ClassVar[bool | None] = True
    parity: ClassVar[Literal["trec_eval"] | None] = "trec_eval"
    at: ClassVar[str | None] = None
    needs: ClassVar[str | None] = None
    suffix: ClassVar[str | None] = None
    additive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.name in CHECKS:
                object.__setattr__(self, one.name, CHECKS[one.name](getattr(self, one.name)))

    @abstractmethod
    def values(self, hits: Hits) -> FloatArray:
        """One value for each judged query; 0 for one that has no relevant document or that the run lacks."""

    def parts(self, hits: Hits) -> Parts | None:
        """What each document adds, where the measure is a sum over documents; None where it cannot be taken apart so."""
        return None

    def ideal(self, judged: Judged) -> Ideal | None:
        """The best list that there is, where the measure compares with one."""
        return None

    def summarise(self, values: FloatArray) -> float:
        """One number for all queries, the same bits for any order of them; 0 for none."""
        return math.fsum(values.tolist()) / max(len(values), 1)

    def with_rel(self, rel: int) -> Measure:
        """The measure with this rel, where it has one that nobody named."""
        return self

    def complete(self) -> Self:
        """The same measure, refused if it lacks the cutoff that it cannot do without."""
        if self.needs is not None and self.at is not None and getattr(self, self.at) is None:
            raise UsageError(f"{self.name} needs a {self.at}", fix=f"write it like {self.needs}")
        return self

    def __call__(self, **parameters: Any) -> Measure:
        return replace(self, **self._known(parameters))

    def __matmul__(self, at: float) -> Measure:
        if self.at is None:
            raise UsageError(f"{self.name} takes no cutoff", fix=f"write {self}")
        return replace(self, **{self.at: at})

    def __str__(self) -> str:
        at = None if self.at is None else getattr(self, self.at)
        inside = ",".join(f"{name}={written(value)}" for name, value in self._changed().items())
        return self.name + (f"({inside})" if inside else "") + ("" if at is None else f"@{written(at)}")

    def __repr__(self) -> str:
        return str(self)

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other tools' names for it, parameters apart."""
        return tuple(alias for alias, ours in ALIASES.items() if ours.partition("(")[0] == self.name)

    @property
    def is_share(self) -> bool:
        """Whether the value is a mean from 0 to 1, so that percentage points make sense."""
        return self.summary == "mean" and self.range == (0.0, 1.0)

    def parameters(self) -> dict[str, Any]:
        """Every parameter with its value, in the order in which they are written."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def _changed(self) -> dict[str, Any]:
        shown = [one for one in fields(self) if one.name != self.at]
        return {one.name: getattr(self, one.name) for one in shown if getattr(self, one.name) != one.default}

    def _known(self, parameters: dict[str, Any]) -> dict[str, Any]:
        known = self.parameters()
        for name in parameters:
            if name not in known:
                takes = f"it takes {', '.join(known)}" if known else "it takes none"
                raise UsageError(f"{self.name} has no parameter {name}", fix=takes)
        return parameters


class Sum(Measure):
    """A measure that is a sum over documents, divided by something of their query."""

    @abstractmethod
    def parts(self, hits: Hits) -> Parts:
        """What each document adds."""

    def values(self, hits: Hits) -> FloatArray:
        return self.parts(hits).values()


@dataclass(frozen=True, kw_only=True, repr=False)
class Cut(Measure):
    """A measure of the first `cutoff` documents of each ranking."""

    cutoff: int | None = None
    at: ClassVar[str | None] = "cutoff"
    suffix: ClassVar[str | None] = "cutoff"

    @property
    def depth(self) -> int:
        """The last rank that counts."""
        self.complete()
        return NO_LIMIT if self.cutoff is None else self.cutoff


@dataclass(frozen=True, kw_only=True, repr=False)
class Binary(Measure):
    """A measure for which a document is relevant, having a grade of at least rel, or not; a rel that nobody named is 1."""

    rel: int | None = None

    @property
    def least(self) -> int:
        """The least grade that counts as relevant."""
        return 1 if self.rel is None else self.rel

    def with_rel(self, rel: int) -> Measure:
        return self if self.rel is not None or rel == 1 else replace(self, rel=rel)


@dataclass(frozen=True, kw_only=True, repr=False)
class CutBinary(Cut, Binary):
    """Both: relevant or not, in the first `cutoff` documents."""
