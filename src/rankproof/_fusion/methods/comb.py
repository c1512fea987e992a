"""Methods that combine normalised scores."""

from __future__ import annotations

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._fusion.candidates import CandidateTable, NormalisedScores
from rankproof._fusion.kernels import column_sums
from rankproof._fusion.method import Contributions, FusionSettings, fusion_method


def _normalised(contributions: Contributions) -> NormalisedScores:
    return contributions.settings.normalised(contributions.table)


@fusion_method(
    "combsum",
    "adds normalised scores",
    uses=("norm", "weights"),
    formula="Σ w s",
    source="Fox and Shaw 1994",
    aliases=("sum", "wsum"),
)
def comb_sum(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """CombSUM."""
    return settings.normalised(table).values


@fusion_method(
    "dbsf",
    "adds scores normalised by their distribution: combsum with the normalisation dbsf",
    uses=("weights",),
    formula="Σ w (s - (mean - 3 sd)) / (6 sd)",
    source="Qdrant 2024",
)
def distribution_based(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """Distribution-based score fusion."""
    return table.normalised("dbsf").values


def _times_found(contributions: Contributions) -> FloatArray:
    return contributions.total() * _normalised(contributions).run_counts


@fusion_method(
    "combmnz",
    "adds normalised scores and multiplies the sum by the number of runs with the document",
    uses=("norm", "weights"),
    formula="n Σ w s, n = runs with the document",
    source="Fox and Shaw 1994",
    aliases=("mnz",),
    combine=_times_found,
    combined="multiplied by the number of runs with the document",
)
def comb_mnz(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """CombMNZ."""
    return comb_sum(table, settings)


def _mean(contributions: Contributions) -> FloatArray:
    return contributions.total() / np.maximum(_normalised(contributions).run_counts, 1)


@fusion_method(
    "combanz",
    "takes the mean of the normalised scores of the runs with the document",
    uses=("norm", "weights"),
    formula="Σ w s / n, n = runs with the document",
    source="Fox and Shaw 1994",
    aliases=("anz",),
    combine=_mean,
    combined="divided by the number of runs with the document",
)
def comb_anz(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """CombANZ."""
    return comb_sum(table, settings)


def _smallest(contributions: Contributions) -> FloatArray:
    scores: FloatArray = np.min(contributions.points, axis=0, where=_normalised(contributions).present, initial=np.inf)
    return scores


@fusion_method(
    "combmin",
    "takes the lowest normalised score among the runs with the document",
    uses=("norm",),
    formula="min s",
    source="Fox and Shaw 1994",
    aliases=("min",),
    combine=_smallest,
    combined="of which the lowest counts",
)
def comb_min(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """CombMIN."""
    return comb_sum(table, settings)


def _largest(contributions: Contributions) -> FloatArray:
    scores: FloatArray = np.max(contributions.points, axis=0, where=_normalised(contributions).present, initial=-np.inf)
    return scores


@fusion_method(
    "combmax",
    "takes the highest normalised score",
    uses=("norm",),
    formula="max s",
    source="Fox and Shaw 1994",
    aliases=("max",),
    combine=_largest,
    combined="of which the highest counts",
)
def comb_max(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """CombMAX."""
    return comb_sum(table, settings)


def _median(contributions: Contributions) -> FloatArray:
    scores = _normalised(contributions)
    ordered = np.sort(np.where(scores.present, contributions.points, np.inf), axis=0)
    columns, counts = np.arange(contributions.table.size), scores.run_counts
    low, high = ordered[(counts - 1) // 2, columns], ordered[counts // 2, columns]
    return np.where(low == high, low, low / 2 + high / 2)


@fusion_method(
    "combmed",
    "takes the median of the normalised scores of the runs with the document",
    uses=("norm",),
    formula="median s",
    source="Fox and Shaw 1994",
    aliases=("med",),
    combine=_median,
    combined="of which the median counts",
)
def comb_med(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """CombMED."""
    return comb_sum(table, settings)


def _times_power_of_found(contributions: Contributions) -> FloatArray:
    return contributions.total() * _normalised(contributions).run_counts.astype(np.float64) ** contributions.settings.gamma


@fusion_method(
    "gmnz",
    "adds normalised scores and multiplies the sum by a power of the number of runs with the document",
    uses=("norm", "gamma", "weights"),
    formula="n^gamma Σ w s, n = runs with the document",
    source="Lee 1997",
    combine=_times_power_of_found,
    combined="multiplied by the number of runs with the document to the power of gamma",
)
def comb_gmnz(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """CombGMNZ."""
    return comb_sum(table, settings)


def _times_weights(contributions: Contributions) -> FloatArray:
    held = np.where(_normalised(contributions).present, contributions.weights[:, None], 0.0)
    return column_sums(contributions.points) * column_sums(held)


@fusion_method(
    "wmnz",
    "adds normalised scores and multiplies the sum by the weights of the runs with the document",
    uses=("norm", "weights"),
    formula="(Σ s) × (Σ w of the runs with the document)",
    source="Wu and Crestani 2002",
    combine=_times_weights,
    combined="without weights, multiplied by the sum of the weights of the runs with the document",
)
def weighted_mnz(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """Weighted MNZ."""
    return comb_sum(table, settings)


def _times_root_of_found(contributions: Contributions) -> FloatArray:
    return contributions.total() * np.sqrt(_normalised(contributions).run_counts)


@fusion_method(
    "mixed",
    "adds weighted normalised scores and multiplies the sum by the square root of the number of runs with the document",
    uses=("norm", "weights"),
    formula="√n Σ w s, n = runs with the document",
    source="Wu and Crestani 2002",
    combine=_times_root_of_found,
    combined="multiplied by the square root of the number of runs with the document",
)
def mixed(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """Mixed fusion."""
    return comb_sum(table, settings)


@fusion_method(
    "convex",
    "adds (1 - alpha) x normalised score of the first run and alpha x normalised score of the second",
    uses=("norm", "alpha"),
    formula="(1 - alpha) s₁ + alpha s₂",
    source="Bruch et al. 2023",
    runs=2,
)
def convex(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """The convex combination of two runs, as hybrid search of vector databases has it."""
    return np.array([[1.0 - settings.alpha], [settings.alpha]]) * comb_sum(table, settings)
