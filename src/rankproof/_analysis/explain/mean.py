"""A mean, or the difference of two means, explained by the contribution of each query."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import measure_result
from rankproof._data.arrays import FloatArray
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import clip_text, pluralise
from rankproof._evaluation.result import MeasureResult, subset_measure
from rankproof.errors import UsageError, for_message

TOP = 5
_QUERY = Column("query", about="the query's id")


def explain_mean(inputs: AnalysisInput, system: str, measure: str, *, top: int = TOP) -> Table:
    """The queries with the highest and lowest values, and what each adds to the system's summary."""
    result = measure_result(inputs, system, measure)
    values, mean = result.values, result.value if result.summary == "mean" else 0.0
    rows = _both_ends(result.query_ids, [values], [_share(result, values), _share(result, values - mean)], top)
    columns = (
        _QUERY,
        Column("value", "value", f"{measure} of the query"),
        Column("contribution", "value", "what the query adds to the summary"),
        Column("effect", "difference", "how much the query raises or lowers the mean: weight x (value - mean) / sum of weights"),
        *_text_column(inputs),
    )
    return Table(
        name="explain-mean",
        title=f"{measure} of {for_message(system)}: {result.value:.4f} over n = {pluralise(len(values), 'query', 'queries')}",
        columns=columns,
        rows=tuple((*row, *_text(inputs, row[0])) for row in rows),
        sentences=_mean_sentences(result, system, measure),
        facts={"n": len(values), "system": system, "measure": measure, "value": result.value, "summary": result.summary},
        verdict_first=True,
    )


def explain_difference(inputs: AnalysisInput, system: str, against: str, measure: str, *, top: int = TOP) -> Table:
    """The queries with the largest differences between two systems, and what each adds to the difference of means."""
    whole = {name: measure_result(inputs, name, measure) for name in (system, against)}
    common = set(whole[system].query_ids) & set(whole[against].query_ids)
    if not common:
        what = f"{for_message(system)} and {for_message(against)} have no query with a value of {measure} in common"
        raise UsageError(what, fix="compare other systems, or choose another measure with -m")
    ours, theirs = (subset_measure(result, common) for result in (whole[system], whole[against]))
    parts = _share(ours, ours.values - theirs.values)
    if parts is None:
        raise UsageError(f"{measure} is a geometric mean: its difference is not a sum over queries", fix="explain AP")
    rows = _both_ends(ours.query_ids, [ours.values, theirs.values], [parts], top)
    difference = ours.value - theirs.value
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
        title=f"{measure}: {for_message(system)} {ours.value:.4f}, {for_message(against)} {theirs.value:.4f}, n = {n}",
        columns=columns,
        rows=tuple((*row, *_text(inputs, row[0])) for row in rows),
        sentences=(
            f"{for_message(system)} minus {for_message(against)} is {difference:+.4f}:"
            f" {int((parts > 0).sum())} queries add {up:+.4f}, {int((parts < 0).sum())} add {down:+.4f},"
            f" {int((parts == 0).sum())} are equal.",
            *_left_out(whole, common),
        ),
        facts={"n": len(parts), "system": system, "against": against, "measure": measure, "difference": difference},
        verdict_first=True,
    )


def _left_out(whole: Mapping[str, MeasureResult], common: Collection[str]) -> Iterator[str]:
    """How many queries of each system are left out, because the other has no value for them."""
    counts = {name: len(result.query_ids) - len(common) for name, result in whole.items()}
    if any(counts.values()):
        parts = (f"{for_message(name)} has {count} more" for name, count in counts.items() if count)
        yield f"Both means are over the {pluralise(len(common), 'query', 'queries')} with a value for both: {', '.join(parts)}."


def _share(result: MeasureResult, values: FloatArray) -> FloatArray | None:
    """What each query adds to the summary of these values; None if the summary is not a sum."""
    if result.summary == "geometric":
        return None
    if result.summary == "sum":
        return values
    return values / len(values) if result.weights is None else values * result.weights / result.weights.sum()


def _mean_sentences(result: MeasureResult, system: str, measure: str) -> tuple[str, ...]:
    added = _share(result, (result.values == 0).astype(np.float64))
    if added is None:
        return (f"{measure} is a geometric mean, not a sum over queries; explain AP instead.",)
    zeros = int((result.values == 0).sum())
    every = pluralise(len(result.values), "query", "queries")
    sentences = [f"The contributions of all {every} add up to {result.value:.4f}, the {result.summary} of {for_message(system)}."]
    if result.summary == "mean" and zeros:
        if_not = pluralise(zeros, "query has value 0; with it at", "queries have value 0; with all of them at")
        sentences.append(f"{if_not} 1, the mean would be {result.value + math.fsum(added.tolist()):.4f}.")
    return tuple(sentences)


def _both_ends(
    queries: Sequence[str], values: Sequence[FloatArray], parts: Sequence[FloatArray | None], top: int
) -> list[tuple[CellValue, ...]]:
    """The `top` queries at either end, by the last parts or by the values; the others are one row with the sums of parts."""
    key = values[0] if parts[-1] is None else parts[-1]
    # Stable, so that queries with equal parts stay in the order of the judgements.
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
