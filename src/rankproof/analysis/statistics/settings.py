"""How sure a claim must be and how chance is drawn, checked once for every analysis that asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from ...errors import UsageError, shown

LEAST, MOST = 100, 10_000_000


@dataclass(frozen=True, slots=True)
class Sampling:
    """`alpha` is the rate of errors that a family of tests may have, `samples` how often chance is asked."""

    alpha: float = 0.05
    samples: int = 100_000
    seed: int = 0

    def __post_init__(self) -> None:
        if not is_number(self.alpha) or not 0 < self.alpha < 0.5:
            raise wrong("alpha", self.alpha, "pass a number between 0 and 0.5, as 0.05")
        check_samples("samples", self.samples)
        if not _is_whole(self.seed) or not 0 <= self.seed < 1 << 63:
            raise wrong("seed", self.seed, "pass a whole number from 0, below 2 to the 63")

    @property
    def percent(self) -> str:
        """How sure an interval is."""
        return f"{100 * (1 - self.alpha):.4g}%"


def check_samples(name: str, value: Any) -> None:
    """Refuses what is no sensible number of samples."""
    if not _is_whole(value) or not LEAST <= value <= MOST:
        raise wrong(name, value, f"pass a whole number from {LEAST} to {MOST:,}")


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Refuses what is none of the choices, which are a Literal."""
    if value not in get_args(choices):
        raise wrong(name, value, f"choose from: {', '.join(get_args(choices))}")


def is_number(value: Any) -> bool:
    """Whether it is a number, which a truth is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def wrong(name: str, value: Any, fix: str) -> UsageError:
    """The refusal of a setting."""
    return UsageError(f"{name} is {shown(repr(value))}", fix=fix)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
