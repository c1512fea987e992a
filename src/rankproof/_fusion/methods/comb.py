"""Methods that add normalised scores."""

from __future__ import annotations

from rankproof._data.arrays import FloatArray
from rankproof._fusion.method import FusionSettings, fusion_method


@fusion_method("combsum", "adds normalised scores", uses=("norm", "weights"), source="Fox and Shaw 1994")
def comb_sum(scores: FloatArray, settings: FusionSettings) -> FloatArray:
    """CombSUM."""
    return settings.normalise(scores)


@fusion_method(
    "combmnz",
    "adds normalised scores and multiplies the sum by the number of rankings with the document",
    uses=("norm", "weights"),
    times_found=True,
    source="Fox and Shaw 1994",
)
def comb_mnz(scores: FloatArray, settings: FusionSettings) -> FloatArray:
    """CombMNZ."""
    return settings.normalise(scores)
