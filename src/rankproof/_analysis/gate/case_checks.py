"""Test cases in a gate: each typed query must reach its value; they have no part in means and decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rankproof._analysis.gate.rules import GateCheck
from rankproof._data.ordering import ranked_documents
from rankproof._data.run import Run
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import clip_text, pluralise
from rankproof._results.saved_cases import SavedCase, ranking_values
from rankproof._statistics.gate_rule import GateOutcome
from rankproof.errors import UsageError, for_message
from rankproof.measures._parse import parse_measure

CASE_TOLERANCE = 1e-6
"""A value that is lower by no more is the same: values are saved with few digits."""
_SHOWN_TEXT = 60
_NO_RANKING = "no ranking of this query; run it with `rankproof run --cases FILE`, or search it and add its rows to the run"


@dataclass(frozen=True, slots=True)
class CaseValue:
    """The value of a system on a test case; None without a ranking."""

    case: SavedCase
    system: str
    value: float | None

    @property
    def result(self) -> GateOutcome:
        """Whether the value is reached; a case without a value to reach passes."""
        if self.case.least is None:
            return "passed"
        if self.value is None:
            return "unsure"
        is_lower_better = parse_measure(self.case.measure).higher_is_better is False
        distance = self.case.least - self.value if is_lower_better else self.value - self.case.least
        return "passed" if distance >= -CASE_TOLERANCE else "failed"

    def check(self) -> GateCheck:
        """The check of the gate."""
        text = clip_text(self.case.text, _SHOWN_TEXT)
        sentence = f"{for_message(self.system)}: test case {for_message(text)}: {self._words()}."
        return GateCheck("case", self.system, self.result, sentence, self.case.measure, text, value=self.value)

    def _words(self) -> str:
        if self.value is None:
            return _NO_RANKING
        least = "shown only" if self.case.least is None else f"at least {self.case.least:.4f} is required"
        return f"{self.case.measure} is {self.value:.4f}, {least}"


def case_values(cases: Sequence[SavedCase], runs: Mapping[str, Run], systems: Sequence[str]) -> Iterator[CaseValue]:
    """The value of each system on each test case; a run without a row for the query has no ranking of it."""
    wanted = {case.id for case in cases}
    rankings = {name: ranked_documents(runs[name].restricted_to(wanted)) for name in systems if name in runs}
    for case in cases:
        for name in systems:
            docs = rankings.get(name, {}).get(case.id)
            value = None if docs is None else next(ranking_values(case.grades, [docs], case.measure))
            yield CaseValue(case, name, value)


def checked_cases(cases: Sequence[SavedCase], source: str) -> Sequence[SavedCase]:
    """The test cases; an error if there is none."""
    if not cases:
        raise UsageError(f"{for_message(source)} has no test case of this dataset", fix="save some with `rankproof serve --edit`")
    return cases


_COLUMNS = (
    Column("test case", about="the typed query"),
    Column("system"),
    Column("result", about="failed, unsure or passed"),
    Column("measure"),
    Column("now", "value", "the value now"),
    Column("at least", "value", "the value that is required"),
)


def case_table(values: Sequence[CaseValue]) -> Table:
    """The test cases one by one."""
    rows = tuple(map(_row, values))
    failed, open_ = (sum(value.result == result for value in values) for result in ("failed", "unsure"))
    counts = ", ".join(f"{count} {word}" for count, word in ((failed, "failed"), (open_, "without a ranking")) if count)
    title = f"Test cases: {pluralise(len(values), 'check')}, {counts or 'all passed'}"
    sentences = ("Each is checked alone; none has a part in a mean or in the decision.",)
    return Table("cases", title, _COLUMNS, rows, sentences=sentences, facts={"cases": list(map(_facts, values))})


def _row(value: CaseValue) -> tuple[CellValue, ...]:
    case = value.case
    return (clip_text(case.text, _SHOWN_TEXT), value.system, value.result, case.measure, value.value, case.least)


def _facts(value: CaseValue) -> dict[str, object]:
    case = value.case
    named = {"id": case.id, "text": case.text, "system": value.system, "result": value.result, "measure": case.measure}
    return {**named, "value": value.value, "least": case.least, "who": case.who, "when": case.when}
