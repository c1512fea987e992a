"""What a check is, and what it can find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from ..._records import RecordTable
from ...errors import shown
from .subject import Part, Subject

if TYPE_CHECKING:
    from .example import Example

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
Examine = Callable[[Subject], Found]
Broken = Callable[["Example"], "Example"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One system's part of a finding: how many of how many, and the numbers in words."""

    system: str
    count: int
    of: int
    words: str


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look for in data and rankings.

    `needs` are the parts without which it cannot run, `advice` says what to do about a finding. `broken` turns the clean example
    into one in which the check finds something; `also` names the other checks that find something there too.
    """

    name: str
    severity: Severity
    summary: str
    advice: str
    needs: tuple[Part, ...]
    examine: Examine
    broken: Broken
    also: tuple[str, ...] = ()


_TABLE: RecordTable[Check] = RecordTable(
    "check",
    "rankproof.doctor_checks",
    f"{__package__}.checks",
    first=("identifiers", "documents", "queries", "leakage", "judgements", "grade_order", "below_random", "rankings", "encoders"),
)


def all_checks() -> tuple[Check, ...]:
    """Every check, the severe ones first."""
    return tuple(sorted(_TABLE.values(), key=lambda one: SEVERITIES.index(one.severity)))


def check(
    name: str,
    severity: Severity,
    summary: str,
    *,
    advice: str,
    needs: tuple[Part, ...],
    broken: Broken,
    also: tuple[str, ...] = (),
) -> Callable[[Examine], Examine]:
    """Registers a function that examines a subject as a check; `summary` says what it looks for."""

    def register(examine: Examine) -> Examine:
        _TABLE.add(Check(name, severity, summary, advice, needs, examine, broken, also), examine.__module__)
        return examine

    return register


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
