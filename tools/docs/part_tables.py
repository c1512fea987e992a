"""Tables of parts that are registered by a decorator: fusion methods, normalisations and checks."""

from __future__ import annotations

from collections.abc import Iterable

from rankproof._analysis.doctor.check import all_checks
from rankproof._fusion.method import METHODS
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._io.escape import for_markdown


def fusion_methods() -> str:
    """Every fusion method with the settings that it uses and its source."""
    rows = ((f"`{one.name}`", one.summary, ", ".join(f"`{name}`" for name in one.uses), one.source) for one in METHODS.values())
    return _table(("method", "what it does", "uses", "source"), rows)


def normalisations() -> str:
    """Every normalisation of scores."""
    return _table(("norm", "scores of one ranking"), ((f"`{one.name}`", one.summary) for one in NORMALISATIONS.values()))


def checks() -> str:
    """Every check of `rankproof doctor`."""
    rows = ((f"`{one.name}`", one.severity, ", ".join(one.needs), one.summary, one.advice) for one in all_checks())
    return _table(("check", "severity", "needs", "looks for", "what to do"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(map(_cell, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    """Code unchanged, other text escaped."""
    return text if text.startswith("`") else for_markdown(text)
