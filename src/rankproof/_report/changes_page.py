"""The page that compares two results folders, before and after a change."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof._analysis.changes.changes import Changes
from rankproof._report.elements import Section
from rankproof._report.page import explorer_json, render_page, report_facts
from rankproof._report.sections.changes import (
    change_section,
    changed_answers_section,
    changed_facts,
    changed_measures_section,
    changed_queries_section,
    changed_systems_section,
    ordered_systems,
    settings_section,
)
from rankproof._report.sections.decision import comparison_decision
from rankproof._report.sections.warnings import comparison_warnings


def render_changes(changes: Changes, links: Sequence[tuple[str, str]] = ()) -> str:
    """Render the page as one HTML file; the same results give the same bytes. `links` as in `render_report`."""
    facts = [report_facts(one) for one in (changes.before, changes.after)]
    pairs = {one.name: (one.after, one.before) for one in ordered_systems(changes)}
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
        change_section(changes),
        *([] if changes.comparison is None else [comparison_decision(changes.inputs, changes.comparison)]),
        changed_systems_section(changes),
        *([warnings] if warnings else []),
        settings_section(changes),
        changed_queries_section(changes),
    ]


def _folded_sections(changes: Changes) -> Sequence[Section]:
    found = (changed_measures_section(changes), changed_answers_section(changes))
    return [section for section in found if section is not None]
