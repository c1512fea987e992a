"""infAP: average precision estimated from a pool of which a sample was judged."""

from __future__ import annotations

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import Binary
from .before import before
from .found import found, ratio

_EPSILON = 1e-5


class InferredAP(Binary):
    """Average precision inferred from judged documents; a grade below 0 is in the pool but not judged."""

    name = "infAP"
    title = "Inferred average precision"
    definition = (
        "Mean over relevant documents at rank k of 1/k + m/k * (r + e)/(r + n + 2e), with m in the pool above,"
        " r of them relevant, n judged non-relevant, and e = 0.00001."
    )
    source = "Yilmaz and Aslam 2006; trec_eval infAP"

    def values(self, hits: Hits) -> FloatArray:
        those, above = found(hits, self.least), before(hits, self.least)
        relevant = those.nth - 1
        share = (relevant + _EPSILON) / (relevant + above.nonrelevant + 2 * _EPSILON)
        return ratio(those.summed((1.0 + above.pooled * share) / those.ranks), those.total)


infAP = InferredAP()  # noqa: N816
