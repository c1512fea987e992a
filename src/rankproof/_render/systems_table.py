"""The table of the systems of an experiment: quality, gain, and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rankproof._analysis.values import deepest_recall
from rankproof._data.table import CellValue, Column, FilledColumn, Table, table_of_columns
from rankproof._data.text import shown_time
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._render.result import summary_table
from rankproof._render.table import MISSING, shown_rows
from rankproof._results.experiment_result import ExperimentResult, SystemRun

COST_COLUMNS = ("index s", "index MB", "queries/s")
STAGE_MARK = "†"
"""Marks the main measure of the system's stage."""


def systems_table(results: ExperimentResult, title: str = "") -> Table:
    """A row for each system with all columns; the least important have the highest drop order."""
    names = [f"{at} {system_run.name}" for at, system_run in enumerate(results.system_runs, start=1)]
    return table_of_columns("systems", title, [FilledColumn(Column("system"), names), *_columns(results)])


def main_measure(results: ExperimentResult) -> str:
    """The measure of gains, which is the first."""
    return next(iter(results.result.systems[0].measures))


def format_gain(gain: float | None, measured: MeasureResult) -> str:
    """A signed gain in percentage points, or the plain difference if the range is not 0 to 1."""
    if gain is None:
        return MISSING
    return f"{100 * gain:+z.2f}" if measured.measure.is_fraction else f"{gain:+.4g}"


def stage_measures(results: ExperimentResult, system_run: SystemRun) -> list[str]:
    """The main measures of the system's stage: nDCG and RR for a reranker, none for a run, else the deepest recall."""
    if system_run.kind == "run":
        return []
    if system_run.kind == "rerank":
        return [*_measures_named(results, "nDCG")[:1], *_measures_named(results, "RR")[:1]]
    return _deepest_recall(results)


def _columns(results: ExperimentResult) -> Iterator[FilledColumn]:
    first, *others = _ordered_measures(results)
    yield _measure_column(results, first, 0)
    gains = [_gain_text(results, system_run) for system_run in results.system_runs]
    yield FilledColumn(Column(_gain_title(results), "number", drop_order=1), gains)
    for place, name in enumerate(others):
        yield _measure_column(results, name, place + (3 if place < 2 else 10))
    is_timed = any(system_run.times for system_run in results.system_runs)
    if is_timed:
        yield _cost_column(results, "ms p50/p95", 2, _time_text)
    yield from _llm_columns(results)
    if is_timed:
        yield _cost_column(results, COST_COLUMNS[0], 6, lambda system_run: _number_text(system_run.index_seconds))
        yield _cost_column(results, COST_COLUMNS[1], 7, lambda system_run: _number_text(system_run.index_bytes, 1e6))
        yield _cost_column(results, COST_COLUMNS[2], 8, lambda system_run: _number_text(system_run.throughput))


def _cost_column(results: ExperimentResult, title: str, drop_order: int, text: Callable[[SystemRun], str]) -> FilledColumn:
    return FilledColumn(Column(title, "number", drop_order=drop_order), [text(system_run) for system_run in results.system_runs])


def _time_text(system_run: SystemRun) -> str:
    total = system_run.time_of("total")
    return MISSING if total is None else f"{shown_time(total.p50)}/{shown_time(total.p95)}"


def _number_text(value: float | None, unit: float = 1.0) -> str:
    return MISSING if value is None else shown_time(value / unit)


def _llm_columns(results: ExperimentResult) -> Iterator[FilledColumn]:
    """The columns of language model calls, if a system makes any; money if a model has a price."""
    tokens = [sum(system_run.total(name) for name in ("tokens_in", "tokens_out")) for system_run in results.system_runs]
    if not any(tokens):
        return
    calls = [
        f"{system_run.total('calls'):,}" if many else None for system_run, many in zip(results.system_runs, tokens, strict=True)
    ]
    yield FilledColumn(Column("calls", "number", drop_order=5), calls)
    yield FilledColumn(Column("tokens", "number", drop_order=9), [f"{many:,}" if many else None for many in tokens])
    if any(system_run.money for system_run in results.system_runs):
        money = [system_run.money or None for system_run in results.system_runs]
        yield FilledColumn(Column("money", "value", drop_order=5), money)


def _measure_column(results: ExperimentResult, name: str, drop_order: int) -> FilledColumn:
    """The values of a measure, with a mark where it matters at the stage of the system."""
    summaries = summary_table(results.result)
    at = list(results.result.systems[0].measures).index(name) + 1
    marked = [name in stage_measures(results, system_run) for system_run in results.system_runs]
    blank = " " if any(marked) else ""
    texts = [f"{row[at].text}{STAGE_MARK if mark else blank}" for row, mark in zip(shown_rows(summaries), marked, strict=True)]
    best = [row for row, place in summaries.best if place == at]
    return FilledColumn(summaries.columns[at]._replace(drop_order=drop_order), texts, best)


def _ordered_measures(results: ExperimentResult) -> list[str]:
    """The first measure, the first reciprocal rank and the deepest recall, then the others in order."""
    names = list(results.result.systems[0].measures)
    return list(dict.fromkeys([names[0], *_measures_named(results, "RR")[:1], *_deepest_recall(results), *names]))


def _deepest_recall(results: ExperimentResult) -> list[str]:
    deepest = deepest_recall(results.result)
    return [] if deepest is None else [deepest]


def _measures_named(results: ExperimentResult, name: str) -> list[str]:
    """The measures of that kind with any cutoff, in order."""
    return [full for full, measure in results.result.systems[0].measures.items() if measure.measure.name == name]


def _gain_title(results: ExperimentResult) -> str:
    measured = results.result.systems[0].measures[main_measure(results)]
    return "pp (vs)" if measured.measure.is_fraction else "gain (vs)"


def _gain_text(results: ExperimentResult, system_run: SystemRun) -> str:
    compared = results.compared_with(system_run)
    if compared is None:
        return MISSING
    name = main_measure(results)
    number = [other.name for other in results.system_runs].index(compared) + 1
    return f"{format_gain(results.gain(system_run, name), results.result.systems[0].measures[name])} ({number})"


def answers_title(answers: Result) -> str:
    """The title of the table of answers."""
    n = len(answers.queries)
    queries = "1 query" if n == 1 else f"{n} queries"
    return f"Answers, over {queries} with a reference answer (details: rankproof answers):"


def answers_table(answers: Result) -> Table:
    """Every measure, with the n of each system if answers failed, and no means if n is 0."""
    table = summary_table(answers)
    sizes = [max(measure.queries for measure in system.measures.values()) for system in answers.systems]
    if all(size == len(answers.queries) for size in sizes):
        return table
    columns = (table.columns[0], Column("n", "count"), *table.columns[1:])
    rows = tuple(_with_size(row, size) for row, size in zip(table.rows, sizes, strict=True))
    return replace(table, columns=columns, rows=rows, best=frozenset((row, at + 1) for row, at in table.best if sizes[row]))


def _with_size(row: Sequence[CellValue], size: int) -> tuple[CellValue, ...]:
    name, *values = row
    return name, str(size), *(values if size else [None] * len(values))


CHUNKS_TITLE = "At chunk level, from the same run:"


def chunks_table(chunks: Result, title: str = "") -> Table:
    """Every measure, the last one left out first; none is marked as best, as systems with other chunks are not comparable."""
    table = summary_table(chunks, title)
    return replace(
        table, columns=tuple(column._replace(drop_order=at) for at, column in enumerate(table.columns)), best=frozenset()
    )
