"""The sections of the report in page order."""

from __future__ import annotations

from collections.abc import Callable

from rankproof._report.context import ReportContext
from rankproof._report.elements import Section
from rankproof._report.sections.answers import answers_section
from rankproof._report.sections.decision import decision_section, pairs_section, warnings_section
from rankproof._report.sections.latency import latency_section, pareto_section
from rankproof._report.sections.measures import definitions_section, measures_section, recall_section
from rankproof._report.sections.movement import diagnosis_section, movement_section
from rankproof._report.sections.provenance import (
    judges_section,
    no_judgements_section,
    notes_section,
    provenance_section,
    unjudged_section,
)
from rankproof._report.sections.segments import segments_section
from rankproof._report.sections.systems import chunks_section, steps_section, systems_section

OPEN_SECTIONS: tuple[Callable[[ReportContext], Section | None], ...] = (
    decision_section,
    systems_section,
    warnings_section,
    judges_section,
)
"""What most readers need: open, before the table of queries."""
FOLDED_SECTIONS: tuple[Callable[[ReportContext], Section | None], ...] = (
    pairs_section,
    steps_section,
    pareto_section,
    latency_section,
    measures_section,
    recall_section,
    segments_section,
    diagnosis_section,
    movement_section,
    answers_section,
    chunks_section,
    unjudged_section,
    notes_section,
    provenance_section,
    definitions_section,
)
"""The details: folded, after it."""
UNJUDGED_SECTIONS: tuple[Callable[[ReportContext], Section | None], ...] = (answers_section, no_judgements_section)
UNJUDGED_FOLDED: tuple[Callable[[ReportContext], Section | None], ...] = (
    latency_section,
    notes_section,
    provenance_section,
    definitions_section,
)
"""The open and the folded sections of results without judgements."""
