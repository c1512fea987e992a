"""The grid of the systems of an experiment: quality, gain, and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rankproof._analysis.values import deepest_recall
from rankproof._data.text import shown_time
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._render.grid import MISSING, Cell, Grid, GridColumn, format_value, measure_label, summary_grid
from rankproof._results.experiment_result import ExperimentResult, SystemRun

COST_COLUMNS = ("index s", "index MB", "queries/s")
STAGE_MARK = "†"
"""Marks the main measure of the system's stage."""


def systems_grid(results: ExperimentResult, fits: Callable[[Grid], bool] = lambda grid: True) -> Grid:
    """As many columns as fit, the least important dropped first."""
    columns = _columns(results)
    while not fits(_system_cells(results, columns)) and len(columns) > 1:
        columns.remove(max(columns, key=lambda column: column.drop_order))
    return _system_cells(results, columns)


def main_measure(results: ExperimentResult) -> str:
    """The measure of gains, which is the first."""
    return next(iter(results.result.systems[0].measures))


def format_gain(gain: float | None, one: MeasureResult) -> str:
    """A signed gain in percentage points, or the plain difference if the range is not 0 to 1."""
    if gain is None:
        return MISSING
    return f"{100 * gain:+z.2f}" if one.measure.is_fraction else f"{gain:+.4g}"


def stage_measures(results: ExperimentResult, system_run: SystemRun) -> list[str]:
    """The main measures of the system's stage: nDCG and RR for a reranker, none for a run, else the deepest recall."""
    if system_run.kind == "run":
        return []
    if system_run.kind == "rerank":
        return [*_measures_named(results, "nDCG")[:1], *_measures_named(results, "RR")[:1]]
    return _deepest_recall(results)


def _system_cells(results: ExperimentResult, columns: Sequence[GridColumn]) -> Grid:
    rows = tuple(f"{at} {system_run.name}" for at, system_run in enumerate(results.system_runs, start=1))
    cells = tuple(zip(*(column.cells for column in columns), strict=True))
    return Grid("system", rows, tuple(column.title for column in columns), cells)


def _columns(results: ExperimentResult) -> list[GridColumn]:
    first, *others = _ordered_measures(results)
    return [
        _measure_column(results, first, 0),
        GridColumn(_gain_title(results), tuple(Cell(_gain_text(results, system_run)) for system_run in results.system_runs), 1),
        *(_measure_column(results, name, place + (3 if place < 2 else 10)) for place, name in enumerate(others)),
        *_cost_columns(results, "ms p50/p95", 2, _time_text),
        *_llm_columns(results),
        *_cost_columns(results, COST_COLUMNS[0], 6, lambda one: _number_text(one.index_seconds)),
        *_cost_columns(results, COST_COLUMNS[1], 7, lambda one: _number_text(one.index_bytes, 1e6)),
        *_cost_columns(results, COST_COLUMNS[2], 8, lambda one: _number_text(one.throughput)),
    ]


def _cost_columns(
    results: ExperimentResult, title: str, drop_order: int, text: Callable[[SystemRun], str]
) -> Iterator[GridColumn]:
    """The column of a cost; none if no system was timed."""
    if any(system_run.times for system_run in results.system_runs):
        yield GridColumn(title, tuple(Cell(text(system_run)) for system_run in results.system_runs), drop_order)


def _time_text(system_run: SystemRun) -> str:
    total = system_run.time_of("total")
    return MISSING if total is None else f"{shown_time(total.p50)}/{shown_time(total.p95)}"


def _number_text(value: float | None, unit: float = 1.0) -> str:
    return MISSING if value is None else shown_time(value / unit)


def _llm_columns(results: ExperimentResult) -> list[GridColumn]:
    """The columns of language model calls, if a system makes any; money if a model has a price."""
    tokens = [sum(system_run.total(name) for name in ("tokens_in", "tokens_out")) for system_run in results.system_runs]
    if not any(tokens):
        return []
    calls = tuple(
        Cell(f"{system_run.total('calls'):,}" if many else MISSING)
        for system_run, many in zip(results.system_runs, tokens, strict=True)
    )
    money = tuple(Cell(f"{system_run.money:.4f}" if system_run.money else MISSING) for system_run in results.system_runs)
    return [
        GridColumn("calls", calls, 5),
        GridColumn("tokens", tuple(Cell(f"{many:,}" if many else MISSING) for many in tokens), 9),
        *([GridColumn("money", money, 5)] if any(system_run.money for system_run in results.system_runs) else []),
    ]


def _measure_column(results: ExperimentResult, name: str, drop_order: int) -> GridColumn:
    grid = summary_grid(results.result)
    one = results.result.systems[0].measures[name]
    at = list(results.result.systems[0].measures).index(name)
    marked = [name in stage_measures(results, system_run) for system_run in results.system_runs]
    blank = " " if any(marked) else ""
    rows = zip(grid.cells, marked, strict=True)
    cells = tuple(Cell(f"{row[at].text}{STAGE_MARK if mark else blank}", row[at].best) for row, mark in rows)
    return GridColumn(measure_label(name, one), cells, drop_order)


def _ordered_measures(results: ExperimentResult) -> list[str]:
    """The first measure, the first reciprocal rank and the deepest recall, then the others in order."""
    names = list(results.result.systems[0].measures)
    return list(dict.fromkeys([names[0], *_measures_named(results, "RR")[:1], *_deepest_recall(results), *names]))


def _deepest_recall(results: ExperimentResult) -> list[str]:
    found = deepest_recall(results.result)
    return [] if found is None else [found]


def _measures_named(results: ExperimentResult, name: str) -> list[str]:
    """The measures of that kind with any cutoff, in order."""
    return [full for full, measure in results.result.systems[0].measures.items() if measure.measure.name == name]


def _gain_title(results: ExperimentResult) -> str:
    one = results.result.systems[0].measures[main_measure(results)]
    return "pp (vs)" if one.measure.is_fraction else "gain (vs)"


def _gain_text(results: ExperimentResult, system_run: SystemRun) -> str:
    compared = results.compared_with(system_run)
    if compared is None:
        return MISSING
    name = main_measure(results)
    number = [other.name for other in results.system_runs].index(compared) + 1
    return f"{format_gain(results.gain(system_run, name), results.result.systems[0].measures[name])} ({number})"


def answers_title(answers: Result) -> str:
    """The title of the answers grid."""
    n = len(answers.queries)
    queries = "1 query" if n == 1 else f"{n} queries"
    return f"Answers, over {queries} with a reference answer (details: rankproof answers):"


def answers_grid(answers: Result) -> Grid:
    """Every measure, with the n of each system if answers failed."""
    return _with_n(answers, summary_grid(answers))


def _with_n(answers: Result, grid: Grid) -> Grid:
    """The grid with the n of each system, and no means if n is 0."""
    sizes = [max(measure.queries for measure in system.measures.values()) for system in answers.systems]
    if all(size == len(answers.queries) for size in sizes):
        return grid
    rows = zip(sizes, grid.cells, strict=True)
    cells = tuple((Cell(str(size)), *(row if size else [Cell(MISSING)] * len(row))) for size, row in rows)
    return replace(grid, columns=("n", *grid.columns), cells=cells)


CHUNKS_TITLE = "At chunk level, from the same run:"


def chunk_grid(chunks: Result, fits: Callable[[Grid], bool] = lambda grid: True) -> Grid:
    """As many measures as fit; none is marked as best, as systems with other chunks are not comparable."""
    names = list(chunks.systems[0].measures)
    while not fits(_chunk_cells(chunks, names)) and len(names) > 1:
        names.pop()
    return _chunk_cells(chunks, names)


def _chunk_cells(chunks: Result, names: list[str]) -> Grid:
    first = chunks.systems[0].measures
    rows = [[system.measures[name] for name in names] for system in chunks.systems]
    cells = tuple(tuple(Cell(format_value(one.value, one)) for one in row) for row in rows)
    return Grid(
        "system",
        tuple(system.name for system in chunks.systems),
        tuple(measure_label(name, first[name]) for name in names),
        cells,
    )
