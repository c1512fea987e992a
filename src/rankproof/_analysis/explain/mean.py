"""A mean, or the difference of two means, explained by the contribution of each query."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import measure_result
from rankproof._data.arrays import FloatArray
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import clip_text, pluralise
from rankproof._evaluation.result import MeasureResult
from rankproof.errors import UsageError, for_message

TOP = 5
_QUERY = Column("query", about="the query's id")


def explain_mean(inputs: AnalysisInput, system: str, measure: str, *, top: int = TOP) -> Table:
    """The queries with the highest and lowest values, and what each adds to the system's summary."""
    one = measure_result(inputs, system, measure)
    values, share = one.values, _share(one)
    pulls = None if share is None else (values - one.value) / len(values) if one.summary == "mean" else values
    rows = _both_ends(one.query_ids, [values], [share, pulls], top)
    columns = (
        _QUERY,
        Column("value", "value", f"{measure} of the query"),
        Column("contribution", "value", "what the query adds to the summary"),
        Column("effect", "difference", "how much the query raises or lowers the mean: (value - mean) / n"),
        *_text_column(inputs),
    )
    return Table(
        name="explain-mean",
        title=f"{measure} of {for_message(system)}: {one.value:.4f} over n = {pluralise(len(values), 'query', 'queries')}",
        columns=columns,
        rows=tuple((*row, *_text(inputs, row[0])) for row in rows),
        sentences=_mean_sentences(one, system, measure),
        facts={"n": len(values), "system": system, "measure": measure, "value": one.value, "summary": one.summary},
    )


def explain_difference(inputs: AnalysisInput, system: str, against: str, measure: str, *, top: int = TOP) -> Table:
    """The queries with the largest differences between two systems, and what each adds to the difference of means."""
    one, other = measure_result(inputs, system, measure), measure_result(inputs, against, measure)
    if one.query_ids != other.query_ids:
        raise UsageError(
            f"{for_message(system)} and {for_message(against)} have means over different queries",
            fix="leave out --skip-missing",
        )
    if one.summary == "geometric":
        raise UsageError(f"{measure} is a geometric mean: its difference is not a sum over queries", fix="explain AP")
    differences = one.values - other.values
    parts = differences / (len(differences) if one.summary == "mean" else 1)
    rows = _both_ends(one.query_ids, [one.values, other.values], [parts], top)
    difference = one.value - other.value
    columns = (
        _QUERY,
        Column(system, "value", f"{measure} of {system}"),
        Column(against, "value", f"{measure} of {against}"),
        Column("contribution", "difference", "what the query adds to the difference of the summaries"),
        *_text_column(inputs),
    )
    n = pluralise(len(parts), "query", "queries")
    up, down = math.fsum(parts[parts > 0].tolist()), math.fsum(parts[parts < 0].tolist())
    return Table(
        name="explain-difference",
        title=f"{measure}: {for_message(system)} {one.value:.4f}, {for_message(against)} {other.value:.4f}, n = {n}",
        columns=columns,
        rows=tuple((*row, *_text(inputs, row[0])) for row in rows),
        sentences=(
            f"{for_message(system)} minus {for_message(against)} is {difference:+.4f}:"
            f" {int((parts > 0).sum())} queries add {up:+.4f}, {int((parts < 0).sum())} add {down:+.4f},"
            f" {int((parts == 0).sum())} are equal.",
        ),
        facts={"n": len(parts), "system": system, "against": against, "measure": measure, "difference": difference},
    )


def _share(one: MeasureResult) -> FloatArray | None:
    """What each query adds to the summary; None if the summary is not a sum."""
    if one.summary == "geometric":
        return None
    return one.values / len(one.values) if one.summary == "mean" else one.values


def _mean_sentences(one: MeasureResult, system: str, measure: str) -> tuple[str, ...]:
    if one.summary == "geometric":
        return (f"{measure} is a geometric mean, not a sum over queries; explain AP instead.",)
    zeros, n = int((one.values == 0).sum()), len(one.values)
    every = pluralise(n, "query", "queries")
    sentences = [f"The contributions of all {every} add up to {one.value:.4f}, the {one.summary} of {for_message(system)}."]
    if one.summary == "mean" and zeros:
        if_not = pluralise(zeros, "query has value 0; with it at", "queries have value 0; with all of them at")
        sentences.append(f"{if_not} 1, the mean would be {one.value + zeros / n:.4f}.")
    return tuple(sentences)


def _both_ends(
    queries: Sequence[str], values: Sequence[FloatArray], parts: Sequence[FloatArray | None], top: int
) -> list[tuple[CellValue, ...]]:
    """The `top` queries at either end, by the last parts or by the values; the others are one row with the sums of parts."""
    key = values[0] if parts[-1] is None else parts[-1]
    order = np.argsort(-key, kind="stable").tolist()
    between = order[top:-top] if len(order) > 2 * top else []
    ends = [*order[:top], *order[-top:]] if between else order
    rows: list[tuple[CellValue, ...]] = [(queries[at], *(_cell(column, at) for column in (*values, *parts))) for at in ends]
    if between:
        sums = [None if column is None else math.fsum(column[between].tolist()) for column in parts]
        rows.insert(top, (f"({len(between)} others)", *(None for _ in values), *sums))
    return rows


def _cell(column: FloatArray | None, at: int) -> float | None:
    return None if column is None else float(column[at])


def _text_column(inputs: AnalysisInput) -> tuple[Column, ...]:
    return () if inputs.texts is None else (Column("text", about="text of the query"),)


def _text(inputs: AnalysisInput, query: CellValue) -> tuple[CellValue, ...]:
    if inputs.texts is None:
        return ()
    known = isinstance(query, str) and query in inputs.texts
    return (clip_text(inputs.texts[str(query)].text) if known else None,)
