"""A gate's decisions as a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..statistics.flips import EXACT
from ..table import Column, Item, Table
from ..wording import counted
from .decide import Gate
from .decision import Decision
from .settings import GateSettings

COLUMNS = (
    Column("what", about="system, measure and segment; or its queries; or a bound; or the test itself"),
    Column("decision", about="failed or passed"),
    Column("before", "value", "the mean in the baseline"),
    Column("now", "value", "the mean now, on the same queries"),
    Column("difference", "difference", "now less before"),
    Column(
        "p", "p", "sign-flip randomisation test, two-sided, Holm over all measures and systems, or over all of these by segments"
    ),
    Column("n", "count", "queries that both have; of a bound, those that the mean runs over"),
)


def gate_table(gate: Gate, settings: GateSettings) -> Table:
    """All decisions, failed ones first, a sentence for each; segments that passed are counted only."""
    ordered = sorted(gate.decisions, key=lambda decision: decision.passed)
    told = [decision for decision in ordered if not decision.passed or decision.matter != "segment"]
    return Table(
        "gate",
        verdict(gate),
        COLUMNS,
        tuple(map(_row, ordered)),
        sentences=(
            *(f"{outcome(decision)}: {decision.sentence}" for decision in told),
            *_counted(ordered),
            *_how(ordered, settings),
        ),
        notes=gate.notes,
        facts={
            "passed": gate.passed,
            "alpha": settings.alpha,
            "samples": settings.samples,
            "seed": settings.seed,
            "correction": "holm",
            "decisions": list(map(_plain, ordered)),
        },
        strong=frozenset(at for at, decision in enumerate(ordered) if not decision.passed),
    )


def _counted(decisions: list[Decision]) -> list[str]:
    """The segments that passed, in one sentence."""
    passed = [decision for decision in decisions if decision.passed and decision.matter == "segment"]
    if not passed:
        return []
    drops = sum(bool(decision.change and decision.change.is_worse) for decision in passed)
    return [f"passed: {len(passed):,} tests of segments, {drops:,} of them drops that chance may explain."]


def _how(decisions: list[Decision], settings: GateSettings) -> list[str]:
    """How changes were tested, in a sentence."""
    families = [sum(one.matter == matter for one in decisions) for matter in ("drop", "segment")]
    if not any(families):
        return []
    over = " and over ".join(counted(many, f"test of {what}", f"tests of {what}") for many, what in _named(families))
    most = max(one.change.n for one in decisions if one.change)
    flips = f"{settings.samples:,} flips, exact up to {EXACT} queries" if most > EXACT else "exact, every flip"
    how = f"sign-flip randomisation test ({flips}), two-sided, alpha {settings.alpha:g}"
    return [f"How: {how}, Holm over {over}; seed {settings.seed}."]


def _named(families: list[int]) -> list[tuple[int, str]]:
    return [(many, what) for many, what in zip(families, ("drops", "segments"), strict=True) if many]


def _plain(decision: Decision) -> dict[str, Any]:
    change = asdict(decision.change) if decision.change else None
    named = {"system": decision.system or None, "measure": decision.measure or None, "segment": decision.segment or None}
    return {
        "passed": decision.passed,
        "matter": decision.matter,
        **named,
        "said": decision.sentence,
        "value": decision.value,
        "n": change["n"] if change else decision.n,
        "change": change,
    }


def verdict(gate: Gate) -> str:
    """The whole in a line."""
    decisions = gate.decisions
    failed = sum(not decision.passed for decision in decisions)
    count = f"{len(decisions):,} decision{'' if len(decisions) == 1 else 's'}"
    return f"The gate failed: {failed:,} of {count}" if failed else f"The gate passed: {count}"


def outcome(decision: Decision) -> str:
    """How it was decided, in a word."""
    return "passed" if decision.passed else "failed"


def _row(decision: Decision) -> tuple[Item, ...]:
    change = decision.change
    numbers: tuple[Item, ...] = (None, decision.value, None, None, decision.n)
    if change is not None:
        numbers = (change.before, change.now, change.difference, change.p, change.n)
    return (decision.name, outcome(decision), *numbers)
