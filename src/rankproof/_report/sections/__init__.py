"""The sections of the report in page order."""

from __future__ import annotations

from collections.abc import Callable

from rankproof._report.context import ReportContext
from rankproof._report.elements import Section
from rankproof._report.sections.answers import answers_section
from rankproof._report.sections.latency import latency_section, pareto_section
from rankproof._report.sections.measures import definitions_section, measures_section
from rankproof._report.sections.movement import diagnosis_section, movement_section
from rankproof._report.sections.provenance import notes_section, provenance_section
from rankproof._report.sections.segments import segments_section
from rankproof._report.sections.systems import chunks_section, systems_section
from rankproof._report.sections.unjudged import unjudged_section
from rankproof._report.sections.verdict import verdict_section

FINDING_SECTIONS: tuple[Callable[[ReportContext], Section | None], ...] = (
    verdict_section,
    systems_section,
    pareto_section,
    latency_section,
    measures_section,
    segments_section,
    diagnosis_section,
    movement_section,
    answers_section,
    chunks_section,
    unjudged_section,
)
"""The findings, before the table of queries."""
REFERENCE_SECTIONS: tuple[Callable[[ReportContext], Section | None], ...] = (
    notes_section,
    provenance_section,
    definitions_section,
)
"""The reference sections, after it."""
