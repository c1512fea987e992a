"""A comparison as text and JSON: the decision, one table, and the details on demand."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from rich.cells import cell_len, set_cell_size

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.significance import TESTS
from rankproof._analysis.compare.tables import CORRECTED, SAME_AS, PairRecord
from rankproof._analysis.decision.record import SystemRisk
from rankproof._analysis.inputs import MAIN_MEASURES
from rankproof._data.table import CellValue, Column, FilledColumn, Table, table_of_columns
from rankproof._data.text import pluralise, shown_time
from rankproof._io.escape import escape_json, for_terminal
from rankproof._render.formats import RenderOptions
from rankproof._render.table import as_text, plain_tables
from rankproof._render.terminal import TablePrinter, fits_width, wrapped
from rankproof.measures._base import Measure

_REL = re.compile(r"\(rel=\d+\)")
_ELLIPSIS = "…"
_NAME_SHARE = 3
_MIN_NAME = 12
_RAW_P_DROP_ORDER = 1_000
"""The p that is not corrected is left out first: the corrected one says more. The risk, which decides, stays longest."""


def render_comparison(comparison: Comparison, options: RenderOptions, *, details: bool = False) -> str:
    """The decision, then the table of systems, then on demand every pair, the letters and all numbers."""
    printer = TablePrinter(options)
    add_comparison(comparison, printer, options)
    if comparison.further_tables:
        printer.line()
    return printer.text() + as_text(comparison.tables if details else comparison.further_tables, options)


def add_comparison(comparison: Comparison, printer: TablePrinter, options: RenderOptions) -> None:
    """Adds the decision, the table of systems and its legend."""
    for sentence in comparison.decision.sentences:
        _add_wrapped(sentence, printer, options)
    printer.line()
    if comparison.systems:
        table = comparison_table(comparison, options)
        printer.summary(table)
        if others := _measures_without_column(comparison, table):
            columns = [_value_column(comparison, name, 0) for name in others]
            printer.summary(best_first(comparison, _systems_table(comparison, options, columns)))
        shown = {*(column.name for column in table.columns), *comparison.measures}
        left_out = [name for filled in filled_columns(comparison) if (name := filled.column.name) not in shown]
        add_left_out(printer, left_out, options)
        _add_wrapped(comparison_legend(comparison), printer, options)


def add_left_out(printer: TablePrinter, columns: Sequence[str], options: RenderOptions) -> None:
    """Adds a line with the columns that do not fit, if there are any."""
    if columns:
        names = ", ".join(columns)
        _add_wrapped(f"Left out in {options.width} columns: {names}; a wider terminal shows more.", printer, options)


def _measures_without_column(comparison: Comparison, table: Table) -> list[str]:
    """The measures that did not fit in the table; none where only the main measures are compared, which nobody named."""
    named = {_REL.sub("", name) for name in (*comparison.measures, comparison.primary)}
    if named == {*MAIN_MEASURES, _REL.sub("", comparison.primary)}:
        return []
    shown = {column.name for column in table.columns}
    return [name for name in comparison.measures if name not in shown]


def _add_wrapped(text: str, printer: TablePrinter, options: RenderOptions) -> None:
    for line in wrapped(text, options.width):
        printer.line(line)


def comparison_table(comparison: Comparison, options: RenderOptions) -> Table:
    """A row for each system, with as many columns as fit; long names are shortened in the middle."""
    table = _systems_table(comparison, options, filled_columns(comparison))
    return best_first(comparison, table.narrowed(lambda narrower: fits_width(narrower, options)))


def _systems_table(comparison: Comparison, options: RenderOptions, columns: Sequence[FilledColumn]) -> Table:
    """The columns beside the names of the systems, those of the decision highlighted."""
    names = _shortened(comparison.systems, max(_MIN_NAME, options.width // _NAME_SHARE))
    chosen = (at for at, name in enumerate(comparison.systems) if name in comparison.decision.marked)
    table = table_of_columns("systems", "", [FilledColumn(Column("system"), names), *columns])
    return replace(table, highlighted=frozenset(chosen))


def best_first(comparison: Comparison, table: Table) -> Table:
    """The table with the chosen systems on top, then the others from the best to the worst value; it has a row per system."""
    lower_is_better = comparison.decision.measure.higher_is_better is False
    values = [comparison.values[name][comparison.primary] for name in comparison.systems]
    signed = [value if lower_is_better else -value for value in values]
    return table.with_rows(sorted(range(len(values)), key=lambda at: (at not in table.highlighted, signed[at])))


def filled_columns(comparison: Comparison) -> list[FilledColumn]:
    """The columns of the table of systems that have a value."""
    return [filled for filled in _columns(comparison) if any(cell is not None for cell in filled.cells)]


def _columns(comparison: Comparison) -> list[FilledColumn]:
    against, decision = comparison.against_baseline(), comparison.decision
    pairs = [against.get(name) for name in comparison.systems]
    tested = [None if pair is None or decision.are_same(pair.system, pair.other) else pair for pair in pairs]
    unit = " pp" if decision.measure.is_fraction else ""
    level = comparison.options.percent
    versus = "" if comparison.baseline is None else _shortened([comparison.baseline], _MIN_NAME)[0]
    costs = {"ms": "ms p50", "money": "money/1,000", "tokens": "tokens", "given": "cost", None: "cost"}
    risks = [decision.of(name) for name in comparison.systems]
    is_adjusted = comparison.options.correction_name is not None
    others = [name for name in comparison.measures if name != comparison.primary]
    corrected = FilledColumn(Column(CORRECTED, "value"), [risk.value for risk in risks])
    return [
        _value_column(comparison, comparison.primary, 0),
        *([corrected] if decision.is_corrected else []),
        FilledColumn(
            Column(f"vs {versus}{unit} ({level} CI)", "difference", drop_order=2),
            [difference_text(pair, decision.measure) for pair in pairs],
        ),
        _p_column("p", _RAW_P_DROP_ORDER if is_adjusted else 4, tested),
        *([_p_column("p adjusted", 4, tested)] if is_adjusted else []),
        FilledColumn(
            Column(costs[decision.cost_unit], "number", drop_order=3), [_cost(risk.cost, decision.cost_unit) for risk in risks]
        ),
        FilledColumn(Column("risk", "risk", drop_order=1), [risk.risk for risk in risks]),
        FilledColumn(Column(SAME_AS, "number", drop_order=6), _same_cells(risks)),
        *(_value_column(comparison, name, 7 + at) for at, name in enumerate(others)),
    ]


def _value_column(comparison: Comparison, measure: str, drop_order: int) -> FilledColumn:
    values = [comparison.values[name][measure] for name in comparison.systems]
    return FilledColumn(Column(measure, "value", drop_order=drop_order), values)


def _p_column(name: str, drop_order: int, pairs: Sequence[PairRecord | None]) -> FilledColumn:
    values = [None if pair is None else pair.p if name == "p" else pair.p_adjusted for pair in pairs]
    return FilledColumn(Column(name, "p", drop_order=drop_order), values)


def _same_cells(systems: Sequence[SystemRisk]) -> list[CellValue]:
    """The system with the same rankings or answers that stands for each one in the decision."""
    return [None if system.same_as is None else _shortened([system.same_as], _MIN_NAME)[0] for system in systems]


def difference_text(pair: PairRecord | None, measure: Measure) -> str | None:
    """A difference with its interval, in percentage points if the measure lies between 0 and 1."""
    if pair is None:
        return None
    scale, digits = (100, ".1f") if measure.is_fraction else (1, ".3g")
    interval = f"({pair.wins + pair.losses} differ)"
    if pair.ci is not None:
        interval = f"[{scale * pair.ci[0]:z{digits}}, {scale * pair.ci[1]:z{digits}}]"
    return f"{scale * pair.difference:+z{digits}} {interval}"


def _cost(cost: float | None, unit: str | None) -> str | None:
    if cost is None:
        return None
    if unit == "tokens":
        return f"{cost:,.0f}"
    return shown_time(cost) if unit == "ms" else f"{1000 * cost:.3g}" if unit == "money" else f"{cost:.4g}"


def _shortened(names: Sequence[str], width: int) -> list[str]:
    """The names in at most this many columns, cut in the middle; numbered if two would look alike."""
    short = [_cut(for_terminal(name), width) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    return [f"{at} {_cut(for_terminal(name), width - 3)}" for at, name in enumerate(names, start=1)]


def _cut(name: str, width: int) -> str:
    if cell_len(name) <= width:
        return name
    head = set_cell_size(name, (width - 1) // 2).rstrip()
    tail = name[::-1]
    while cell_len(tail) > width - 1 - cell_len(head):
        tail = tail[:-1]
    return f"{head}{_ELLIPSIS}{tail[::-1]}"


def comparison_legend(comparison: Comparison, *, exploratory: bool = True) -> str:
    """How differences were tested, which measures are exploratory, and how many queries were timed."""
    timed = comparison.decision.timed_queries
    latency = f" ms p50: of {timed}." if timed else ""
    if not comparison.tests:
        return f"n = {pluralise(comparison.n, 'query', 'queries')}.{latency}"
    name, over = comparison.options.correction_name, _corrected_for(comparison, comparison.tests)
    corrected = "" if name is None else f"; p adjusted: {name} over {over}"
    method = TESTS[comparison.options.test].short
    others = [name for name in comparison.measures if name != comparison.primary]
    more = f" Exploratory measures: {', '.join(others)}." if others and exploratory else ""
    tested = f"n = {comparison.n:,}; p: two-sided {method}{corrected}.{more}{latency}"
    if not comparison.decision.is_corrected:
        return tested
    judged = next(pair.n for pair in comparison.pairs if not pair.exploratory)
    by_judge = f"{comparison.primary}, differences and p: by {for_terminal(str(comparison.decision.judge))} alone"
    return f"{CORRECTED}: with people's labels. {by_judge}, {tested.replace(f'n = {comparison.n:,}', f'n = {judged:,}', 1)}"


def _corrected_for(comparison: Comparison, tests: int) -> str:
    return pluralise(tests, "test") if TESTS[comparison.options.test].all_pairs is None else "all pairs"


def comparison_json(comparison: Comparison) -> str:
    """The decision, every pair and every table, at full precision."""
    plain = {**comparison.to_dict(), "tables": plain_tables([comparison.table, *comparison.tables])}
    return escape_json(json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def shown_tables(comparison: Comparison, view: str, *, details: bool) -> list[Table]:
    """The tables of a view: all numbers as CSV, else systems, repeats, segments and letters, or everything."""
    if view == "csv":
        return [table for table in comparison.tables if table.name == "details" or table in comparison.further_tables]
    if details:
        return [comparison.table, *comparison.tables]
    letters = (table for table in comparison.tables if table.name == "letters")
    return [comparison.table, *comparison.further_tables, *(replace(table, notes=()) for table in letters)]
