"""What a check is, and what it can find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ...errors import shown
from .subject import Part, Subject

Severity = Literal["severe", "warning", "hint"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
MOST_EXAMPLES = 10
CHANCE = 2.576
"""Standard errors beyond which chance is no explanation: one time in a hundred, on either side."""


@dataclass(frozen=True, slots=True)
class Found:
    """How many of how many are not as they should be, in words with the numbers, and some of them, fit to be shown."""

    count: int = 0
    of: int | None = None
    said: str = ""
    examples: tuple[str, ...] = ()


NOTHING = Found()


@dataclass(frozen=True, slots=True)
class Fault:
    """One system's part of a finding: how many of how many, and the numbers in words."""

    system: str
    count: int
    of: int
    words: str


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look for: `needs` are the parts without which it cannot be looked for, `advice` says what to do."""

    code: str
    severity: Severity
    about: str
    advice: str
    needs: tuple[Part, ...]
    examine: Callable[[Subject], Found]


def found(examples: Sequence[str], of: int | None, said: str, *, count: int | None = None) -> Found:
    """What was found, with the first of the examples made visible and cut; nothing where there are none."""
    if not examples:
        return NOTHING
    return Found(len(examples) if count is None else count, of, said, tuple(map(shown, examples[:MOST_EXAMPLES])))


def counted(count: int, one: str, many: str) -> str:
    """A count with its noun and verb in the number that fits."""
    return f"{count} {one if count == 1 else many}"


def of_systems(lead: str, faults: Iterable[Fault]) -> Found:
    """Systems that have a fault: what it is, then each system's words; counts are added up."""
    listed = list(faults)
    said = f"{lead}: " + "; ".join(f"{shown(fault.system)} {fault.words}" for fault in listed)
    return found(
        [fault.system for fault in listed], sum(fault.of for fault in listed), said, count=sum(fault.count for fault in listed)
    )
