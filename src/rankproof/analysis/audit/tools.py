"""The same runs by other tools' conventions: each tool's value for each system, and whether the winner changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...align.hits import Hits, Judged
from ...errors import shown
from ...measures import Measure
from ..counts import counts_of
from ..evidence import Evidence
from ..listings import result_of
from ..table import Column, Glance, Table
from .conventions import CONVENTIONS, Convention, Tool
from .rows import OURS, Row, Span, Value, furthest_of
from .values import hits_by, judged_of, span_by, strangers_of, value_by
from .words import sentences


def audit_tools(evidence: Evidence) -> Table:
    """One row for each tool's counterpart of each measure of the evidence, ours before them."""
    seen = _Hits(evidence)
    measures = {name: one.measure for name, one in evidence.result.systems[0].measures.items()}
    rows = [row for name, measure in measures.items() for row in _rows(seen, evidence, name, measure)]
    unknown = [name for name, measure in measures.items() if not counterparts_of(measure)]
    return _table(evidence, rows, unknown)


def _rows(seen: _Hits, evidence: Evidence, name: str, measure: Measure) -> Iterator[Row]:
    counterparts = counterparts_of(measure)
    if not counterparts:
        return
    ours = tuple(result_of(evidence, system, name).value for system in evidence.systems)
    winner = winners(evidence.systems, ours)
    yield Row(f"{OURS} {name}", name, ours, winner)
    for convention in counterparts:
        values = tuple(seen.value(convention, measure, system) for system in evidence.systems)
        theirs = winners(evidence.systems, values)
        changes = None if theirs is None else theirs != winner
        called, furthest = _called(convention, measure), furthest_of(evidence.systems, values, ours)
        yield Row(called, name, values, theirs, changes, _differs(convention), convention.tool.checked, furthest)


def counterparts_of(measure: Measure) -> list[Convention]:
    """What other tools have of a measure."""
    if not isinstance(getattr(measure, "gain", "linear"), str):
        return []
    ours = measure.name if getattr(measure, "cutoff", None) is None else f"{measure.name}@"
    return [convention for convention in CONVENTIONS if convention.ours == ours]


def winners(systems: Sequence[str], values: Sequence[Value]) -> str | None:
    """The names of the best systems; None where a value is missing, or where ties that are not defined could decide."""
    ends = [(value.worst, value.best) if isinstance(value, Span) else (value, value) for value in values if value is not None]
    if len(ends) < len(values):
        return None
    highest = max(worst for worst, _ in ends)
    open_ended = any(worst != best and best >= highest for worst, best in ends)
    first = [name for name, (_, best) in zip(systems, ends, strict=True) if best >= highest]
    return None if open_ended and len(first) > 1 else " = ".join(map(shown, first))


class _Hits:
    """Hits by tool and system, made once each."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence, self.judged = evidence, judged_of(evidence)
        self.strangers = strangers_of(evidence)
        self._made: dict[tuple[object, str], Hits] = {}

    def value(self, convention: Convention, measure: Measure, system: str) -> Value:
        hits = self._of(convention.tool, self.judged, system)
        cutoff = getattr(measure, "cutoff", None) or 10
        value = value_by(convention, hits, cutoff, self.evidence.rel, strangers=self.strangers[system])
        return value if value is None else span_by(convention, self.evidence, hits, cutoff, system) or value

    def _of(self, tool: Tool, judged: Judged, system: str) -> Hits:
        key = ((tool.ties, tool.float32, tool.drops_own_id), system)
        if key not in self._made:
            self._made[key] = hits_by(tool, self.evidence, judged, system)
        return self._made[key]


def _called(convention: Convention, measure: Measure) -> str:
    return f"{convention.tool.name} {convention.called.format(k=getattr(measure, 'cutoff', None))}"


def _differs(convention: Convention) -> str:
    """The tool's ways that are not ours, in words."""
    tool = convention.tool
    ways = [convention.differs] if convention.differs else []
    if tool.ties != "id descending":
        ways.append(f"ties {tool.ties}")
    if tool.float32:
        ways.append("scores in 32 bits")
    if tool.missing != "0":
        ways.append(f"missing queries {tool.missing}")
    if tool.drops_own_id:
        ways.append("drops a document with the query's id")
    return "; ".join(ways)


def _table(evidence: Evidence, rows: list[Row], unknown: list[str]) -> Table:
    n = len(evidence.result.queries)
    return Table(
        name="audit-tools",
        title=f"The same runs by other tools' conventions, n = {n} judged queries",
        columns=(
            Column("convention", about="the tool and what it calls the measure"),
            Column("measure", about="ours"),
            *(Column(name, "value") for name in evidence.systems),
            Column("winner"),
            Column("winner changes", "flag", "whether the winner is another than ours"),
            Column("differs in"),
            Column("known by", about="run: the tests run the tool; read: its source was read"),
        ),
        rows=tuple(row.cells() for row in rows),
        sentences=(*sentences(evidence, rows, unknown), *counts_of(evidence).said),
        facts={**counts_of(evidence).facts, "n": n},
        strong=frozenset(at for at, row in enumerate(rows) if row.changes),
        verdict_first=True,
        glance=Glance(),
    )
