"""What the numbers rest on: unjudged documents, notes, and where the numbers come from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rankproof._analysis.audit.unjudged import COMPLETION_RULES, UnjudgedDocuments, all_within, audit_unjudged, none_relevant
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.overlap import NEXT_STEP
from rankproof._data.qrels import HUMAN_JUDGE
from rankproof._data.table import Column, Table
from rankproof._data.text import pluralise
from rankproof._evaluation.notes import JUDGED_ONLY_TEXT
from rankproof._evaluation.result import Result
from rankproof._render.systems import unjudged_tables
from rankproof._report.context import MANY_QUERIES, JudgedShares, ReportContext, judged_shares
from rankproof._report.elements import FoldedText, Section, as_sentence, linked, pair_link
from rankproof._results.judgements import JUDGEMENTS_KEY, agreement_sentence
from rankproof.measures._base import Measure

_LIBRARIES = "libraries"


def provenance_section(context: ReportContext) -> Section:
    """The facts of the run, the stages of the systems, and the experiment file."""
    results = context.results
    return Section(
        key="provenance",
        title="Provenance",
        question="Which data, software and settings produced these numbers?",
        tables=(_facts_table(context),),
        folded=(_systems_table(context),),
        texts=(FoldedText("The experiment file", results.experiment),) if results.experiment else (),
    )


def _facts_table(context: ReportContext) -> Table:
    results = context.results
    rows = [
        ("experiment", results.name),
        *([("fingerprint of the dataset", results.fingerprint)] if results.fingerprint else []),
        ("fingerprint of the judgements", results.qrels.fingerprint()),
        ("lowest relevant grade", str(results.rel)),
        *([("measured on", JUDGED_ONLY_TEXT)] if results.judged_only else []),
        *_pairs(results.provenance),
    ]
    return Table("provenance", "Provenance", (Column("fact"), Column("value")), tuple(rows))


def _pairs(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if name == _LIBRARIES and isinstance(value, Mapping):
            yield name, ", ".join(f"{library} {version}" for library, version in value.items())
        elif value is not None:
            yield name, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _systems_table(context: ReportContext) -> Table:
    rows = tuple(
        (
            system_run.name,
            system_run.kind,
            system_run.builds_on,
            json.dumps(system_run.stage, ensure_ascii=False, sort_keys=True, default=str),
            json.dumps(dict(system_run.facts), ensure_ascii=False, sort_keys=True, default=str),
            system_run.computed or None,
            system_run.from_cache,
        )
        for system_run in context.results.system_runs
    )
    columns = (
        *(Column("system"), Column("kind"), Column("builds on", about="the system of the experiment that is part of it")),
        *(Column("stage"), Column("facts"), Column("computed"), Column("from the cache", "flag")),
    )
    return Table("systems", "Every system: stages and facts", columns, rows)


def judges_section(context: ReportContext) -> Section | None:
    """Who made the judgements; None where all are those of the dataset, by people."""
    facts = context.results.provenance.get(JUDGEMENTS_KEY)
    if not isinstance(facts, Mapping):
        return None
    rows = [
        *((name, "person" if name != HUMAN_JUDGE else "people", count) for name, count in facts.get("people", {}).items()),
        *((label, "machine", count) for label, count in facts.get("machines", {}).items()),
    ]
    columns = (Column("by"), Column("kind"), Column("judgements", "count"))
    agreement = agreement_sentence(facts)
    return Section(
        key="judges",
        title="Judgements",
        question="Who made the judgements, and how far do people and machines agree?",
        sentences=(as_sentence(agreement),) if agreement else (),
        tables=(Table("judges", "Judgements that count", columns, tuple(rows)),),
    )


_ALL_SYSTEMS = "all systems"


def notes_section(context: ReportContext) -> Section:
    """One row for each note."""
    rows = tuple(dict.fromkeys(_rows(context)))
    table = Table("notes", "Notes", (Column("about"), Column("note")), rows)
    summary = f"{pluralise(len(rows), 'note')} on the data, the systems and the evaluation." if rows else "There are no notes."
    return Section(
        key="notes",
        title="Notes",
        question="What should be known about the data, the systems and the evaluation?",
        sentences=(summary,),
        tables=(table,) if rows else (),
    )


def _rows(context: ReportContext) -> Iterator[tuple[str, str]]:
    results = context.results
    yield from (("the experiment", note) for note in results.notes)
    yield from ((system_run.name, note) for system_run in results.system_runs for note in system_run.notes)
    for result in (results.result, results.answers):
        if result is not None:
            yield from _notes_of_result(result)


def _notes_of_result(result: Result) -> Iterator[tuple[str, str]]:
    """Each note once, with the systems it applies to."""
    owners: dict[str, list[str]] = {}
    for system in result.systems:
        for note in system.notes:
            owners.setdefault(note.text, []).append(system.name)
    for text, names in owners.items():
        yield _ALL_SYSTEMS if len(names) == len(result.systems) > 1 else ", ".join(names), text


_MAX_ROWS = 200_000
_DEPTH = 10
"""With more rows or many queries, only measures with at most this cutoff are bounded, and only those that need no search."""


def no_judgements_section(context: ReportContext) -> Section | None:
    """What is known of rankings without judgements, and what to do next; None if there are only answers, or judgements."""
    if context.results.answers is not None and not any(run.stored_run for run in context.results.system_runs):
        return None
    if context.results.qrels:
        return None
    tables = unjudged_tables(context.results)
    return Section(
        key="rankings",
        title="Rankings without judgements",
        question="How fast are the systems, and how much do their rankings have in common?",
        sentences=(NEXT_STEP, *(sentence for table in tables for sentence in table.sentences)),
        tables=tuple(table.without_sentences() for table in tables),
    )


def unjudged_section(context: ReportContext) -> Section | None:
    """The judged shares, the bounds of the main measure, and those of the others; None if unjudged documents are removed."""
    if context.results.judged_only:
        return None
    shares = judged_shares(context)
    low, high = min(shares.share.values()), max(shares.share.values())
    some = f"{low:.1%} to {high:.1%}" if low < high else f"{low:.1%}"
    judged = f"{some} of the top {shares.cutoff} documents are judged; unjudged documents count as not relevant."
    tables = _bounds(context)
    first = tables[0] if tables else None
    return Section(
        key="unjudged",
        title="Unjudged documents",
        question="How many of the top documents are unjudged, and could their grades change the order of the systems?",
        points=(judged, *(first.sentences if first else ())),
        tables=(first.without_sentences() if first else _shares_table(shares),),
        folded=tuple(replace(table, title="Bounds of the other measures", sentences=()) for table in tables[1:]),
    )


def _shares_table(shares: JudgedShares) -> Table:
    columns = (Column("system"), Column(f"judged in the top {shares.cutoff}", "share"))
    return Table("judged", "Judged documents", columns, tuple(shares.share.items()))


def _bounds(context: ReportContext) -> list[Table]:
    """The bounds of the main measure and of the others; none if they would take too long."""
    inputs = context.inputs
    measures = {name: measure.measure for name, measure in inputs.result.systems[0].measures.items()}
    bounded = [name for name, measure in measures.items() if measure.name in COMPLETION_RULES and measure.summary == "mean"]
    if len(inputs.result.queries) > MANY_QUERIES or sum(len(run.docs) for run in inputs.runs.values()) > _MAX_ROWS:
        bounded = [name for name in bounded if _is_fast_to_bound(measures[name])][:1]
    if not bounded:
        return []
    first = context.measure if context.measure in bounded else bounded[0]
    others = [name for name in bounded if name != first]
    return [_bounds_table(context.unjudged, [first]), *([_bounds_table(context.unjudged, others)] if others else [])]


def _is_fast_to_bound(measure: Measure) -> bool:
    return (
        COMPLETION_RULES[measure.name] == (none_relevant, all_within)
        and (getattr(measure, "cutoff", None) or _MAX_ROWS) <= _DEPTH
    )


def _bounds_table(unjudged: UnjudgedDocuments, names: Sequence[str]) -> Table:
    narrowed = _with_measures(unjudged.inputs, names)
    bounds = audit_unjudged(narrowed, replace(unjudged, inputs=narrowed))
    return linked(bounds, lambda row: {"system": pair_link(str(row["system"]), None, str(row["measure"]))})


def _with_measures(inputs: AnalysisInput, names: Sequence[str]) -> AnalysisInput:
    """The input with these measures only."""
    systems = tuple(replace(system, measures={name: system.measures[name] for name in names}) for system in inputs.result.systems)
    return replace(inputs, result=replace(inputs.result, systems=systems))
