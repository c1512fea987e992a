"""A gate's decisions as a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..table import Column, Item, Table
from .decide import Gate
from .decision import Decision
from .settings import GateSettings

COLUMNS = (
    Column("what", about="system, measure and segment; or its queries; or a bound"),
    Column("decision", about="failed or passed"),
    Column("before", "value", "the mean in the baseline"),
    Column("now", "value", "the mean now, on the same queries"),
    Column("difference", "difference", "now less before"),
    Column(
        "p", "p", "sign-flip randomisation test, two-sided, Holm over all measures and systems, or over all of these by segments"
    ),
    Column("n", "count", "queries that both have"),
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
        sentences=(*(f"{outcome(decision)}: {decision.sentence}" for decision in told), *_counted(ordered)),
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


def _plain(decision: Decision) -> dict[str, Any]:
    change = asdict(decision.change) if decision.change else None
    named = {"system": decision.system, "measure": decision.measure or None, "segment": decision.segment or None}
    return {
        "passed": decision.passed,
        "matter": decision.matter,
        **named,
        "said": decision.sentence,
        "value": decision.value,
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
    numbers: tuple[Item, ...] = (None, decision.value, None, None, None)
    if change is not None:
        numbers = (change.before, change.now, change.difference, change.p, change.n)
    return (decision.name, outcome(decision), *numbers)
