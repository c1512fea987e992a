"""A measure as a sum over documents: what each one adds, and what the sum is divided by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..align.hits import Hits, Judged
from ..data.arrays import FloatArray, IntArray
from .found import ratio, summed


@dataclass(frozen=True, eq=False, slots=True)
class Parts:
    """The hits that count, by their places in `hits`, in the order in which they are added.

    A term is what is added: the gain, lessened by the discount (a factor). A query's value is scale x its sum of terms / its
    whole, 0 where the whole is 0.
    """

    hits: Hits
    at: IntArray
    gain: FloatArray
    discount: FloatArray
    terms: FloatArray
    whole: FloatArray | IntArray
    scale: float = 1.0

    def values(self) -> FloatArray:
        """The measure's value for each query."""
        sums = summed(self.hits.owners[self.at], self.terms, len(self.hits.queries))
        return np.asarray(self.scale * ratio(sums, self.whole))


@dataclass(frozen=True, eq=False, slots=True)
class Ideal:
    """The best list that the judgements allow: whose each entry is, its rank, and where it stands among the judged grades."""

    judged: Judged
    owners: IntArray
    ranks: IntArray
    at: IntArray
    gain: FloatArray
    terms: FloatArray

    def sums(self) -> FloatArray:
        """The sum of each query's terms."""
        return summed(self.owners, self.terms, len(self.judged.queries))


def alike(hits: Hits, at: IntArray, whole: FloatArray | IntArray, worth: float = 1.0) -> Parts:
    """Parts of documents that each add the same, at whatever rank."""
    ones = np.ones(len(at))
    each = ones if worth == 1 else worth * ones
    return Parts(hits, at, gain=each, discount=ones, terms=each, whole=whole)
