"""`analyse_history`: whether offline gains came true online, from experiments that have both."""

from __future__ import annotations

import csv
import io
import math
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankproof._analysis.online.noisy_correlation import Fitted, NoisyPairs, pearson, share_interval, true_correlation, true_slope
from rankproof._analysis.online.result import OnlineResult
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import percent, pluralise
from rankproof._importers.base import ImportSource
from rankproof._io.files import write_blocks
from rankproof.errors import InputError, UsageError, for_message

COLUMNS = ("experiment", "offline", "offline_se", "online", "online_se")
LEAST = 5
"""With fewer experiments the interval of a correlation says nothing."""
_FIX = f"write a table with the columns {', '.join(COLUMNS)}; differences as numbers, such as 0.021"
_FEW = 20
_LARGEST = 1e9


@dataclass(frozen=True, slots=True)
class PastExperiment:
    """One experiment: the differences offline and online, each with its standard error; None if it is not known."""

    name: str
    offline: float
    offline_error: float | None
    online: float
    online_error: float | None


@dataclass(frozen=True, slots=True)
class ExperimentHistory:
    """Past experiments, and how many rows have no offline or online difference."""

    experiments: tuple[PastExperiment, ...]
    open_rows: int


def read_history(source: ImportSource) -> ExperimentHistory:
    """The experiments of a table with the columns of `COLUMNS`; a row without a difference is left out and counted."""
    table = source.table
    if table is None:
        raise InputError("no table of experiments", fix=_FIX, source=source.name)
    if missing := [name for name in COLUMNS if name not in table.names and not name.endswith("_se")]:
        what = f"no column {missing[0]}; columns: {', '.join(map(for_message, table.names))}"
        raise InputError(what, fix=_FIX, source=table.source, line=1)
    experiments, open_rows, lines = list[PastExperiment](), 0, dict[str, int]()
    for line, row in table.rows():
        name = str(row.get("experiment") or "").strip()
        cells = {column: _number(row.get(column), column, table.source, line) for column in COLUMNS[1:]}
        offline, online = cells["offline"], cells["online"]
        if not name:
            raise InputError("an experiment without a name", fix="name each experiment", source=table.source, line=line)
        if name in lines:
            what = f"experiment {for_message(name)} is also on line {lines[name]}"
            raise InputError(what, fix="keep one row per experiment", source=table.source, line=line)
        lines[name] = line
        if offline is None or online is None:
            open_rows += 1
        else:
            experiments.append(PastExperiment(name, offline, cells["offline_se"], online, cells["online_se"]))
    return ExperimentHistory(tuple(experiments), open_rows)


def _number(value: Any, column: str, source: str, line: int) -> float | None:
    """The number of a cell, None for an empty one."""
    text = "" if value is None else str(value).strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not abs(number) <= _LARGEST or (column.endswith("_se") and number < 0):
        what = f"{column} is {for_message(text)}"
        fix = "write a number of at least 0" if column.endswith("_se") else "write a difference, such as 0.021"
        raise InputError(what, fix=fix, source=source, line=line)
    return number


def analyse_history(history: ExperimentHistory, source: str) -> OnlineResult:
    """Sign agreement with its exact interval first, then the correlation and the slope, corrected for errors."""
    if not history.experiments:
        what = "no experiment has both an offline and an online difference"
        raise InputError(what, fix="fill in the columns offline and online", source=source)
    signed = [experiment for experiment in history.experiments if experiment.offline and experiment.online]
    agree = sum((experiment.offline > 0) == (experiment.online > 0) for experiment in signed)
    measured = [
        experiment
        for experiment in history.experiments
        if experiment.offline_error is not None and experiment.online_error is not None
    ]
    rows: list[tuple[CellValue, ...]] = [_agreement_row(agree, len(signed))] if signed else []
    sentences = [_agreement_sentence(agree, len(signed), len(history.experiments))]
    notes = list(_notes(history, len(signed), len(measured)))
    pairs = _pairs(measured)
    if len(measured) >= LEAST and not pairs.vary:
        sentences.append("The correlation of differences is not known: those of one side are all the same.")
    elif len(measured) >= LEAST:
        correlation, slope = true_correlation(pairs), true_slope(pairs)
        rows += [
            ("correlation as observed", pearson(pairs.x, pairs.y), None, len(measured)),
            ("correlation without errors", correlation.value, (correlation.low, correlation.high), len(measured)),
            ("pp online for 1 pp offline", slope.value, _known_interval(slope), len(measured)),
        ]
        sentences += [_correlation_sentence(correlation), _slope_sentence(slope)]
    sentences.append(_size_sentence(len(measured)))
    columns = (
        Column("offline against online"),
        Column("value", "number"),
        Column("95% CI", "interval", "Clopper and Pearson, or profile likelihood"),
        Column("experiments", "count"),
    )
    table = Table("history", "Past experiments", columns, tuple(rows))
    facts = {"experiments": len(history.experiments), "same_sign": agree}
    return OnlineResult("history", None, (table,), tuple(notes), facts, tuple(sentences))


def _pairs(experiments: Sequence[PastExperiment]) -> NoisyPairs:
    columns = ("offline", "online", "offline_error", "online_error")
    return NoisyPairs(
        *(np.array([getattr(experiment, name) for experiment in experiments], dtype=np.float64) for name in columns)
    )


def _agreement_row(agree: int, signed: int) -> tuple[CellValue, ...]:
    return "same sign", agree / signed, share_interval(agree, signed), signed


def _agreement_sentence(agree: int, signed: int, count: int) -> str:
    if not signed:
        return f"None of {pluralise(count, 'experiment')} has a difference both offline and online."
    low, high = share_interval(agree, signed)
    share = f"{percent(agree / signed)}, 95% CI [{percent(low)}, {percent(high)}]"
    better = "offline and online agree" if low > 0.5 else "offline and online contradict each other" if high < 0.5 else ""
    verdict = f": {better} more often than by chance" if better else ": no more than chance may give"
    return f"Offline and online had the same sign in {agree} of {pluralise(signed, 'experiment')} ({share}){verdict}."


def _correlation_sentence(correlation: Fitted) -> str:
    low, high = correlation.low, correlation.high
    if low <= -1 and high >= 1:
        return "The correlation of differences is not known: errors are as large as the differences."
    return f"The correlation of differences is {correlation.value:.2f} without their errors (95% CI [{low:.2f}, {high:.2f}])."


def _slope_sentence(slope: Fitted) -> str:
    interval = _known_interval(slope)
    if interval is None:
        return "What an offline gain of 1 pp was worth online is not known: errors are as large as the differences."
    low, high = interval
    return f"An offline gain of 1 pp was worth {slope.value:+.2f} pp online (95% CI [{low:+.2f}, {high:+.2f}])."


def _known_interval(slope: Fitted) -> tuple[float, float] | None:
    return (slope.low, slope.high) if math.isfinite(slope.low) and math.isfinite(slope.high) else None


def _size_sentence(count: int) -> str:
    if count < LEAST:
        needed = f"with standard errors, and {LEAST} are needed for a correlation"
        return f"{pluralise(count, 'experiment')} {needed}."
    few = ", which is few: expect the interval to be wide" if count < _FEW else ""
    return f"This rests on {pluralise(count, 'experiment')}{few}."


def _notes(history: ExperimentHistory, signed: int, measured: int) -> Iterator[str]:
    count = len(history.experiments)
    if history.open_rows:
        yield f"{pluralise(history.open_rows, 'row')} without an offline or an online difference, left out"
    if count > signed:
        yield f"{pluralise(count - signed, 'experiment')} without a difference offline or online, left out of the signs"
    if count > measured:
        yield f"{pluralise(count - measured, 'experiment')} without standard errors, left out of the correlation"


def record_result(path: str, result: OnlineResult, source: str) -> None:
    """Appends how much better each compared system is than the baseline, with the standard error."""
    decision = result.decision
    if decision is None or decision.reason == "log":
        fix = "leave out --record until the log can decide"
        raise UsageError(f"nothing is recorded of this log: {decision.detail if decision else 'it has no decision'}", fix=fix)
    if not result.facts["baseline"]:
        names = " or ".join(f"--baseline {for_message(shlex.quote(system.name))}" for system in decision.by_system)
        raise UsageError("a recorded difference is one to a baseline, and none is named", fix=f"add {names}")
    baseline = decision.by_system[0].name
    pairs = [pair for pair in decision.against if baseline in (pair.system, pair.other) and pair.error]
    if not pairs:
        raise UsageError("this log has no difference to record", fix="leave out --record until sessions have clicks")
    title = str(result.facts.get("experiment") or os.path.basename(source))
    measured = dict[str, tuple[float, float]]()
    for pair in pairs:
        other = pair.other if pair.system == baseline else pair.system
        sign = (-1 if pair.system == baseline else 1) * (-1 if decision.measure.higher_is_better is False else 1)
        measured[title if len(pairs) == 1 else f"{title}: {other}"] = sign * pair.difference, pair.error or 0.0
    record_experiments(path, measured)


def record_experiments(path: str, measured: Mapping[str, tuple[float, float]]) -> None:
    """Appends experiments with their online difference and its standard error to a history, in one write; offline stays open.

    An experiment that is there with the same values is left as it is, so that a command that was killed can be started again;
    with others it is an error.
    """
    from rankproof._importers.registry import opened_source

    rows = list[Sequence[str]]()
    if os.path.exists(path) and os.path.getsize(path):
        table = opened_source(path).table
        if table is None or tuple(table.names) != COLUMNS:
            raise InputError("this is no history of experiments", fix=_FIX, source=path, line=1)
        rows = [[str(row[name] if row[name] is not None else "") for name in COLUMNS] for _, row in table.rows()]
    known = {row[0]: tuple(row[-2:]) for row in rows}
    for experiment, values in measured.items():
        texts = tuple(f"{value:.6g}" for value in values)
        if known.get(experiment, texts) != texts:
            what = f"experiment {for_message(experiment)} is recorded already, with another difference"
            raise InputError(what, fix="remove its row to record it again", source=path)
        if experiment not in known:
            rows.append((experiment, "", "", *texts))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    write_blocks(path, [text.getvalue().encode()])
