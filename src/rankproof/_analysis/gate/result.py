"""The result of a gate: its outcome, the line that says it, and the table of its checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.decision.sentences import points
from rankproof._analysis.gate.case_checks import CaseValue, case_table
from rankproof._analysis.gate.rules import NOT_CHECKED, GateCheck, GateOptions
from rankproof._analysis.options import Unsure
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import limit_text
from rankproof._data.view import View, Viewed
from rankproof._statistics.gate_rule import MAX_RISK, GateOutcome
from rankproof.errors import for_message
from rankproof.measures._parse import parse_measure


@dataclass(frozen=True, slots=True, repr=False)
class GateResult(Viewed):
    """The checks and notes of a gate, with one of three outcomes: passed, failed or unsure.

    `comparison` compares the systems as they are now, and has the decision; it is None for one system or without a baseline.
    `tests` is the number of systems that changed. `unsure` says whether an unsure gate stops the build. `cases` are the values on
    test cases, of which each is a check of its own.
    """

    checks: tuple[GateCheck, ...]
    notes: tuple[str, ...] = ()
    comparison: Comparison | None = None
    tests: int = 0
    unsure: Unsure = "warn"
    cases: tuple[CaseValue, ...] = ()

    @property
    def outcome(self) -> GateOutcome:
        """Whether the gate passed, failed or is unsure."""
        return worst_outcome(self.checks)

    @property
    def passed(self) -> bool:
        """Whether all checks pass."""
        return self.outcome == "passed"

    @property
    def stops(self) -> bool:
        """Whether a build stops: the gate failed, or is unsure and `unsure` is fail."""
        return self.outcome == "failed" or (self.outcome == "unsure" and self.unsure == "fail")

    @property
    def verdict(self) -> str:
        """The outcome in one line, the same in every output."""
        return gate_verdict(self.checks, self.unsure)

    @property
    def decision(self) -> Decision | None:
        """Which of the systems to ship; None if nothing was compared."""
        return None if self.comparison is None else self.comparison.decision

    @property
    def decision_sentences(self) -> tuple[str, ...]:
        """The decision between the systems in words; none if there is nothing to decide."""
        if self.decision is None or self.decision.outcome is None:
            return ()
        return (f"Between the systems: {self.decision}",)

    def _view(self) -> View:
        shown = tuple(check.sentence for check in self.checks if not check.passed or check.is_lower)
        checks = without_cases(self.checks)
        rows = tuple(map(_row, checks))
        table = (_with_known_columns(Table("checks", "", COLUMNS, rows), checks),) if rows else ()
        cases = (case_table(self.cases),) if self.cases else ()
        return View(self.verdict, (*table, *cases), (*shown, *self.decision_sentences), self.notes)


def without_cases(checks: Sequence[GateCheck]) -> list[GateCheck]:
    """The checks of systems, which are about all queries or a segment."""
    return [check for check in checks if check.kind != "case"]


COLUMNS = (
    Column("check", about="system and measure, segment, queries or threshold"),
    Column("result", about="failed, unsure or passed"),
    Column("before", "value", "mean in the baseline"),
    Column("now", "value", "mean now, on the same queries"),
    Column("difference", "difference", "now minus before"),
    Column("risk", "risk", "chance that it is more than the margin worse"),
    Column("p", "p", "of the difference, two-sided, not corrected"),
    Column("p adjusted", "p", "by Holm, over all systems, and separately over all segments"),
    Column("n", "count", "common queries; for a threshold, the queries of the mean"),
)
_MOST_UNCHANGED = 4
"""The checks of values that did not change, and of complete queries, that have a sentence each."""
_ORDER = {"failed": 0, "unsure": 1, "passed": 2}


def gate_table(gate: GateResult, options: GateOptions) -> Table:
    """All checks, failed ones first, with a sentence for each; passed segments and many unchanged values are only counted."""
    ordered = sorted(without_cases(gate.checks), key=lambda check: _ORDER[check.result])
    unchanged = [check for check in ordered if _is_unchanged(check)]
    counted = unchanged if len(unchanged) > _MOST_UNCHANGED else []
    described = [check for check in ordered if (not check.passed or check.kind != "segment") and check not in counted]
    table = Table(
        "gate",
        gate.verdict,
        COLUMNS,
        tuple(map(_row, ordered)),
        sentences=(
            *(f"{check.result}: {check.sentence}" for check in described),
            *(
                [f"passed: {len(counted):,} checks of values that are the same on every query, or of complete queries."]
                if counted
                else ()
            ),
            *_passed_segments(ordered),
            *_how(ordered),
            *gate.decision_sentences,
        ),
        notes=gate.notes,
        facts={
            "outcome": gate.outcome,
            "passed": gate.passed,
            "verdict": gate.verdict,
            "seed": options.seed,
            "correction": "holm",
            "decision": None if gate.decision is None else gate.decision.to_dict(),
            "checks": list(map(_check_facts, ordered)),
        },
        highlighted=frozenset(at for at, check in enumerate(ordered) if not check.passed),
    )
    return _with_known_columns(table, ordered)


def _with_known_columns(table: Table, checks: Sequence[GateCheck]) -> Table:
    """The table without risks of a judge that people have not checked, and without corrected p that are the same as p."""
    changes = [check.change for check in checks if check.change is not None]
    table = table.without("risk") if any(check.judge for check in checks) else table
    return table if any(change.p != change.p_adjusted for change in changes) else table.without("p adjusted")


def _is_unchanged(check: GateCheck) -> bool:
    return check.passed and (check.kind == "queries" or (check.change is not None and check.change.is_same))


def _passed_segments(checks: list[GateCheck]) -> list[str]:
    """The number of passed segments in one sentence."""
    passed = [check for check in checks if check.passed and check.kind == "segment"]
    if not passed:
        return []
    drops = sum(bool(check.change and check.change.is_worse) for check in passed)
    return [f"passed: {len(passed):,} tests of segments, {drops:,} of them drops that are not significant."]


def _how(checks: list[GateCheck]) -> list[str]:
    """The rule in one sentence."""
    if not any(check.change for check in checks) or any(check.judge for check in checks):
        return []
    limits = sorted({check.change.limit for check in checks if check.change and not check.change.exploratory}, reverse=True)
    limit = " or, with labels, ".join(map(limit_text, limits or [MAX_RISK]))
    passed, failed = f"the risk of being more than the margin worse is at most {limit}", "a drop is significant (p at most 0.05)"
    return [f"Rule: passed if {passed}; failed if {failed}; else unsure. p is corrected by Holm over systems, and over segments."]


def _check_facts(check: GateCheck) -> dict[str, Any]:
    change = asdict(check.change) if check.change else None
    named = {"system": check.system or None, "measure": check.measure or None, "segment": check.segment or None}
    return {
        "result": check.result,
        "kind": check.kind,
        **named,
        "sentence": check.sentence,
        "value": check.value,
        "n": change["n"] if change else check.n,
        "change": change,
    }


def gate_verdict(checks: Sequence[GateCheck], unsure: Unsure = "warn") -> str:
    """The outcome in one line; a gate without checks only saves a baseline."""
    if not checks:
        return "The baseline was saved; nothing was checked"
    count = f"{len(checks):,} check{'' if len(checks) == 1 else 's'}"
    what = "self-test" if any(check.kind == "self-test" for check in checks) else "gate"
    outcome = worst_outcome(checks)
    if outcome != "passed":
        deciding = [check for check in checks if check.result == outcome]
        judges = {check.judge for check in deciding}
        if outcome == "failed":
            by = f" by {judges.pop()}" if len(judges) == 1 and "" not in judges else ""
            return f"The {what} failed{by}: {_first_drop(deciding)}{len(deciding):,} of {count} failed"
        gaps = {check.labels.label_gap for check in deciding if check.judge}
        why = f" ({gaps.pop() or NOT_CHECKED})" if len(gaps) == 1 else f" ({NOT_CHECKED})" if gaps else ""
        is_, set_ = ("failed", ", and --unsure fail is set") if unsure == "fail" else ("is unsure", "")
        return f"The {what} {is_}{why}: {len(deciding):,} of {count} {'is' if len(deciding) == 1 else 'are'} unsure{set_}"
    if lower := [check for check in checks if check.is_lower and check.change is not None]:
        first = lower[0]
        apart = points(first.change.difference if first.change else None, parse_measure(first.measure))
        return f"The gate passed, but {first.measure} of {for_message(first.system)} is measurably worse by {apart}: {count}"
    return f"The {what} passed: {count}"


def _first_drop(failed: Sequence[GateCheck]) -> str:
    """The first failed drop in numbers; empty if only other checks failed."""
    for check in failed:
        if check.kind == "drop" and (change := check.change) is not None:
            fell = f"{'fell' if change.difference < 0 else 'rose'} by {points(change.difference, parse_measure(check.measure))}"
            return f"{check.measure} of {for_message(check.system)} {fell} ({change.before:.3f} to {change.now:.3f}); "
    return ""


def worst_outcome(checks: Sequence[GateCheck]) -> GateOutcome:
    """The outcome of several checks: failed if one failed, else unsure if one is unsure."""
    outcomes: tuple[GateOutcome, ...] = ("failed", "unsure")
    return next((outcome for outcome in outcomes if any(check.result == outcome for check in checks)), "passed")


def _row(check: GateCheck) -> tuple[CellValue, ...]:
    change = check.change
    numbers: tuple[CellValue, ...] = (None, check.value, None, None, None, None, check.n)
    if change is not None:
        tests = (None, None, None) if change.is_same else (change.risk, change.p, change.p_adjusted)
        numbers = (change.before, change.now, change.difference, *tests, change.n)
    return (check.name, check.result, *numbers)
