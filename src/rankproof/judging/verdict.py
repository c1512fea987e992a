"""What became of one pair: a grade, or that there is none and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .pairs import Pair


@dataclass(frozen=True, slots=True)
class Verdict:
    """`grade` is None where the pair failed; `why` is the judge's reason, or what went wrong.

    `counts` is what asking came to when it was first asked, `cut` whether only the beginning of the passage was read.
    """

    pair: Pair
    grade: int | None
    why: str = ""
    counts: Mapping[str, float] = field(default_factory=dict)
    cut: bool = False

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        said = asdict(self)
        return {"query": self.pair.query, "doc": self.pair.doc, **{key: said[key] for key in ("grade", "why", "counts", "cut")}}


def verdict_in(values: Mapping[str, Any]) -> Verdict:
    """A verdict that was written as JSON."""
    pair = Pair(values["query"], values["doc"])
    return Verdict(pair, values["grade"], values["why"], values["counts"], values["cut"])


def summed(verdicts: Iterable[Verdict]) -> dict[str, float]:
    """What asking came to for all of them."""
    total: dict[str, float] = {}
    for verdict in verdicts:
        for name, count in verdict.counts.items():
            total[name] = total.get(name, 0) + count
    return total
