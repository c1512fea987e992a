"""The decision: its picture, the tests of each pair behind it, and warnings about the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rankproof._analysis.answers.quality import TOKEN_SET_F1
from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.tables import PairRecord
from rankproof._analysis.decision.sentences import margin_text
from rankproof._analysis.values import best_systems, format_points
from rankproof._charts.rows import ValueRow, dot_chart
from rankproof._data.table import Column, Table
from rankproof._data.text import pluralise
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._render.result import format_value
from rankproof._report.context import ReportContext, judged_shares
from rankproof._report.elements import (
    MANY_SYSTEMS,
    Section,
    SvgChart,
    as_sentence,
    chart_of_widths,
    join_names,
    linked,
    pair_link,
)
from rankproof._statistics.intervals import Interval
from rankproof.errors import for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure

_WIDTH = 470.0
_ROW, _LOW_ROW = 2.2, 1.5
"""The height of a row in text sizes, and with many systems."""


@dataclass(frozen=True, slots=True)
class _Reference:
    """The system that the others are compared with, and the difference of each other system from it, with its interval."""

    system: str
    differences: Mapping[str, tuple[float, Interval | None]]


def difference_charts(comparison: Comparison) -> tuple[SvgChart, ...]:
    """A chart for each measure, the one that decides first; none with one system."""
    return tuple(_chart(comparison, measure, reference) for measure, reference in _references(comparison))


def _references(comparison: Comparison) -> Iterator[tuple[str, _Reference]]:
    decision = comparison.decision
    for measure in comparison.measures:
        first = {pair.other: (-pair.difference, _reverse(pair.ci)) for pair in decision.against}
        if measure == comparison.primary and decision.first is not None and first:
            yield measure, _Reference(decision.first, first)
            continue
        for system in filter(None, (decision.first, comparison.baseline)):
            others = _tested(comparison, measure, system)
            if others and len(others) == len(comparison.systems) - 1:
                yield measure, _Reference(system, others)
                break


def _tested(comparison: Comparison, measure: str, system: str) -> dict[str, tuple[float, Interval | None]]:
    """The difference of each other system from this one by a measure, as it was tested."""
    pairs = [pair for pair in comparison.pairs if pair.measure == measure and system in (pair.system, pair.other)]
    turned = [pair if pair.other == system else pair.swapped() for pair in pairs]
    return {pair.system: (pair.difference, pair.ci) for pair in turned}


def _reverse(interval: Interval | None) -> Interval | None:
    return None if interval is None else (-interval[1], -interval[0])


def _chart(comparison: Comparison, name: str, reference: _Reference) -> SvgChart:
    measure, is_primary = parse_measure(name), name == comparison.primary
    sign = -1.0 if measure.higher_is_better is False else 1.0
    all_differences = {reference.system: (0.0, None), **reference.differences}
    order = sorted(all_differences, key=lambda system: -sign * all_differences[system][0])
    rows = [_row(measure, reference, system, all_differences[system]) for system in order]
    title = f"{name}: difference from {for_message(reference.system)}"
    about = "; ".join(f"{row.name} {row.shown}" for row in rows)
    margin = comparison.decision.margin if is_primary else 0.0
    band = (-margin, margin)
    step = _ROW if len(rows) <= MANY_SYSTEMS else _LOW_ROW
    return chart_of_widths(
        lambda medium: dot_chart(medium, rows, title, about, step=step, band=band),
        title,
        " ".join(_key(measure, margin)),
        len(rows),
        width=_WIDTH,
        measure=name,
    )


def _key(measure: Measure, margin: float) -> Iterator[str]:
    yield "Paired differences with 95% intervals, best first."
    if margin:
        yield f"Shaded: within the margin of {margin_text(margin, measure)}."
    if measure.higher_is_better is False:
        yield "Lower is better."


def _row(measure: Measure, reference: _Reference, system: str, difference: tuple[float, Interval | None]) -> ValueRow:
    size, interval = difference
    if system == reference.system:
        return ValueRow(system, 0.0, "0", best=True, address=pair_link(system, None, str(measure)))
    shown = f"{'+' if size > 0 else ''}{format_points(size, measure)}"
    return ValueRow(system, size, shown, interval, address=pair_link(system, reference.system, str(measure)))


def decision_section(context: ReportContext) -> Section:
    """The first section of the page."""
    if context.comparison is None:
        return Section("decision", "Decision", _QUESTION, f"{context.measure} does not say which system is better.")
    section = comparison_decision(context.comparison)
    return replace(
        section,
        sentences=(*section.sentences, *answer_sentences(context)),
        charts=difference_charts(context.comparison),
        has_waterfall=len(context.comparison.systems) > 1,
    )


_QUESTION = "Which system should be shipped?"


def comparison_decision(comparison: Comparison) -> Section:
    """The decision in words."""
    lead, *more = comparison.decision.sentences
    return Section("decision", "Decision", _QUESTION, lead, sentences=(" ".join(more),) if more else ())


def interval_text(pair: PairRecord, measured: MeasureResult) -> str:
    """The interval of a difference in words, or why there is none."""
    if pair.ci is None:
        return f"{pair.wins + pair.losses:,} of {pluralise(pair.n, 'query', 'queries')} differ, too few for an interval"
    low, high = (format_points(end, measured.measure).removesuffix(" pp") for end in pair.ci)
    return f"95% CI [{low}, {high}]"


def answer_sentences(context: ReportContext, *, where: str = "; the section Answers shows what lowers it") -> list[str]:
    """One sentence on the quality of the answers; none if no system answers. `where` says where more is."""
    if not context.answering_systems:
        return []
    result = context.results.answers
    who = f"{join_names(context.answering_systems)} {'answers' if len(context.answering_systems) == 1 else 'answer'}"
    name = None if result is None else _answer_measure(result)
    if result is None or name is None:
        return [f"{who}; there are no reference answers to evaluate them with."]
    values = {system.name: measured for system in result.systems if (measured := system.measures[name]).queries}
    best = best_systems({system: measured.value for system, measured in values.items()})
    measured = values[best[0]]
    count = f"over {pluralise(measured.queries, 'query', 'queries')} with a reference answer"
    which = "with" if len(values) == 1 else f"{join_names(best)} with the highest"
    value = format_value(measured.value, measured)
    return [f"{who}, {which} {name} {value} {count}{where}."]


def _answer_measure(result: Result) -> str | None:
    """The F1 that defines the quality bands, else the first measure with a value; None if every answer failed."""
    used = [name for name in result.systems[0].measures if any(system.measures[name].queries for system in result.systems)]
    return TOKEN_SET_F1 if TOKEN_SET_F1 in used else next(iter(used), None)


_COLUMNS = (
    Column("pair", about="first and second system"),
    Column("difference", "difference", "mean of the first system minus mean of the second"),
    Column("95% CI", "interval", "of the difference, for this pair alone; empty if too few queries differ"),
    Column("differ", "count", "queries with different values"),
    Column("p", "p", "two-sided, not corrected"),
    Column("p adjusted", "p", "corrected for the number of pairs"),
    Column("verdict", about="on the first system"),
)


def pairs_section(context: ReportContext) -> Section | None:
    """Every tested pair; None if nothing was tested."""
    if context.comparison is None or not context.comparison.pairs:
        return None
    (section,) = comparison_pairs(context.comparison)
    addresses = {
        (pair.measure, f"{pair.system} vs {pair.other}"): pair_link(pair.system, pair.other, pair.measure)
        for pair in context.comparison.pairs
    }

    def linked_pairs(table: Table) -> Table:
        return linked(table, lambda row: {"pair": addresses[table.facts["measure"], str(row["pair"])]})

    tables, folded = (tuple(map(linked_pairs, some)) for some in (section.tables, section.folded))
    return replace(section, tables=tables, folded=folded)


def comparison_pairs(comparison: Comparison) -> Iterator[Section]:
    """A section with the pairs by the primary measure, and folded those by each other measure; none if nothing was tested."""
    if not comparison.pairs:
        return
    families: dict[str, list[PairRecord]] = {}
    for pair in comparison.pairs:
        families.setdefault(pair.measure, []).append(pair)
    others = [name for name in families if name != comparison.primary and len(comparison.systems) <= MANY_SYSTEMS]
    yield Section(
        key="pairs",
        title="Pairs of systems",
        question="Which differences are significant?",
        tables=(_table(comparison.primary, families[comparison.primary]),),
        folded=tuple(_table(name, families[name], ", exploratory") for name in others),
        is_folded=True,
    )


def _table(measure: str, pairs: Sequence[PairRecord], kind: str = "") -> Table:
    rows = tuple(
        (
            f"{pair.system} vs {pair.other}",
            pair.difference,
            pair.ci,
            pair.wins + pair.losses,
            pair.p,
            pair.p_adjusted,
            pair.verdict,
        )
        for pair in sorted(pairs, key=lambda pair: -abs(pair.difference))
    )
    return Table("pairs", f"{measure}{kind}: every pair of systems", _COLUMNS, rows, facts={"measure": measure})


_FEW_QUERIES = 50
_FULLY_JUDGED = 0.995
_SERIOUS_NOTES = ("missing-queries", "machine-judgements", "nothing-judged", "no-relevant")


def warnings_section(context: ReportContext) -> Section | None:
    """The warnings; None if there are none."""
    texts = tuple(dict.fromkeys(_warnings(context)))
    return _section(texts)


def comparison_warnings(result: Result) -> Section | None:
    """The warnings about the values of several experiments; None if there are none."""
    return _section(tuple(map(as_sentence, value_notes(result.systems))))


def _section(texts: tuple[str, ...]) -> Section | None:
    return Section("warnings", "Warnings", "What could make the numbers misleading?", warnings=texts) if texts else None


def _warnings(context: ReportContext) -> Iterator[str]:
    n = context.measured.queries
    if n < _FEW_QUERIES:
        yield f"{pluralise(n, 'query is', 'queries are')} few: another sample of queries could change the means and their order."
    yield from _unjudged_warnings(context)
    yield from _note_warnings(context)


def _unjudged_warnings(context: ReportContext) -> Iterator[str]:
    shares = judged_shares(context)
    worst = min(shares.share, key=shares.share.__getitem__)
    if shares.share[worst] < _FULLY_JUDGED:
        first = context.leading if context.has_better_direction else worst
        also = "" if worst == first else f" ({1 - shares.share[worst]:.1%} for {for_message(worst)})"
        yield (
            f"{1 - shares.share[first]:.1%} of the top {shares.cutoff} documents of {for_message(first)}{also} are unjudged"
            " and count as not relevant; the section Unjudged documents shows how much the values could change."
        )


def _note_warnings(context: ReportContext) -> Iterator[str]:
    """The serious notes on means and judgements, each once."""
    notes = [note for system in context.results.result.systems for note in system.notes if note.code in _SERIOUS_NOTES]
    for text in (*dict.fromkeys(note.text for note in notes), *value_notes(context.results.result.systems)):
        yield as_sentence(text)
