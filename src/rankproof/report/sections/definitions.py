"""Definitions of every measure that the page shows."""

from __future__ import annotations

from ...measures import Measure
from ...views.catalogue import scope
from ..material import Material
from ..section import Section, Term

_GAINS = {"linear": "the grade", "exp": "2^grade - 1"}


def definitions(material: Material) -> Section:
    """In the order in which they are shown, answers last."""
    climb = material.climb
    found: dict[str, Measure] = {}
    for result in (climb.result, climb.chunks, climb.answers):
        for system in result.systems if result is not None else ():
            found |= {name: one.measure for name, one in system.measures.items() if name not in found}
    return Section(
        key="definitions",
        title="Definitions",
        question="What exactly does each measure count?",
        terms=tuple(_term(name, measure) for name, measure in found.items()),
    )


def _term(name: str, measure: Measure) -> Term:
    better = {True: "more is better", False: "less is better", None: ""}[measure.higher_is_better]
    span = "; ".join(part for part in (f"Range {scope(measure)}", better) if part)
    return Term(name, measure.title, f"{measure.definition}{_gain(measure)}", f"{span}. Source: {measure.source}.")


def _gain(measure: Measure) -> str:
    """Which of the gains that the definition names this one counts."""
    gain = getattr(measure, "gain", None)
    if gain is None:
        return ""
    return f" Here: {_GAINS.get(gain, gain) if isinstance(gain, str) else 'by hand, as its name says'}."
