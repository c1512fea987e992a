"""The tables and charts of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from rankproof._charts.curves import Curve, curve_chart
from rankproof._charts.figure import figure_style, saved
from rankproof._charts.latency import ParetoAxes, ParetoPoint, SystemTimes, TimeWords, latency_chart, pareto_chart
from rankproof._charts.model import Axis, Chart, Scale, Tick, value_axis, value_scale
from rankproof._charts.rows import BarGroup, Heatmap, ValueRow, bar_chart, heatmap_chart
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise, query_range
from rankproof._plots.charts import latency_note
from rankproof._plots.settings import PlotSettings, full_name
from rankproof._statistics.intervals import describe_interval_method
from rankproof._tokenizer_lab.comparison import TokenizerComparison, conclusions, is_trained_once
from rankproof._tokenizer_lab.measured import SLOW_MS, MeasuredSystem, QueryCondition, column_name, is_conclusive, system_notes
from rankproof._tokenizer_lab.token_counts import TokenLengths
from rankproof.measures._parse import parse_measure


def typos_table(comparison: TokenizerComparison) -> Table:
    """The main measure by number of edits, and its change from the runs without edits."""
    columns, has_plain = [Column("system")], comparison.edits[0] == 0
    for edits in comparison.edits:
        columns += [Column(pluralise(edits, "edit"), "value")]
        columns += [Column(f"pp {edits}", "points", "change with this many edits")] if has_plain and edits else []
    title = f"{comparison.main} with typos{', and the change in percentage points (pp)' if has_plain else ''}"
    rows = tuple((name, *_edit_cells(comparison, name)) for name in comparison.systems)
    return Table("typos", title, tuple(columns), rows)


def _edit_cells(comparison: TokenizerComparison, system: str) -> Iterator[CellValue]:
    """The values of one system, each followed by its change if there is one."""
    for edits in comparison.edits:
        entry = comparison.entry(system, QueryCondition(comparison.base_condition.language, edits))
        yield entry.mean(comparison.main)
        if (change := comparison.change(entry)) is not None:
            yield 100 * change.mean


def languages_table(comparison: TokenizerComparison) -> Table:
    """The main measure by language, one column per system."""
    columns = (Column("language"), *(Column(name, "value") for name in comparison.systems))
    edits, measure = comparison.edits[0], comparison.main
    rows: tuple[tuple[CellValue, ...], ...] = tuple(
        (language, *(entry.mean(measure) for entry in comparison.at_condition(QueryCondition(language, edits))))
        for language in comparison.languages
    )
    return Table("languages", f"{measure} by language", columns, rows)


_MEGABYTE = 1_000_000
SystemColumns = Sequence[tuple[Column, Callable[[MeasuredSystem], CellValue]]]
_TOKEN_COLUMNS: SystemColumns = (
    (Column("system"), lambda entry: entry.system),
    (
        Column("tok/doc", "number", "mean tokens of a full document; terms for BM25"),
        lambda entry: _mean_length(entry.counts.document_tokens),
    ),
    (
        Column("read/doc", "number", "mean positions in the deep layers, truncated and downsampled"),
        lambda entry: _mean_length(entry.counts.document_read),
    ),
    (Column("tok/query", "number", "mean tokens of a query"), lambda entry: _mean_length(entry.counts.query_tokens)),
    (
        Column("unknown", "share", "query tokens that are not in the vocabulary or index"),
        lambda entry: entry.counts.unknown,
    ),
    (Column("vocab", "count", "size of the vocabulary"), lambda entry: entry.counts.vocabulary),
    (
        Column("params M", "number", "millions of parameters"),
        lambda entry: None if entry.counts.parameters is None else entry.counts.parameters / _MEGABYTE,
    ),
)
_TIME_COLUMNS: SystemColumns = (
    (Column("system"), lambda entry: entry.system),
    (Column("embed", "number", "ms per query, p50"), lambda entry: _median_ms(entry, "embed")),
    (Column("search", "number", "ms per query, p50"), lambda entry: _median_ms(entry, "search")),
    (Column("total", "number", "ms per query, p50"), lambda entry: _median_ms(entry, "total")),
    (Column("slow", "count", f"queries slower than {SLOW_MS:.0f} ms (mean over repeats)"), lambda entry: int(entry.slow.sum())),
    (Column("ms/doc", "number", "ms to encode a document"), lambda entry: entry.encode_ms),
    (Column("MB", "number", "size of the index"), lambda entry: entry.index_bytes / _MEGABYTE),
)
_SAME_NAMES = {"bytes-4", "BM25 bytes-4"}
_BYTES_4_NOTE = (
    "BM25 bytes-4 uses overlapping 4-byte n-grams; the encoder bytes-4 reads bytes and merges each 4 into one position"
)


def tokens_table(comparison: TokenizerComparison) -> Table:
    """The token counts of each system."""
    table = _table("tokens", "Tokens", comparison, _TOKEN_COLUMNS)
    return replace(table, sentences=(_BYTES_4_NOTE,)) if set(comparison.systems) >= _SAME_NAMES else table


def time_table(comparison: TokenizerComparison) -> Table:
    """The time of a query by stage, and the size of the index."""
    main = comparison.main
    per_ms = Column("per ms", "number", f"{main} over the median total time of a query")
    cells: SystemColumns = (*_TIME_COLUMNS, (per_ms, lambda entry: entry.quality_per_ms(main)))
    timed = query_range(entry.timed for entry in comparison.at_condition(comparison.base_condition))
    return _table("time", f"Time in ms per query (p50 of {timed}) and size", comparison, cells)


def _table(name: str, title: str, comparison: TokenizerComparison, cells: SystemColumns) -> Table:
    rows = tuple(tuple(cell(entry) for _, cell in cells) for entry in comparison.at_condition(comparison.base_condition))
    return Table(name, title, tuple(column for column, _ in cells), rows)


def _mean_length(lengths: TokenLengths | None) -> float | None:
    return None if lengths is None else lengths.mean


def _median_ms(entry: MeasuredSystem, part: str) -> float:
    return float(np.median(entry.ms(part)))


_SHOWN_MEASURES, _SHOWN_MEASURES_WITH_SEEDS = 4, 2
"""The number of measures that fit beside the intervals in 80 columns."""


def comparison_tables(comparison: TokenizerComparison) -> list[Table]:
    """All tables with content, the conclusion last."""
    return [
        _quality_table(comparison),
        tokens_table(comparison),
        time_table(comparison),
        *([typos_table(comparison)] if len(comparison.edits) > 1 else []),
        *([languages_table(comparison)] if len(comparison.languages) > 1 else []),
        *([_pairs_table(comparison)] if comparison.pairs(comparison.base_condition) else []),
        Table("conclusion", "Conclusion", (Column("what"),), (), tuple(conclusions(comparison)), verdict_first=True),
    ]


def standalone_tables(comparison: TokenizerComparison) -> list[Table]:
    """The tables, with the notes as a last table, for a standalone page."""
    tables = comparison_tables(comparison)
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return [*tables, Table("notes", "Notes", (Column("note"),), (), notes)] if notes else tables


def _quality_table(comparison: TokenizerComparison) -> Table:
    entries, main = comparison.at_condition(comparison.base_condition), comparison.main
    repeated = any(entry.repeats > 1 for entry in entries)
    measures = comparison.measures[: _SHOWN_MEASURES_WITH_SEEDS if repeated else _SHOWN_MEASURES]
    columns = [Column("system"), Column(main, "value", "mean over queries and repeats")]
    columns += [Column(f"{main} 95%", "interval", "over queries and repeats")]
    columns += [Column("seeds", "interval", "lowest and highest mean of the repeats")] if repeated else []
    columns += [Column(name, "value") for name in measures[1:]]
    rows = tuple((entry.system, *_value_cells(entry, main, measures, repeated=repeated)) for entry in entries)
    queries = pluralise(len(entries[0].queries), "query", "queries")
    title = f"{comparison.dataset}: {queries}, {comparison.documents:,} documents, {comparison.store}"
    more = (*system_notes(entries, main, comparison.chance), *_single_seed_notes(entries), *_cached_times_notes(entries))
    notes = tuple(dict.fromkeys((*comparison.notes, *more)))
    return Table("quality", title, tuple(columns), rows, notes=notes, highlighted=_best_row(entries, main))


def _single_seed_notes(entries: Sequence[MeasuredSystem]) -> list[str]:
    """A note for each encoder with a single seed."""
    names = [entry.system for entry in entries if is_trained_once(entry)]
    about = "trained once: its interval covers only the queries, and no difference from it is called reliable"
    return [f"{name}: {about}" for name in names]


def _cached_times_notes(entries: Sequence[MeasuredSystem]) -> list[str]:
    """A note for the systems whose times come from the cache."""
    cached = [entry.system for entry in entries if entry.from_cache]
    names = "all systems" if len(cached) == len(entries) else ", ".join(cached)
    return [f"times of {names} are cached from an earlier run; use an empty --cache to measure them again"] if cached else []


def _value_cells(entry: MeasuredSystem, main: str, measures: Sequence[str], *, repeated: bool) -> Iterator[CellValue]:
    yield entry.mean(main)
    yield entry.interval(main)
    if repeated:
        yield entry.seed_range(main) if entry.repeats > 1 else None
    yield from (entry.mean(name) for name in measures[1:])


def _best_row(entries: Sequence[MeasuredSystem], measure: str) -> frozenset[int]:
    return frozenset({max(range(len(entries)), key=lambda at: entries[at].mean(measure))}) if len(entries) > 1 else frozenset()


def _pairs_table(comparison: TokenizerComparison) -> Table:
    columns = (
        Column("higher"),
        Column("lower"),
        Column("difference", "difference"),
        Column(
            "95%",
            "interval",
            "95% interval of the difference of the two means; each mean is over all repeats, and queries are paired",
        ),
        Column("p", "p", "Student's t over queries and repeats, two-sided"),
        Column("p adjusted", "p", "by Holm, for the number of pairs"),
        Column(
            "reliable",
            "flag",
            "p adjusted is at most 0.05; two or more repeats each, and all pairs of them have the same sign",
        ),
    )
    pairs = comparison.pairs(comparison.base_condition)
    rows: tuple[tuple[CellValue, ...], ...] = tuple(
        (pair.one, pair.other, pair.mean, pair.interval, pair.p, pair.p_adjusted, pair.is_reliable) for pair in pairs
    )
    about = f"{pluralise(len(pairs), 'pair')}; p corrected by Holm, intervals not corrected"
    return Table("pairs", f"Differences in {comparison.main}", columns, rows, (about,))


DrawChart = Callable[[TokenizerComparison, PlotSettings], Chart]
_APART = 0.035
"""The distance between the points of two systems on the axis of edits."""
_STAGES = {"embed": "embedding", "search": "retrieval"}


def draw_tokenizer_charts(comparison: TokenizerComparison, settings: PlotSettings | None = None) -> dict[str, bytes]:
    """All charts with content as PNG files, by name."""
    settings = settings or PlotSettings()
    with figure_style():
        charts = tokenizer_charts(comparison, settings)
        return {chart.name: saved(chart, "png", dpi=settings.dpi) for chart in charts}


def tokenizer_charts(comparison: TokenizerComparison, settings: PlotSettings) -> list[Chart]:
    """All charts with content."""
    drawings: list[DrawChart] = [quality, latency, pareto]
    drawings += [typos] if len(comparison.edits) > 1 else []
    drawings += [languages] if len(comparison.languages) > 1 else []
    return [draw(comparison, settings) for draw in drawings]


def quality(comparison: TokenizerComparison, settings: PlotSettings) -> Chart:
    """One panel per measure, one bar per system under the base condition."""
    entries, measures = comparison.at_condition(comparison.base_condition), comparison.measures
    best = ["the highest is darker and bold"] if len(entries) > 1 else []
    notes = [_where(comparison), "; ".join((_HOW, *best, *_hatching(entries)))]
    groups = []
    for name in measures:
        plain = column_name(name)
        groups.append(BarGroup(name if plain == name else f"{name} ({plain})", "", _rows(entries, name)))
    return bar_chart(settings.medium, "quality", f"Quality by {len(measures)} measures", notes, groups)


def _rows(entries: Sequence[MeasuredSystem], measure: str) -> list[ValueRow]:
    means = [entry.mean(measure) for entry in entries]
    top = max(means) if len(set(means)) > 1 else None
    return [
        ValueRow(entry.system, mean, f"{mean:.3f}", entry.interval(measure), best=mean == top, doubtful=not is_conclusive(entry))
        for entry, mean in zip(entries, means, strict=True)
    ]


def latency(comparison: TokenizerComparison, settings: PlotSettings) -> Chart:
    """Mean times of embedding and retrieval, stacked; p50 and p95 of the total; the limit of slow queries."""
    entries = comparison.at_condition(comparison.base_condition)
    rows = [_times(entry) for entry in entries]
    notes = [f"{_where(comparison)}, {comparison.store}; {_timed(entries)}", latency_note(settings)]
    words = TimeWords(_STAGES, SLOW_MS, f"{SLOW_MS:.0f} ms: limit of slow queries")
    return latency_chart(settings.medium, "latency", "Latency of a query: embedding and retrieval", notes, rows, words)


def _timed(entries: Sequence[MeasuredSystem]) -> str:
    return f"latency of {query_range(entry.timed for entry in entries)}"


def _times(entry: MeasuredSystem) -> SystemTimes:
    parts = {part: float(entry.ms(part).mean()) for part in _STAGES}
    p50, p95 = (max(float(np.percentile(entry.ms("total"), at)), 1e-6) for at in (50, 95))
    slow = int(entry.slow.sum())
    return SystemTimes(entry.system, parts, p50, p95, f"{slow} slow" if slow else "")


def pareto(comparison: TokenizerComparison, settings: PlotSettings) -> Chart:
    """The main measure against the median time of a query."""
    entries, measure = comparison.at_condition(comparison.base_condition), comparison.main
    title = f"{full_name(parse_measure(measure))}, against latency"
    notes = [f"{_where(comparison)}, {comparison.store}; {_timed(entries)}", "; ".join((_HOW, *_hatching(entries)))]
    times = [max(float(np.median(entry.ms("total"))), 1e-6) for entry in entries]
    systems = [
        ParetoPoint(entry.system, time, entry.mean(measure), entry.interval(measure), filled=is_conclusive(entry))
        for entry, time in zip(entries, times, strict=True)
    ]
    limit = SLOW_MS if max(times) > SLOW_MS / 10 else None
    axes = ParetoAxes("milliseconds per query, p50 (faster to the left)", f"{measure} (better upwards)", limit=limit)
    return pareto_chart(settings.medium, "pareto", title, "", notes, systems, axes)


def typos(comparison: TokenizerComparison, settings: PlotSettings) -> Chart:
    """One line per system over the number of random edits per query."""
    entries, measure = comparison.at_condition(comparison.base_condition), comparison.main
    title = f"{full_name(parse_measure(measure))}, with typos"
    notes = [_where(comparison), "; ".join((_HOW, "points are shifted to be visible", *_hatching(entries)))]
    curves = [_curve(comparison, system, at) for at, system in enumerate(comparison.systems)]
    side = _APART * len(curves) / 2 + 0.05
    ticks = tuple(Tick(edits, str(edits)) for edits in comparison.edits)
    x = Axis(Scale(comparison.edits[0] - side, comparison.edits[-1] + side), "random edits per query", ticks, grid=False)
    values = [end for curve in curves for span, y in zip(curve.spans, curve.ys, strict=True) for end in span or (y, y)]
    y = value_axis(value_scale(values), f"{measure} (better upwards)")
    return curve_chart(settings.medium, "typos", title, notes, curves, (x, y), f"at {pluralise(comparison.edits[-1], 'edit')}")


def _curve(comparison: TokenizerComparison, system: str, at: int) -> Curve:
    entries = [comparison.entry(system, QueryCondition(comparison.base_condition.language, edits)) for edits in comparison.edits]
    shift = _APART * (at - (len(comparison.systems) - 1) / 2)
    means = [entry.mean(comparison.main) for entry in entries]
    spans = [entry.interval(comparison.main) for entry in entries]
    xs = [edits + shift for edits in comparison.edits]
    return Curve(system, xs, means, means[-1], range(len(means)), spans, doubtful=not is_conclusive(entries[0]))


def languages(comparison: TokenizerComparison, settings: PlotSettings) -> Chart:
    """A heat map of languages and systems, with the mean over the languages as last row."""
    measure, edits = comparison.main, comparison.edits[0]
    title = f"{full_name(parse_measure(measure))}, by language"
    entries = comparison.at_condition(comparison.base_condition)
    how = "; ".join(("queries and documents of the same language", *_hatching(entries)))
    by_language = [comparison.at_condition(QueryCondition(name, edits)) for name in comparison.languages]
    cells = np.array([[entry.mean(measure) for entry in row] for row in by_language])
    rows = [*comparison.languages, "all languages"]
    heat = Heatmap(rows, comparison.systems, np.vstack([cells, cells.mean(axis=0)]).tolist())
    return heatmap_chart(settings.medium, "languages", title, [_where(comparison, condition=False), how], measure, heat)


def _where(comparison: TokenizerComparison, *, condition: bool = True) -> str:
    """The dataset, and the numbers of queries and repeats."""
    entries = comparison.at_condition(comparison.base_condition)
    repeats = max(entry.repeats for entry in entries)
    models = f", trained encoders: means of {repeats} repeats" if repeats > 1 else ""
    language = f", {comparison.base_condition.language}" if condition and len(comparison.languages) > 1 else ""
    return f"{comparison.dataset}{language}, n = {pluralise(len(entries[0].queries), 'query', 'queries')}{models}"


_HOW = f"whiskers: 95% intervals ({describe_interval_method()})"


def _hatching(entries: Sequence[MeasuredSystem]) -> list[str]:
    """The meaning of hatching, if a system is drawn with it."""
    return [] if all(map(is_conclusive, entries)) else ["hatched or hollow: not trained for retrieval"]
