"""Normalisations of scores to a common scale, per query and ranking.

A new one is one function here. Values do not depend on a common factor, so scores are first divided by a power of two where a sum
or difference could overflow. Sums are exact, so that every machine gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray, IntArray, repeat_each
from rankproof._fusion.kernels import exact_sums
from rankproof._registry import RecordTable, Setting, own_parameters

_Item = TypeVar("_Item", bound=np.generic)


@dataclass(frozen=True, eq=False)
class ScoreLists:
    """The scores of many rankings, one after the other; `lengths` has the length of each, `candidates` the documents to fuse.

    Scores are best first in a fusion, and in the order of the documents in a reranking.
    """

    values: FloatArray
    lengths: IntArray
    candidates: IntArray

    @classmethod
    def of_ranking(cls, values: FloatArray) -> ScoreLists:
        """The scores of one ranking."""
        length = np.full(1, len(values), dtype=np.int64)
        return cls(values, length, length)

    def repeated(self, per_list: NDArray[_Item]) -> NDArray[_Item]:
        """A value for each score, from one for each ranking."""
        return repeat_each(per_list, self.lengths)

    def highest(self) -> FloatArray:
        """The highest score of each ranking; 0 if it is empty."""
        return self._reduced(np.maximum)

    def lowest(self) -> FloatArray:
        """The lowest score of each ranking; 0 if it is empty."""
        return self._reduced(np.minimum)

    def _reduced(self, function: np.ufunc) -> FloatArray:
        per_list = np.zeros(len(self.lengths))
        full = self.lengths > 0
        if full.any():
            per_list[full] = function.reduceat(self.values, self._bounds[:-1][full].astype(np.intp))
        return per_list

    def means(self) -> FloatArray:
        """The mean of each ranking, from an exact sum; 0 if it is empty."""
        return self.totals() / np.maximum(self.lengths, 1)

    def totals(self) -> FloatArray:
        """The exact sum of each ranking."""
        return exact_sums(self.values, self._bounds)

    @cached_property
    def _bounds(self) -> IntArray:
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.lengths, dtype=np.int64)])

    def ranks(self) -> IntArray:
        """The rank of each score in its ranking, from 1; equal scores keep their order."""
        positions = np.arange(1, len(self.values) + 1)
        starts = self.repeated(self._bounds[:-1])
        if is_sorted(self.values, self._bounds, np.less_equal):
            return positions - starts
        ranks = np.empty(len(self.values), dtype=np.int64)
        ranks[np.lexsort((-self.values, starts))] = positions
        return ranks - starts

    def changed(self, values: FloatArray) -> ScoreLists:
        """The same rankings with other scores."""
        return ScoreLists(values, self.lengths, self.candidates)

    def scaled(self) -> ScoreLists:
        """The scores times a power of two, with the largest magnitude of each ranking between a quarter and a half."""
        _, exponents = np.frexp(np.maximum(np.abs(self.highest()), np.abs(self.lowest())))
        return self.changed(np.ldexp(self.values, self.repeated(-exponents - 1)))


def is_sorted(values: FloatArray, bounds: IntArray, follows: np.ufunc = np.less) -> bool:
    """Whether each value `follows` the one before it in its list; list i is bounds[i] to bounds[i + 1]."""
    falls = np.ones(len(values) + 1, dtype=np.bool_)
    falls[1:-1] = follows(values[1:], values[:-1])
    falls[bounds] = True
    return bool(falls.all())


Normalise = Callable[..., FloatArray]
"""From the scores of many rankings to their normalised scores."""
Missing = Callable[[IntArray, IntArray], FloatArray]
"""From the lengths of rankings and their numbers of candidates to the score of a candidate that a ranking lacks."""


@dataclass(frozen=True, slots=True)
class Normalisation:
    """A normalisation of scores; `formula` is its definition, `missing` what a candidate gets that a ranking lacks.

    `parameters` are the keyword arguments of `normalise`.
    """

    name: str
    summary: str
    formula: str
    normalise: Normalise
    missing: Missing | None = None
    parameters: tuple[Setting, ...] = ()


RESERVED_NAMES = frozenset(
    (
        *("method", "norm", "weights", "k", "gamma", "sigma", "phi", "alpha", "segments", "window", "fitted", "parameters"),
        *("runs", "order", "lower_is_better", "on_duplicate", "depth", "name", "query", "doc", "score"),
        *("stage", "stages", "of", "hidden", "cost", "by", "top", "weight"),
        *(
            "train",
            "tag",
            "output",
            "format",
            "run_format",
            "delimiter",
            "encoding",
            "help",
            "help_all",
            "verbose",
            "quiet",
            "notes",
        ),
    )
)
"""Names that mean something else where a fusion is described: in Python, in experiment files, on the command line."""
NORMALISATIONS: RecordTable[Normalisation] = RecordTable("normalisation", "rankproof.normalisations", __name__)


def normalisation(
    name: str, summary: str, *, formula: str = "", missing: Missing | None = None
) -> Callable[[Normalise], Normalise]:
    """Registers a function of scores as a normalisation; its keyword arguments are its parameters."""

    def register(normalise: Normalise) -> Normalise:
        own = own_parameters(normalise, name, RESERVED_NAMES)
        NORMALISATIONS.add(Normalisation(name, summary, formula, normalise, missing, own), normalise.__module__)
        return normalise

    return register


@normalisation("min-max", "lowest 0, highest 1; all 1 where all are equal", formula="(s - min) / (max - min)")
def min_max(scores: ScoreLists) -> FloatArray:
    """Scores from 0 (lowest) to 1 (highest); 1 where all are equal."""
    scaled = scores.scaled()
    lowest = scaled.lowest()
    width = scaled.highest() - lowest
    constant = width == 0
    shares: FloatArray = (scaled.values - scores.repeated(lowest)) / scores.repeated(np.where(constant, 1.0, width))
    return np.where(scores.repeated(constant), 1.0, shares)


@normalisation("max", "highest 1; divided by the largest magnitude where no score is above 0", formula="s / max")
def by_maximum(scores: ScoreLists) -> FloatArray:
    """Scores divided by the highest, or by the largest magnitude where none is above 0."""
    highest = scores.highest()
    divisor = np.where(highest > 0, highest, -scores.lowest())
    with np.errstate(over="ignore"):
        shares: FloatArray = scores.values / scores.repeated(np.where(divisor == 0, 1.0, divisor))
        return shares


@normalisation("sum", "lowest 0, all add up to 1; all 1 / n where all are equal", formula="(s - min) / (sum of (s - min) of all)")
def by_sum(scores: ScoreLists) -> FloatArray:
    """Scores minus the lowest, divided by their sum; 1 / n where all are equal."""
    scaled = scores.scaled()
    shifted = scaled.changed(scaled.values - scores.repeated(scaled.lowest()))
    totals = shifted.totals()
    constant = totals == 0
    share = scores.repeated(1.0 / np.maximum(scores.lengths, 1))
    return np.where(scores.repeated(constant), share, shifted.values / scores.repeated(np.where(constant, 1.0, totals)))


@normalisation(
    "z-score",
    "distance from the mean in standard deviations; all 0 where all are equal",
    formula="(s - mean) / standard deviation of all n",
)
def z_score(scores: ScoreLists) -> FloatArray:
    """The distance from the mean in population standard deviations; 0 where all are equal."""
    scaled = scores.scaled()
    constant = scaled.highest() == scaled.lowest()
    centred = scaled.changed(scaled.values - scores.repeated(scaled.means())).scaled()
    deviation = np.sqrt(scores.changed(centred.values * centred.values).means())
    return np.where(scores.repeated(constant), 0.0, centred.values / scores.repeated(np.where(constant, 1.0, deviation)))


@normalisation(
    "dbsf",
    "0 at 3 standard deviations below the mean, 1 at 3 above it, not clipped; all 1/2 where all are equal",
    formula="(s - (mean - 3 sd)) / (6 sd), sd = sample standard deviation (n - 1)",
)
def by_distribution(scores: ScoreLists) -> FloatArray:
    """The distribution-based normalisation of Qdrant; 1/2 where all are equal."""
    sample = np.sqrt(np.maximum(scores.lengths - 1, 0) / np.maximum(scores.lengths, 1))
    values: FloatArray = 0.5 + z_score(scores) * scores.repeated(sample) / 6
    return values


@normalisation("rank", "1 at rank 1, falling by 1 / n a rank", formula="1 - (rank - 1) / n, n = length of the ranking")
def by_rank(scores: ScoreLists) -> FloatArray:
    """1 at rank 1, falling by 1 / n a rank."""
    values: FloatArray = 1.0 - (scores.ranks() - 1) / scores.repeated(scores.lengths)
    return values


def _missing_borda(lengths: IntArray, candidates: IntArray) -> FloatArray:
    """The mean of the values of the ranks below the ranking, as in Borda counts."""
    share: FloatArray = 0.5 - (lengths - 1) / (2 * np.maximum(candidates, 1))
    return share


@normalisation(
    "borda",
    "1 at rank 1, falling by 1 / c a rank, c = candidates of the query; a missing document shares what is left",
    formula="1 - (rank - 1) / c; 1/2 - (n - 1) / 2c for a missing document",
    missing=_missing_borda,
)
def by_borda(scores: ScoreLists) -> FloatArray:
    """1 at rank 1, falling by 1 / c a rank, where c is the number of candidates."""
    values: FloatArray = 1.0 - (scores.ranks() - 1) / scores.repeated(scores.candidates)
    return values


@normalisation("none", "unchanged scores", formula="s")
def unchanged(scores: ScoreLists) -> FloatArray:
    """The unchanged scores."""
    return scores.values
