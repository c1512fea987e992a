"""Exports of an experiment: a LaTeX table for papers, and all values in long form as CSV or Parquet."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from rankproof._analysis.compare.comparison import Comparison
from rankproof._data.table import CellValue, Column, FilledColumn, Table, table_of_columns
from rankproof._data.text import pluralise, shown_time
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._extras import extra
from rankproof._formats.arrow import load_pyarrow
from rankproof._io.escape import escape_csv, for_latex
from rankproof._render.result import summary_table
from rankproof._render.table import latex_table
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun, TimeSummary, timed_queries
from rankproof._statistics.options import CORRECTION_NAMES
from rankproof.measures._parse import parse_measure

LETTERS_MEAN = "Superscript letters: significantly better than the systems with these letters"
NOTHING_TO_TEST = "No significance test: it needs at least two systems and two queries."


def paper_table(results: ExperimentResult, letters: Table | None) -> str:
    """A floating table with caption and label; `letters` is that table of `compare`, None without a comparison."""
    table = summary_table(results.result)
    table = _with_times(results, table if letters is None else _with_letters(table, letters))
    return _floating_table(table, _caption(results, letters), results.name)


def comparison_paper_table(comparison: Comparison) -> str:
    """A floating table of the compared systems: their means, with the letters of the systems that each significantly beats."""
    start = f"Means over n = {pluralise(comparison.n, 'query', 'queries')}. Bold: best value of the measure."
    letters = next((table for table in comparison.tables if table.name == "letters"), None)
    means = _means_table(comparison)
    if letters is None:
        return _floating_table(means, f"{start} {NOTHING_TO_TEST}", "comparison")
    about = f"{LETTERS_MEAN}. {comparison.method.rstrip('.')}."
    return _floating_table(_with_letters(means, letters), f"{start} {about}", "comparison")


def _means_table(comparison: Comparison) -> Table:
    """The means of each system, the best of each measure marked."""
    columns = [FilledColumn(Column("system"), comparison.systems)]
    for name in comparison.measures:
        values = [comparison.values[system][name] for system in comparison.systems]
        best = _best(comparison, name)
        columns.append(FilledColumn(Column(name, "value"), values, [at for at, value in enumerate(values) if value == best]))
    return table_of_columns("systems", "", columns)


def _best(comparison: Comparison, name: str) -> float | None:
    """The best mean of a measure; None for a single system, and where no value is better."""
    measure, values = parse_measure(name), [values[name] for values in comparison.values.values()]
    if len(values) < 2 or not measure.has_winner:
        return None
    return min(values) if measure.higher_is_better is False else max(values)


def _floating_table(table: Table, caption: str, name: str) -> str:
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{for_latex(caption)}}}",
        rf"\label{{tab:{_label(name)}}}",
        latex_table(table, "tabular"),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _with_letters(table: Table, letters: Table) -> Table:
    """The table with a letter per compared system, and after each value the letters of those that it significantly beats."""
    compared = {str(record["system"]): record for record in letters.records()}
    records = [compared.get(str(row[0]), {}) for row in table.rows]
    columns = [FilledColumn(table.columns[0], [row[0] for row in table.rows])]
    columns.append(FilledColumn(Column(""), [record.get("letter") or "" for record in records]))
    for at, column in enumerate(table.columns[1:], start=1):
        columns.append(FilledColumn(column, [row[at] for row in table.rows], [row for row, place in table.best if place == at]))
        beaten = f"{column.name} beats"
        columns.append(FilledColumn(Column(beaten, "marks"), [record.get(beaten) or "" for record in records]))
    return table_of_columns(table.name, "", columns)


def _with_times(results: ExperimentResult, table: Table) -> Table:
    times = {system_run.name: total for system_run in results.system_runs if (total := system_run.time_of("total"))}
    if not times:
        return table
    rows = tuple((*row, *_median_and_p95(times.get(str(row[0])))) for row in table.rows)
    return replace(table, columns=(*table.columns, Column("ms p50", "number"), Column("ms p95", "number")), rows=rows)


def _median_and_p95(times: TimeSummary | None) -> tuple[CellValue, CellValue]:
    return (None, None) if times is None else (shown_time(times.p50), shown_time(times.p95))


def _caption(results: ExperimentResult, letters: Table | None) -> str:
    dataset = results.provenance.get("dataset") or results.name
    timing = timed_queries(results.system_runs)
    start = f"{dataset}: means over n = {len(results.result.queries):,} queries. Bold: best value of the measure."
    start += f" Latency: {timing}." if timing else ""
    if letters is None:
        return f"{start} {NOTHING_TO_TEST}"
    facts = letters.facts
    test = "paired t-test" if facts["test"] == "t" else "sign-flip randomisation test"
    corrected = f"{CORRECTION_NAMES[facts['correction']]} over {pluralise(facts['tests'], 'test')}"
    how = f"{test}, two-sided, alpha {facts['alpha']:g}, {corrected}"
    return f"{start} {LETTERS_MEAN} ({how})."


def _label(name: str) -> str:
    """A label of letters, digits and dashes."""
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in name)
    return f"rankproof-{plain.strip('-') or 'results'}"


LONG_COLUMNS = ("level", "kind", "system", "query", "measure", "value")


class LongRow(NamedTuple):
    """One value: `level` is query or system, `kind` the kind of value; `query` is None at system level."""

    level: str
    kind: str
    system: str
    query: str | None
    measure: str
    value: float


def long_rows(experiment_result: ExperimentResult) -> Iterator[LongRow]:
    """The rows of systems, then of queries: values of measures, times in ms, costs."""
    results = {"measure": experiment_result.result, "chunks": experiment_result.chunks, "answers": experiment_result.answers}
    known = {kind: result for kind, result in results.items() if result is not None}
    for kind, result in known.items():
        yield from _summaries(kind, result)
    yield from _value_counts(experiment_result.answers)
    for system_run in experiment_result.system_runs:
        yield from _costs(system_run)
    for kind, result in known.items():
        yield from _query_values(kind, result)
    for system_run in experiment_result.system_runs:
        yield from _query_costs(experiment_result, system_run)


def as_long_csv(experiment_result: ExperimentResult) -> str:
    """The table as CSV, numbers at full precision."""
    lines = [
        ",".join(
            (row.level, row.kind, escape_csv(row.system), escape_csv(row.query or ""), escape_csv(row.measure), repr(row.value))
        )
        for row in long_rows(experiment_result)
    ]
    return "\n".join([",".join(LONG_COLUMNS), *lines]) + "\n"


_PAPER_TIMES = ("mean", "p50", "p95", "p99")


def system_costs(system_run: SystemRun) -> dict[str, float]:
    """The costs of a system by name: milliseconds per query, index, and language model calls."""
    by_part = {part: time for part in TIME_COLUMNS if (time := system_run.time_of(part))}
    times = {f"{part}_ms_{which}": getattr(time, which) for part, time in by_part.items() for which in _PAPER_TIMES}
    costs = {
        **times,
        "timed_queries": float(by_part["total"].queries) if by_part else None,
        "index_seconds": system_run.index_seconds,
        "index_bytes": None if system_run.index_bytes is None else float(system_run.index_bytes),
        "throughput": system_run.throughput,
        "recall_of_exact": system_run.recall_of_exact(),
    }
    llm = {name: float(system_run.total(name)) for name in _llm_counts(system_run)}
    money = {"money": system_run.money} if llm else {}
    return {**{name: value for name, value in costs.items() if value is not None}, **llm, **money}


def _llm_counts(system_run: SystemRun) -> list[str]:
    """The names of the language model counts of a system, if it calls one."""
    return list(system_run.counts) if any(map(system_run.total, system_run.counts)) else []


def _summaries(kind: str, result: Result) -> Iterator[LongRow]:
    for system in result.systems:
        for name, measure_result in ((name, measure) for name, measure in system.measures.items() if measure.queries):
            yield LongRow("system", kind, system.name, None, name, float(measure_result.value))


def _value_counts(answers: Result | None) -> Iterator[LongRow]:
    """How many questions have a value of each measure of answers, and why the others have none."""
    for system in () if answers is None else answers.systems:
        for name, measure in system.measures.items():
            for reason, count in value_counts(measure).items():
                yield LongRow("system", "count", system.name, None, f"{name} {reason}", float(count))


def value_counts(measure: MeasureResult) -> dict[str, int]:
    """The number of questions with a value, and of those without one by reason; nothing where every question has one."""
    return {"n": measure.queries, **measure.counts} if measure.counts else {}


def _query_values(kind: str, result: Result) -> Iterator[LongRow]:
    for system in result.systems:
        for name, measure in system.measures.items():
            for query, value in zip(measure.query_ids, measure.values.tolist(), strict=True):
                yield LongRow("query", kind, system.name, query, name, value)


def _costs(system_run: SystemRun) -> Iterator[LongRow]:
    for name, value in system_costs(system_run).items():
        yield LongRow("system", "time" if "_ms_" in name else "cost", system_run.name, None, name, value)


def _query_costs(experiment_result: ExperimentResult, system_run: SystemRun) -> Iterator[LongRow]:
    for part in TIME_COLUMNS if system_run.times else ():
        for query, value in zip(experiment_result.queries, system_run.times[part].tolist(), strict=True):
            if not math.isnan(value):
                yield LongRow("query", "time", system_run.name, query, f"{part}_ms", value)
    for name in _llm_counts(system_run):
        for query, value in zip(experiment_result.queries, system_run.counts[name].tolist(), strict=True):
            yield LongRow("query", "cost", system_run.name, query, name, float(value))


METADATA_KEY = b"rankproof"


def as_parquet(results: ExperimentResult) -> bytes:
    """All rows in one file; columns before `value` are text, `query` is null at system level."""
    pa = load_pyarrow()
    with extra("parquet"):
        import pyarrow.parquet as pq

    *texts, values = zip(*long_rows(results), strict=True)
    columns = [pa.array(column, pa.string()).dictionary_encode() for column in texts]
    table = pa.table([*columns, pa.array(values, pa.float64())], names=list(LONG_COLUMNS))
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata({METADATA_KEY: _metadata(results)}), sink, compression="zstd", write_page_checksum=True
    )
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _metadata(results: ExperimentResult) -> bytes:
    """Name, fingerprint and provenance as JSON."""
    about = {
        "name": results.name,
        "fingerprint": results.fingerprint,
        "rel": results.rel,
        "judged_only": results.judged_only,
        "provenance": dict(results.provenance),
    }
    return json.dumps(about).encode()
