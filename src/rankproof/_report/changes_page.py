"""The page on two results, before and after: the answer, the systems, the queries that changed most, and the settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import urlencode

from rankproof._analysis.changes.changed_queries import (
    DocumentMove,
    QueryChange,
    QueryChanges,
    changed_queries,
    reordered_queries,
)
from rankproof._analysis.changes.changed_settings import experiment_diff, settings_table
from rankproof._analysis.changes.changes import Changes, MatchedSystem, change_sentences, change_table
from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.tables import PairRecord
from rankproof._data.qrels import highest_grade
from rankproof._data.table import Column, Table
from rankproof._data.text import clip_text, pluralise
from rankproof._evaluation.result import MeasureResult
from rankproof._report.elements import (
    ChangedQuery,
    ChangedSystem,
    FoldedText,
    KeyFigure,
    MovedDocument,
    Section,
    as_sentence,
    signed_difference,
)
from rankproof._report.page import explorer_json, render_page, report_facts
from rankproof._report.sections.decision import comparison_decision, comparison_warnings, difference_charts, interval_text
from rankproof.errors import for_message

_MOST_FIGURES = 4
_MOST_DOCUMENTS = 12
_MANY_SYSTEMS, _MANY_QUERIES, _FEW_QUERIES = 8, 10, 4
"""With more systems than this, each shows fewer queries."""
_MAX_SETTINGS = 16
"""More rows of settings are folded."""
_GRADE_LEVELS = 4
_TEXT_LENGTH, _SNIPPET_LENGTH = 200, 240
_MOVE_WORDS = {"entered": "entered", "left": "left", "up": "up", "down": "down"}


def change_section(changes: Changes) -> Section:
    """Whether the systems are better than before."""
    lead, *more = change_sentences(changes)
    return Section(
        key="changes",
        title="What changed",
        question=f"Is {for_message(changes.labels[1])} better than {for_message(changes.labels[0])}?",
        lead=lead,
        figures=tuple(_figures(changes)),
        points=tuple(more),
    )


def _figures(changes: Changes) -> Iterator[KeyFigure]:
    """The systems with the largest differences."""
    comparison = changes.main
    if comparison is None:
        return
    pairs = [(matched, pair) for matched in changes.matched if (pair := changes.pair(matched)) is not None]
    pairs.sort(key=lambda pair: (-abs(pair[1].difference), pair[0].name))
    for matched, pair in pairs[:_MOST_FIGURES]:
        measured = measure_result(changes, matched.after, comparison.primary)
        about = f"{pair.other_value:.4f} → {pair.value:.4f}; {interval_text(pair, measured)}"
        about = "the same on every query" if pair.verdict == "same" else about
        yield KeyFigure(clip_text(for_message(matched.name), 28), signed_difference(pair.difference, measured), about)


def measure_result(changes: Changes, system: str, measure: str) -> MeasureResult:
    """The values of a system of the joined results by a measure of rankings or answers."""
    results = (changes.joined.result, changes.joined.answers)
    systems = [own for result in results if result is not None for own in result.systems if own.name == system]
    return next(own.measures[measure] for own in systems if measure in own.measures)


def changed_systems_section(changes: Changes) -> Section:
    """Every system, before and after."""
    table = change_table(changes)
    return Section(
        key="systems",
        title="Systems",
        question="How good is each system, before and after?",
        tables=(replace(table, sentences=(), notes=tuple(map(as_sentence, table.notes))),),
    )


def changed_queries_section(changes: Changes) -> Section:
    """The queries that changed most, for each system of both."""
    ordered, highest = ordered_systems(changes), max(highest_grade(changes.joined.qrels) or 1, 1)
    systems = [_changed_system(changes, system, highest, is_open=at == 0) for at, system in enumerate(ordered)]
    what = "overlap of the two rankings" if changes.main is None else changes.main.primary
    return Section(
        key="moved",
        title="Queries that changed most",
        question=f"Which queries lost and gained most by {what}, and which documents moved?",
        changed=tuple(systems),
    )


def ordered_systems(changes: Changes) -> list[MatchedSystem]:
    """The systems of both: that of the decision first, then those with the largest difference."""
    chosen = None if changes.main is None else changes.main.decision.first

    def place(system: MatchedSystem) -> tuple[bool, float]:
        pair = changes.pair(system)
        return chosen not in (system.before, system.after), 0.0 if pair is None else -abs(pair.difference)

    return sorted(changes.matched, key=place)


def changes_of_system(changes: Changes, system: MatchedSystem, most: int) -> QueryChanges | None:
    """The changed queries of a system by the primary measure; None if it has no values of it."""
    if changes.main is None:
        return reordered_queries(changes.joined, system.before, system.after, most=most)
    if changes.pair(system) is None:
        return None
    return changed_queries(changes.joined, system.before, system.after, changes.main.primary, most=most)


def counts_text(query_changes: QueryChanges | None, *, measured: bool) -> str:
    """How many queries lost, gained and stayed equal."""
    if query_changes is None:
        return "not measured in both"
    if not measured:
        return f"{query_changes.lost:,} rankings differ, {query_changes.equal:,} are equal"
    losses, gains = pluralise(query_changes.lost, "loss", "losses"), pluralise(query_changes.gained, "gain")
    return f"{losses}, {gains}, {query_changes.equal:,} equal"


def _changed_system(changes: Changes, system: MatchedSystem, highest: int, *, is_open: bool) -> ChangedSystem:
    most = _FEW_QUERIES if len(changes.matched) > _MANY_SYSTEMS else _MANY_QUERIES
    query_changes = changes_of_system(changes, system, most)
    lists: list[tuple[str, tuple[QueryChange, ...]]] = []
    if query_changes is not None:
        first = "Largest losses" if changes.main is not None else "Least overlap"
        lists = [(first, query_changes.losses), ("Largest gains", query_changes.gains)]
    shown = tuple(
        (title, tuple(_changed_query(changes, system, query, highest) for query in queries))
        for title, queries in lists
        if queries
    )
    summary = counts_text(query_changes, measured=changes.main is not None)
    return ChangedSystem(for_message(system.name), summary, shown, is_open)


def _changed_query(changes: Changes, system: MatchedSystem, change: QueryChange, highest: int) -> ChangedQuery:
    texts = changes.joined.texts
    text = clip_text(texts[change.query].text, _TEXT_LENGTH) if change.query in texts else ""
    documents = tuple(_moved_document(changes, move, highest) for move in change.moves[:_MOST_DOCUMENTS])
    link = "" if changes.main is None else _link(changes, system, change.query)
    values, difference, kind = _values(changes, system, change)
    more = max(len(change.moves) - _MOST_DOCUMENTS, 0)
    return ChangedQuery(change.query, text, values, difference, kind, documents, more, link)


def _values(changes: Changes, system: MatchedSystem, change: QueryChange) -> tuple[str, str, str]:
    if changes.main is None or change.before is None or change.after is None:
        return "RBO", f"{1 + change.difference:.3f}", "worse"
    measured = measure_result(changes, system.after, changes.main.primary)
    is_loss = (change.difference > 0) == (measured.measure.higher_is_better is False)
    kind = "worse" if is_loss else "better"
    return f"{change.before:.4f} → {change.after:.4f}", signed_difference(change.difference, measured), kind


def _link(changes: Changes, system: MatchedSystem, query: str) -> str:
    """The address of the query in the table of queries, with the two systems."""
    names = [("a", system.after), ("b", system.before), ("system", system.before), ("system", system.after), ("query", query)]
    return f"#queries?{urlencode(names, errors='replace')}"


def _moved_document(changes: Changes, move: DocumentMove, highest: int) -> MovedDocument:
    joined = changes.joined
    text = joined.snippets.get(move.doc) or joined.contexts.get(move.doc, "")
    length = joined.titles.get(move.doc, 0)
    rest = text[length:].removeprefix(" · ") if length else text
    before, after = ("not retrieved" if rank is None else f"{rank:,}" for rank in (move.before, move.after))
    level = 0 if not move.grade or move.grade < 1 else max(1, -(-_GRADE_LEVELS * move.grade // highest))
    grade = None if move.grade is None else str(move.grade)
    title, snippet = clip_text(text[:length], _TEXT_LENGTH), clip_text(rest, _SNIPPET_LENGTH)
    return MovedDocument(move.doc, move.kind, f"{before} → {after}", _MOVE_WORDS[move.kind], grade, level, title, snippet)


def changed_measures_section(changes: Changes) -> Section | None:
    """The systems by every measure; None with one measure only."""
    return _measures_section(changes, changes.comparison, "measures", "Every measure", "Do other measures agree?")


def changed_answers_section(changes: Changes) -> Section | None:
    """The answers by every measure of answers; None if only one of the results has answers."""
    comparison = changes.answers
    if comparison is None:
        return None
    section = _measures_section(changes, comparison, "answers", "Answers", "Are the answers better than before?", least=1)
    return None if section is None else replace(section, sentences=comparison.decision.sentences)


_MEASURE_COLUMNS = (
    Column("measure"),
    Column("before", "value"),
    Column("after", "value"),
    Column("difference", "difference", "after minus before"),
    Column("95% CI", "interval", "of the difference, for this system and measure alone; empty if too few queries differ"),
    Column("differ", "count", "queries with different values"),
    Column("p", "p", "two-sided, not corrected"),
    Column("p adjusted", "p", "corrected for the systems of both"),
    Column("n", "count", "common queries"),
    Column("verdict", about="on the system after"),
)


def _measures_section(
    changes: Changes, comparison: Comparison | None, key: str, title: str, question: str, least: int = 2
) -> Section | None:
    """A table for each system of both, with a row for each measure."""
    if comparison is None or len({pair.measure for pair in comparison.pairs}) < least:
        return None
    tables = [
        Table("measures", for_message(system.name), _named(changes), rows)
        for system in changes.matched
        if (rows := tuple(_measure_rows(changes, system, comparison)))
    ]
    exploratory = f"{comparison.primary} decides; the other measures are exploratory." if least > 1 else ""
    return Section(key, title, question, exploratory, tables=tuple(tables))


def _named(changes: Changes) -> tuple[Column, ...]:
    names = dict(zip(("before", "after"), changes.labels, strict=True))
    return tuple(column._replace(name=names.get(column.name, column.name)) for column in _MEASURE_COLUMNS)


def _measure_rows(changes: Changes, system: MatchedSystem, comparison: Comparison) -> Iterator[tuple[str | float | None, ...]]:
    for measure in dict.fromkeys(pair.measure for pair in comparison.pairs):
        pair = changes.pair(system, measure, comparison)
        if pair is not None:
            yield _measure_row(pair)


def _measure_row(pair: PairRecord) -> tuple[str | float | None, ...]:
    numbers = (pair.measure, pair.other_value, pair.value, pair.difference)
    return *numbers, pair.ci, pair.wins + pair.losses, pair.p, pair.p_adjusted, pair.n, pair.verdict  # type: ignore[return-value]


def settings_section(changes: Changes) -> Section:
    """The settings, versions and facts that differ, and the experiment files as a diff."""
    table, lines = settings_table(changes), experiment_diff(changes)
    return Section(
        key="settings",
        title="Settings that changed",
        question="Which settings, versions and data differ?",
        sentences=table.sentences,
        tables=(table.without_sentences(),) if 0 < len(table.rows) <= _MAX_SETTINGS else (),
        folded=(table.without_sentences(),) if len(table.rows) > _MAX_SETTINGS else (),
        texts=(FoldedText("The experiment files, line by line", lines),) if lines else (),
    )


def changed_facts(changes: Changes, facts: Sequence[Sequence[str]]) -> list[str]:
    """The line under the title: both results with their facts."""
    described = zip(changes.labels, (changes.before, changes.after), facts, strict=True)
    return [f"{for_message(label)}: {' · '.join([for_message(results.name), *more])}" for label, results, more in described]


def render_changes(changes: Changes, links: Sequence[tuple[str, str]] = ()) -> str:
    """Render the page as one HTML file; the same results give the same bytes. `links` as in `render_report`."""
    facts = [report_facts(results) for results in (changes.before, changes.after)]
    pairs = {system.name: (system.after, system.before) for system in ordered_systems(changes)}
    return render_page(
        f"{changes.joined.name}: what changed",
        changed_facts(changes, facts),
        list(_open_sections(changes)),
        list(_folded_sections(changes)),
        explorer_json(changes.joined, pairs),
        links=links,
        source="two results folders",
        styles=("changes.css",),
    )


def _open_sections(changes: Changes) -> Sequence[Section]:
    warnings = comparison_warnings(changes.joined.result)
    return [
        settings_section(changes),
        change_section(changes),
        *([] if changes.comparison is None else [_decision(changes.comparison)]),
        changed_systems_section(changes),
        *([warnings] if warnings else []),
        changed_queries_section(changes),
    ]


def _decision(comparison: Comparison) -> Section:
    return replace(comparison_decision(comparison), charts=difference_charts(comparison)[:1])


def _folded_sections(changes: Changes) -> Sequence[Section]:
    sections = (changed_measures_section(changes), changed_answers_section(changes))
    return [section for section in sections if section is not None]
