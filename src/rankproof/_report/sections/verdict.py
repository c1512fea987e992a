"""The verdict: the best system, its comparisons, its cost, and warnings."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof._analysis.answers.quality import TOKEN_SET_F1
from rankproof._analysis.compare.compare import power_notes
from rankproof._analysis.compare.tables import comparison_facts, verdict_sentence, verdict_table
from rankproof._analysis.values import best_systems, format_points
from rankproof._data.text import clip_text, pluralise
from rankproof._evaluation.result import Result
from rankproof._render.grid import format_value
from rankproof._report.context import ReportContext, judged_shares
from rankproof._report.elements import (
    HtmlTable,
    KeyFigure,
    Section,
    as_sentence,
    format_megabytes,
    format_milliseconds,
    html_table,
    interval_phrase,
    join_names,
    signed_difference,
)
from rankproof._statistics.intervals import SMALL_SAMPLE
from rankproof.errors import for_message


def answer_sentences(context: ReportContext) -> list[str]:
    """One sentence on the quality of the answers; none if no system answers."""
    if not context.answering_systems:
        return []
    result = context.results.answers
    who = f"{join_names(context.answering_systems)} {'answers' if len(context.answering_systems) == 1 else 'answer'}"
    name = None if result is None else _answer_measure(result)
    if result is None or name is None:
        return [f"{who}; there are no reference answers to evaluate them with."]
    values = {system.name: one for system in result.systems if (one := system.measures[name]).queries}
    best = best_systems({system: one.value for system, one in values.items()})
    one = values[best[0]]
    count = f"over {pluralise(one.queries, 'query', 'queries')} with a reference answer"
    which = "with" if len(values) == 1 else f"{join_names(best)} with the highest"
    value = format_value(one.value, one)
    return [f"{who}, {which} {name} {value} {count}; the section Answers shows what lowers it."]


def _answer_measure(result: Result) -> str | None:
    """The F1 that defines the quality bands, else the first measure with a value; None if every answer failed."""
    used = [name for name in result.systems[0].measures if any(system.measures[name].queries for system in result.systems)]
    return TOKEN_SET_F1 if TOKEN_SET_F1 in used else next(iter(used), None)


_FEW_QUERIES = 50
_FULLY_JUDGED = 0.995
_SERIOUS_NOTES = ("missing-queries", "machine-judgements", "nothing-judged", "no-relevant")


def warning_sentences(context: ReportContext) -> Iterator[str]:
    """One sentence for each warning."""
    n = context.one.queries
    if n < SMALL_SAMPLE:
        other = "reverse the order" if len(context.ranking_systems) > 1 else "give very different values"
        yield f"{pluralise(n, 'query is', 'queries are')} very few: another sample of queries could {other}."
    elif n < _FEW_QUERIES:
        yield f"{pluralise(n, 'query is', 'queries are')} few: look at the confidence intervals, not only at the means."
    yield from _power_warnings(context)
    yield from _unjudged_warnings(context)
    yield from _note_warnings(context)


def _power_warnings(context: ReportContext) -> Iterator[str]:
    """The smallest differences that the test detects with 80% power, for pairs without a significant difference."""
    unsure = [pair for pair in context.comparisons if pair.verdict == "not significant" and pair.detectable]
    if unsure:
        found = sorted(pair.detectable or 0.0 for pair in unsure)
        least, most = (format_points(each, context.one.measure) for each in (found[0], found[-1]))
        limit = least if least == most else f"{least.removesuffix(' pp')} to {most}, depending on the pair,"
        yield (
            f"{len(unsure)} of {pluralise(len(context.comparisons), 'pair')} of systems: no significant difference."
            f" With these queries, differences under {limit} have less than 80% power."
        )


def _unjudged_warnings(context: ReportContext) -> Iterator[str]:
    shares = judged_shares(context)
    worst = min(shares.share, key=shares.share.__getitem__)
    if shares.share[worst] < _FULLY_JUDGED:
        first = context.best if context.has_better_direction else worst
        also = "" if worst == first else f" ({1 - shares.share[worst]:.1%} for {for_message(worst)})"
        yield (
            f"{1 - shares.share[first]:.1%} of the top {shares.cutoff} documents of {for_message(first)}{also} are unjudged"
            " and count as not relevant; the section Unjudged documents shows how much the values could change."
        )


def _note_warnings(context: ReportContext) -> Iterator[str]:
    """The serious notes on means and judgements, each once."""
    notes = [note for system in context.results.result.systems for note in system.notes if note.code in _SERIOUS_NOTES]
    for text in dict.fromkeys(note.text for note in notes):
        yield as_sentence(text)


_MAX_NAME_LENGTH = 28
"""The longest system name in a figure, in characters."""


def verdict_section(context: ReportContext) -> Section:
    """The first section of the page."""
    return Section(
        key="verdict",
        title="Verdict",
        question="Which system is best, is the difference significant, and what does it cost?",
        lead=_lead(context),
        figures=_figures(context),
        sentences=(*_comparison_notes(context), *answer_sentences(context)),
        warnings=tuple(warning_sentences(context)),
        folded=_pairs_tables(context),
    )


def _comparison_notes(context: ReportContext) -> tuple[str, ...]:
    return (
        (*_comparison_sentences(context), *_faster_equal_sentences(context), *_cost_sentences(context))
        if context.has_better_direction
        else ()
    )


def _lead(context: ReportContext) -> str:
    value = format_value(context.values[context.best].value, context.one)
    many = len(context.ranking_systems)
    systems = "rankings" if context.answering_systems else "systems"
    if not context.has_better_direction:
        return f"{context.measure} does not say which system is better."
    if many == 1:
        return f"{for_message(context.best)} has {context.measure} {value}; there is no other {systems[:-1]} to compare it with."
    if len(context.best_systems) > 1:
        return f"{join_names(context.best_systems)} tie for the best {context.measure} of {many} {systems}, {value}."
    extreme = "lowest (best)" if context.one.measure.higher_is_better is False else "highest"
    lead = f"{for_message(context.best)} has the {extreme} {context.measure} of {many} {systems}, {value}"
    if not context.not_distinguishable:
        return f"{lead}, and is significantly better than each of the others." if context.comparisons else f"{lead}."
    count = len(context.not_distinguishable)
    every = "any" if count == many - 1 else str(count)
    others = join_names(context.not_distinguishable) if count <= 3 else f"{every} of the {many - 1} others"
    return f"{lead}, but is not significantly better than {others}."


def _figures(context: ReportContext) -> tuple[KeyFigure, ...]:
    queries = KeyFigure("Queries", f"{context.one.queries:,}", _documents(context))
    return (*_best_figures(context), queries) if context.has_better_direction else (queries,)


def _best_figures(context: ReportContext) -> list[KeyFigure]:
    best, one = context.best, context.one
    value = context.values[best].value
    found = [_winner_figure(context)]
    found.append(
        KeyFigure(context.measure, format_value(value, one), interval_phrase(context.intervals[best, context.measure], one))
    )
    if context.first_system not in context.best_systems:
        gain = value - context.values[context.first_system].value
        found.append(
            KeyFigure(
                "Gain",
                signed_difference(gain, one),
                f"over {clip_text(for_message(context.first_system), _MAX_NAME_LENGTH)}, the first system",
            )
        )
    if context.times:
        total = context.system_runs[best].time_of("total")
        whose = f", of {clip_text(for_message(best), _MAX_NAME_LENGTH)}" if len(context.best_systems) > 1 else ""
        found.append(
            KeyFigure(
                "Latency", format_milliseconds(total["p50"]), f"a query, p50; p95 {format_milliseconds(total['p95'])}{whose}"
            )
        )
    return found


def _winner_figure(context: ReportContext) -> KeyFigure:
    """The best system, or all systems that tie for the best value."""
    many, tied = len(context.ranking_systems), context.best_systems
    if many == 1:
        return KeyFigure("Ranking" if context.answering_systems else "System", context.best, "the only one")
    if len(tied) == 1:
        return KeyFigure("Best system", context.best, f"of {many}")
    return KeyFigure("Best systems", join_names(tied, 3), f"of {many}, tied")


def _documents(context: ReportContext) -> str:
    documents = context.inputs.documents
    return "" if documents is None else f"on {pluralise(documents, 'document')}"


def _comparison_sentences(context: ReportContext) -> list[str]:
    """The best system against the second best, its baseline and the first system, each pair once."""
    others = sorted(
        (name for name in context.ranking_systems if name != context.best), key=lambda name: -context.oriented_values[name]
    )
    baseline = context.system_runs[context.best].baseline
    wanted = dict.fromkeys(name for name in (*others[:1], baseline, context.first_system) if name is not None)
    pairs = [context.comparison(context.best, name) for name in wanted if name != context.best]
    return [verdict_sentence(pair, context.settings) for pair in pairs if pair is not None]


def _faster_equal_sentences(context: ReportContext) -> list[str]:
    """The fastest system with no significant difference from the best, if it is faster than the best."""
    if not context.not_distinguishable or not context.times:
        return []
    fastest = min(context.not_distinguishable, key=context.times.__getitem__)
    quick, slow = context.times[fastest], context.times[context.best]
    if quick >= slow or format_milliseconds(quick) == format_milliseconds(slow):
        return []
    return [
        f"Of the systems with no significant difference from the best, {for_message(fastest)} is the fastest:"
        f" {format_milliseconds(quick)} a query (p50), against {format_milliseconds(slow)}."
    ]


def _cost_sentences(context: ReportContext) -> list[str]:
    system_run, first = context.system_runs[context.best], context.system_runs[context.first_system]
    parts = []
    if context.times:
        other = (
            ""
            if system_run is first
            else f", against {format_milliseconds(context.times[first.name])} for {for_message(first.name)}"
        )
        parts.append(f"takes {format_milliseconds(context.times[system_run.name])} a query (p50){other}")
    if system_run.index_bytes:
        parts.append(f"needs {format_megabytes(system_run.index_bytes)} of index, built in {system_run.index_seconds:.2f} s")
    tokens = system_run.total("tokens_in") + system_run.total("tokens_out")
    if tokens:
        spent = f", which cost {system_run.money:.4f}" if system_run.money else ""
        parts.append(f"made {pluralise(system_run.total('calls'), 'LLM call')} with {tokens:,} tokens{spent}")
    return [f"{for_message(system_run.name)} {', and '.join(parts)}."] if parts else []


def _pairs_tables(context: ReportContext) -> tuple[HtmlTable, ...]:
    found, joined = context.comparisons, context.joined_values
    if joined is None or not found:
        return ()
    facts = comparison_facts(joined, context.settings, len(found))
    table = verdict_table(found[0].observed.measure, None, found, context.settings, facts)
    how = context.settings.describe(len(joined.queries), len(found))
    notes = map(as_sentence, power_notes(found, len(joined.queries), context.settings))
    shown = html_table(table)
    return (HtmlTable(shown.caption, shown.grid, shown.column_notes, (how, *notes, *joined.notes)),)
