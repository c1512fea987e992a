"""Rankings that know the judgements: the best order of a system's own pool, and the best order of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...data.arrays import FloatArray
from ...data.run import Run
from ...measures import parse
from ...measures.gain import NAMED, Gain, gains
from ..evidence import Evidence
from ..listings import listings
from ..measured import measured


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that a measure can reach: by each system's own documents, and by all judged ones."""

    pools: Mapping[str, float]
    oracle: float


def ceilings(evidence: Evidence, measures: Sequence[str]) -> dict[str, Ceiling]:
    """The ceiling of each measure; the rankings are put in order once for all measures that agree what is best."""
    found: dict[str, Ceiling] = {}
    for gain in dict.fromkeys(map(_gain, measures)):
        names = [name for name in measures if _gain(name) == gain]
        pools = measured(evidence, names, {system: reordered(evidence, system, gain) for system in evidence.systems})
        (best,) = measured(evidence, names, {"oracle": oracle(evidence, gain)}).values()
        found |= {name: Ceiling({system: each[name].value for system, each in pools.items()}, best[name].value) for name in names}
    return {name: found[name] for name in measures}


def _gain(measure: str) -> Gain:
    """What orders the best list: grades, or gains by hand where the measure has some."""
    gain: Gain = parse(measure).parameters().get("gain", "linear")
    return "linear" if gain in NAMED else gain


def reordered(evidence: Evidence, system: str, gain: Gain = "linear") -> Run:
    """The documents that the system retrieved, in the best order; those worth nothing keep theirs behind."""
    pool = {query: listing.docs for query, listing in listings(evidence, system).items()}
    return _best_order(evidence, pool, system, gain)


def oracle(evidence: Evidence, gain: Gain = "linear") -> Run:
    """Every judged document in the best order."""
    everything = {query: tuple(evidence.qrels[query]) for query in evidence.result.queries}
    return _best_order(evidence, everything, "oracle", gain)


def _best_order(evidence: Evidence, pool: Mapping[str, Sequence[str]], name: str, gain: Gain) -> Run:
    rankings = (_ranking(docs, evidence.qrels.get(query, {}), gain) for query, docs in pool.items())
    return Run.of_rankings(name, list(pool), rankings)


def _ranking(docs: Sequence[str], grades: Mapping[str, int], gain: Gain) -> tuple[list[str], FloatArray]:
    """The documents in the best order, and scores that fall by one from rank to rank."""
    worth = gains(np.array([grades.get(doc, 0) for doc in docs], dtype=np.int64), gain)
    order = np.argsort(-worth, kind="stable").tolist()
    return [docs[at] for at in order], -np.arange(len(order), dtype=np.float64)
