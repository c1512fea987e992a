"""How far a judge of claims can be trusted: its agreement with people, and how much its verdicts vary."""

from __future__ import annotations

from dataclasses import dataclass

from rankproof._data.claims import ClaimTable


@dataclass(frozen=True, slots=True)
class Calibration:
    """The agreement of a judge with people on one table of claims.

    `labels` are the labels that were compared, of so many `queries`. A value is None where it is not defined; intervals are 95%.
    """

    judge: str
    table: ClaimTable
    labels: int
    queries: int
    auc: float | None = None
    auc_interval: tuple[float, ...] | None = None
    kappa: float | None = None
    kappa_interval: tuple[float, ...] | None = None
    people_kappa: float | None = None
    people_kappa_interval: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class JudgeNoise:
    """How much the values of a measure vary when the judge is asked again.

    `deviation` is the standard deviation of a question's value over the repeats, pooled over questions and systems. `flips` is
    the share of claims whose credit changes between two repeats, `reversed_flips` between the usual and the reversed order; None
    where no claim was compared.
    """

    judge: str
    measure: str
    queries: int
    repeats: int
    deviation: float | None
    flips: float | None
    reversed_flips: float | None = None
