"""Methods that add a number that falls with the rank."""

from __future__ import annotations

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.method import Contributions, FusionSettings, fusion_method


def _all_ranks(table: CandidateTable) -> FloatArray:
    return np.arange(1, table.depth + 1, dtype=np.float64)


@fusion_method(
    "rrf",
    "adds 1 / (k + rank)",
    uses=("k", "weights"),
    by_rank=True,
    formula="Σ w / (k + rank)",
    source="Cormack et al. 2009",
)
def reciprocal_rank(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """Reciprocal rank fusion."""
    return table.by_rank(1.0 / (settings.k + _all_ranks(table)))


def _times_found(contributions: Contributions) -> FloatArray:
    return contributions.total() * contributions.table.run_counts


@fusion_method(
    "isr",
    "adds 1 / rank² and multiplies the sum by the number of runs with the document",
    uses=("weights",),
    by_rank=True,
    formula="n Σ w / rank², n = runs with the document",
    source="Mourão et al. 2015",
    combine=_times_found,
    combined="multiplied by the number of runs with the document",
)
def inverse_square_rank(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """Inverse square rank."""
    return table.by_rank(1.0 / np.square(_all_ranks(table)))


def _times_log(contributions: Contributions) -> FloatArray:
    return contributions.total() * np.log(contributions.table.run_counts)


@fusion_method(
    "log-isr",
    "adds 1 / rank² and multiplies the sum by the logarithm of the number of runs with the document",
    uses=("weights",),
    by_rank=True,
    formula="ln(n) Σ w / rank², n = runs with the document",
    source="Mourão et al. 2015",
    aliases=("log_isr",),
    combine=_times_log,
    combined="multiplied by the logarithm of the number of runs with the document",
)
def log_inverse_square_rank(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """Logarithmic inverse square rank."""
    return inverse_square_rank(table, settings)


def _times_shifted_log(contributions: Contributions) -> FloatArray:
    scores: FloatArray = contributions.total() * np.log(contributions.table.run_counts + contributions.settings.sigma)
    return scores


@fusion_method(
    "logn-isr",
    "as log-isr, with sigma added to the number of runs, so that a document of one run counts",
    uses=("sigma", "weights"),
    by_rank=True,
    formula="ln(n + sigma) Σ w / rank², n = runs with the document",
    source="Mourão et al. 2015",
    aliases=("logn_isr",),
    combine=_times_shifted_log,
    combined="multiplied by the logarithm of sigma plus the number of runs with the document",
)
def shifted_log_inverse_square_rank(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """Logarithmic inverse square rank with sigma."""
    return inverse_square_rank(table, settings)


@fusion_method(
    "rbc",
    "adds (1 - phi) phi^(rank - 1), the weights of rank-biased precision",
    uses=("phi", "weights"),
    by_rank=True,
    formula="Σ w (1 - phi) phi^(rank - 1)",
    source="Bailey et al. 2017",
)
def rank_biased_centroids(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """Rank-biased centroids."""
    return table.by_rank((1.0 - settings.phi) * settings.phi ** (_all_ranks(table) - 1.0))
