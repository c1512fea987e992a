"""An experiment in a line: what the list shows of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..analysis.measured import leaders, worth
from ..data.qrels import Qrels
from ..evaluation import MeasureResult
from ..experiment.results.digests import refuse_changed
from ..experiment.results.files import QRELS
from ..experiment.results.load import document_in, qrels_in
from ..experiment.results.values import Values
from ..measures import parse


@dataclass(frozen=True, slots=True)
class Summary:
    """Who, of what, when; the best by the main measure, all that tie, and their value; the highest grade in use.

    `fingerprint` is the dataset's, `judged` the judgements'; `contenders` counts the systems that rank by themselves.
    """

    name: str
    dataset: str
    made: str
    systems: tuple[str, ...]
    queries: int
    measure: str
    contenders: int
    best: tuple[str, ...]
    value: float
    highest: int
    fingerprint: str
    judged: str

    @property
    def data(self) -> tuple[str, str]:
        """What two experiments must have in common to be compared."""
        return self.judged, self.fingerprint


def summary_in(folder: str) -> Summary:
    """The results in a line, from result.json and the judgements: rankings and texts are read when somebody opens them."""
    values = document_in(folder)
    refuse_changed(folder, values.inside("sha256"), [QRELS])
    systems, about = list(values.each("systems")), values.inside("provenance").plain
    measure = _main(systems[0])
    found = {system.text("name"): _value(system, measure) for system in systems}
    ranking = {name: found[name] for name in _contenders(systems)} or found
    best = tuple(leaders({name: worth(one) for name, one in ranking.items()}))
    qrels = qrels_in(folder)
    return Summary(
        name=values.text("name"),
        dataset=str(about.get("dataset") or ""),
        made=str(about.get("made") or ""),
        systems=tuple(found),
        queries=values.count("queries"),
        measure=measure,
        contenders=len(ranking),
        best=best,
        value=found[best[0]].value,
        highest=highest_grade(qrels),
        fingerprint=values.text("fingerprint"),
        judged=qrels.fingerprint(),
    )


def highest_grade(qrels: Qrels) -> int:
    """The highest grade in use."""
    return max((grade for docs in qrels.values() for grade in docs.values()), default=0)


def _contenders(systems: list[Values]) -> list[str]:
    """The systems that rank by themselves: one that answers leaves the ranking below it as it is."""
    return [one.text("name") for one in systems if one.text("kind") != "answer" or one.text_or_none("over") is None]


def _main(system: Values) -> str:
    """The first measure that is a share of 1, or the first of all."""
    names = list(system.inside("measures").plain)
    return next((name for name in names if parse(name).is_share), names[0])


def _value(system: Values, measure: str) -> MeasureResult:
    """What all queries come to; 0 where there is none, which is written as null."""
    value = system.inside("measures").inside(measure).number_or_none("value")
    return MeasureResult(parse(measure), value or 0.0, (), np.zeros(0))
