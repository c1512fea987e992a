"""Means of systems from people's values of some questions and a judge's values of all (prediction-powered inference).

The judge has one weight for all systems, tuned on the differences between systems (PPI++, Angelopoulos et al. 2023). A judge that
does not follow people gets the weight 0, so it can never make a decision worse than the labels alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._statistics.decision_rule import PairEstimates, further_query, group_means, standard_errors
from rankproof._statistics.distributions import student_above, student_quantile

MIN_LABELLED = 30
"""Labelled questions that a decision needs."""
MIN_FOR_INTERVAL = 10
"""Labelled questions from which on intervals are shown."""
FURTHER_DIFFERENCE = 0.25
"""The interval counts one further labelled question on which two systems differ by this share of the measure's range."""
LABEL_COUNTS = (40, 50, 60, 80, 100, 130, 160, 200, 250, 300, 400, 500, 700)
"""Numbers of labelled questions that are tried: few, as an estimate needs no more digits."""
ENOUGH_CHANCE = 0.8
MIN_CLAIM_LABELS = 100
"""Labelled claims that a decision needs if single claims are drawn: with 50 the intervals are too narrow."""
_NO_VARIANCE = 1e-15


@dataclass(frozen=True, eq=False, slots=True)
class LabelledMeans:
    """The means of systems, the judge's weight in them, and the covariance of their errors by labels and by the judge's values.

    `residuals` has the rows of people's values less the weighted judge's, `people` those of people alone, both around their mean;
    `human` has people's values with their `weights`, `fitted` is 1 if a weight was fitted, which takes a degree of freedom.
    `labelled` and `unlabelled` are the numbers of labelled and other questions, the effective ones of weighted questions. If
    questions are in groups, the rows are of groups, `labelled` is the effective number of labelled groups, and the residuals have
    the judge's part too.
    """

    means: FloatArray
    weight: float
    residuals: FloatArray
    judge_covariance: FloatArray
    human: FloatArray
    people: FloatArray
    weights: FloatArray | None
    labelled: float
    unlabelled: float

    @property
    def fitted(self) -> int:
        """The degrees of freedom that the judge's weight takes."""
        return int(self.weight > 0)

    def covariance(self, further: float) -> FloatArray:
        """The covariance of the means, with a further labelled question of squared difference `further`."""
        return self._label_covariance(further) + self.judge_covariance

    def _label_covariance(self, further: float) -> FloatArray:
        systems = self.residuals.shape[1]
        products = self.residuals.T @ self.residuals
        scaled: FloatArray = (products + np.eye(systems) * further / 2) / (self.labelled * (self.labelled - 1 - self.fitted))
        return scaled

    def freedom(self, further: float) -> float:
        """The degrees of freedom of differences (Satterthwaite 1946)."""
        by_labels, by_judge = contrast_trace(self._label_covariance(further)), contrast_trace(self.judge_covariance)
        most = self.labelled - 1 - self.fitted
        if by_labels + by_judge <= 0:
            return float(most)
        split = by_labels**2 / most + (by_judge**2 / (self.unlabelled - 1) if by_judge > 0 else 0.0)
        return float((by_labels + by_judge) ** 2 / split)

    def pairs(self) -> PairEstimates:
        """The differences of all pairs, with the further query of the decision."""
        further = further_query(self.human, self.weights)
        size, freedom = self.labelled, self.labelled - 1 - self.fitted
        systems = len(self.means)
        variances = np.zeros((systems, systems))
        for at in range(systems):
            apart = self.residuals - self.residuals[:, at : at + 1]
            squares = (apart * apart).sum(axis=0)
            variances[at] = (squares + np.maximum(squares / size, further)) / (size * freedom)
        own = np.diag(self.judge_covariance)
        variances += own[:, None] + own - 2 * self.judge_covariance
        return PairEstimates(self.means[:, None] - self.means, standard_errors(variances), self.freedom(0.0), size)

    def interval_floor(self, spread: float = 1.0) -> float:
        """The squared difference of a further labelled question for intervals; `spread` is the range of the measure.

        The further query of the decision is larger if values are yes or no: on few labels, such systems often differ nowhere.
        """
        return max((FURTHER_DIFFERENCE * spread) ** 2, further_query(self.human, self.weights))

    def difference_interval(self, first: int, second: int, further: float) -> tuple[float, float]:
        """The 95% interval of a difference, with a further labelled question of squared difference `further`."""
        covariance = self.covariance(further)
        error = math.sqrt(covariance[first, first] + covariance[second, second] - 2 * covariance[first, second])
        middle = float(self.means[first] - self.means[second])
        half = student_quantile(0.975, self.freedom(further)) * error
        return middle - half, middle + half

    @property
    def worth(self) -> float:
        """How many further labelled questions the judge is worth."""
        alone = contrast_trace(self.people.T @ self.people) / (self.labelled * (self.labelled - 1))
        both = contrast_trace(self.covariance(0.0))
        return max(0.0, self.labelled * (alone / both - 1)) if both > 0 else 0.0

    def label_share(self, first: int, second: int) -> float:
        """The share of labels in the variance of a difference; the judge's values of other questions have the rest."""
        by_labels, by_judge = (
            float(part[first, first] + part[second, second] - 2 * part[first, second])
            for part in (self._label_covariance(0.0), self.judge_covariance)
        )
        return by_labels / (by_labels + by_judge) if by_judge > 0 else 1.0


def contrast_trace(covariance: FloatArray) -> float:
    """The part of a covariance that differences between systems have; of one system its variance."""
    if len(covariance) == 1:
        return float(covariance[0, 0])
    return float(np.trace(covariance) - covariance.sum() / len(covariance))


def labelled_means(
    human: FloatArray,
    judged: FloatArray,
    unlabelled: FloatArray,
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
) -> LabelledMeans:
    """The means over all questions, from people's values of labelled ones and the judge's of the same and of other questions.

    Rows are questions and columns systems; the labelled questions are a random sample of all. `weights` are those of the labelled
    questions, then of the others, and so are `groups`: questions of one group, such as the turns of a conversation, may depend on
    each other.
    """
    if groups is not None:
        return _means_of_groups(human, judged, unlabelled, weights, groups)
    labelled = len(human)
    own = np.ones(labelled) if weights is None else weights[:labelled]
    rest = np.ones(len(unlabelled)) if weights is None else weights[labelled:]
    people, same, other = _centred(human, own), _centred(judged, own), _centred(unlabelled, rest)
    weight = _weight(people, same, other)
    means = people.mean if weight == 0 else people.mean + weight * (other.mean - same.mean)
    covariance = other.covariance() * weight**2 if weight else np.zeros((human.shape[1], human.shape[1]))
    residuals = people.rows - weight * same.rows if weight else people.rows
    own_weights = None if weights is None else own
    return LabelledMeans(means, weight, residuals, covariance, human, people.rows, own_weights, people.size, other.size)


def _means_of_groups(
    human: FloatArray, judged: FloatArray, unlabelled: FloatArray, weights: FloatArray | None, groups: IntArray
) -> LabelledMeans:
    """The same means, with errors by sums over groups of what each question adds to them.

    A group may have labelled and other questions, so both parts are in one sum. The labelled groups are the sample.
    """
    labelled = len(human)
    every = np.ones(labelled + len(unlabelled)) if weights is None else weights
    own, rest = every[:labelled] / every[:labelled].sum(), every[labelled:] / max(every[labelled:].sum(), _NO_VARIANCE)
    people, same, other = own @ human, own @ judged, rest @ unlabelled
    by_people = group_sums((human - people) * own[:, None], groups[:labelled], groups)
    by_judge = group_sums(np.concatenate([-(judged - same) * own[:, None], (unlabelled - other) * rest[:, None]]), groups, groups)
    several = human.shape[1] > 1
    first, second = (_contrasts(part) if several else part for part in (by_people, by_judge))
    spread = float((second * second).sum()) if len(unlabelled) > 1 else 0.0
    weight = min(1.0, max(0.0, -float((first * second).sum()) / spread)) if spread > _NO_VARIANCE else 0.0
    values, sizes = group_means(human, every[:labelled], groups[:labelled])
    size = float(sizes.sum()) ** 2 / float((sizes * sizes).sum())
    return LabelledMeans(
        people + weight * (other - same) if weight else people,
        weight,
        (by_people + weight * by_judge) * size,
        np.zeros((human.shape[1],) * 2),
        values,
        by_people * size,
        sizes,
        size,
        float(len(unlabelled)),
    )


def group_sums(rows: FloatArray, groups: IntArray, every: IntArray) -> FloatArray:
    """The sum of the rows of each of all groups."""
    known = np.unique(every)
    sums = np.zeros((len(known), rows.shape[1]))
    np.add.at(sums, np.searchsorted(known, groups), rows)
    return sums


@dataclass(frozen=True, eq=False, slots=True)
class _Centred:
    """Rows around their weighted mean, scaled so that their squares add up to the variance of the mean times size (size - 1)."""

    mean: FloatArray
    rows: FloatArray
    size: float

    def covariance(self) -> FloatArray:
        covariance: FloatArray = self.rows.T @ self.rows / (self.size * (self.size - 1))
        return covariance


def _centred(values: FloatArray, weights: FloatArray) -> _Centred:
    if not len(values):
        return _Centred(np.zeros(values.shape[1]), values, 0.0)
    total = float(weights.sum())
    mean = (weights[:, None] * values).sum(axis=0) / total
    size = total**2 / float((weights * weights).sum())
    return _Centred(mean, (values - mean) * (weights * size / total)[:, None], size)


def _weight(people: _Centred, same: _Centred, other: _Centred) -> float:
    """The judge's weight with the smallest variance of the differences, from 0 to 1."""
    if other.size < 2:
        return 0.0
    several = people.rows.shape[1] > 1
    first, second, third = (_contrasts(part.rows) if several else part.rows for part in (people, same, other))
    pairs, others = people.size * (people.size - 1), other.size * (other.size - 1)
    spread = float((second * second).sum()) / pairs + float((third * third).sum()) / others
    if spread < _NO_VARIANCE:
        return 0.0
    return min(1.0, max(0.0, float((first * second).sum()) / pairs / spread))


def _contrasts(rows: FloatArray) -> FloatArray:
    contrasts: FloatArray = rows - rows.mean(axis=1, keepdims=True)
    return contrasts


def chance_to_decide(
    difference: float,
    label_variance: float,
    judge_variance: float,
    labelled: float,
    more: int,
    margin: float,
    limit: float,
    freedom: float,
) -> float:
    """The chance that so many labelled questions decide between the leader and its closest rival.

    `label_variance` is that of one labelled question, `judge_variance` that of the judge's mean. The decision needs the
    difference plus the margin to be that many standard errors above 0 that `limit` allows.
    """
    needed = student_quantile(1 - limit, more - 2) * math.sqrt(label_variance / more + judge_variance) - margin
    spread = math.sqrt(label_variance * (more - labelled) / (more * labelled))
    if needed <= 0:
        return 1.0
    if spread == 0:
        return float(abs(difference) >= needed)
    upper = student_above((needed - difference) / spread, freedom)
    lower = 1 - student_above((-needed - difference) / spread, freedom)
    return upper + lower


def labels_needed(means: LabelledMeans, pairs: PairEstimates, first: int, rival: int, margin: float, limit: float) -> int | None:
    """The fewest labelled questions that decide between a leader and its closest rival with a chance of 80%; None if none do."""
    covariance = means.judge_covariance
    judge = float(covariance[first, first] + covariance[rival, rival] - 2 * covariance[first, rival])
    labelled, freedom = means.labelled, float(np.asarray(pairs.freedom))
    spread = max(0.0, float(pairs.errors[first, rival]) ** 2 - judge) * labelled
    difference = float(pairs.differences[first, rival])
    for count in LABEL_COUNTS:
        if count > labelled and (
            chance_to_decide(difference, spread, judge, labelled, count, margin, limit, freedom) >= ENOUGH_CHANCE
        ):
            return count
    return None


@dataclass(frozen=True, eq=False, slots=True)
class ClaimSample:
    """All claims as columns: the row of their question, their system, their share of the value, and the judge's credit.

    `human` has the labels, NaN for claims without one. `known` has by question and system the values that no claim gives, else 0.
    """

    questions: IntArray
    systems: IntArray
    shares: FloatArray
    judge: FloatArray
    human: FloatArray
    known: FloatArray

    @property
    def labelled_questions(self) -> int:
        """The questions with a labelled claim."""
        return len(np.unique(self.questions[~np.isnan(self.human)]))

    @property
    def is_every_system_labelled(self) -> bool:
        """Whether each system has a labelled claim."""
        return len(np.unique(self.systems[~np.isnan(self.human)])) == len(np.unique(self.systems))

    def values(self, weight: float) -> FloatArray:
        """The values by question and system for this weight of the judge."""
        labelled = ~np.isnan(self.human)
        residuals = np.where(labelled, self.human, 0.0) - weight * self.judge
        size = self.known.shape[1]
        sums = np.bincount(self.systems[labelled], (self.shares * residuals)[labelled], size)
        totals = np.bincount(self.systems[labelled], self.shares[labelled], size)
        usual = np.divide(sums, totals, out=np.zeros(size), where=totals > 0)[self.systems]
        corrected = weight * self.judge + usual + np.where(labelled, residuals - usual, 0.0) / labelled.mean()
        values = self.known.copy()
        np.add.at(values, (self.questions, self.systems), self.shares * corrected)
        return values


def claim_sample_means(sample: ClaimSample, groups: IntArray | None = None) -> tuple[FloatArray, LabelledMeans]:
    """The values by question and system with the best weight of the judge, and their means with the errors of a decision.

    The labelled questions count as the size of the sample, as claims of one question depend on each other; if questions have
    `groups`, such as conversations, the labelled groups do.
    """
    weight = _claim_weight(sample)
    values = sample.values(weight)
    questions, labelled = len(values), sample.labelled_questions
    centred = _around_means(values)
    # The covariance of the means is that of the values over all questions times L/(L - 1 - f) for L labelled questions.
    scale = labelled / math.sqrt(questions * (questions - 1))
    alone = sample.values(0.0)
    people, human = _around_means(alone), values
    if groups is not None:
        labelled = len(np.unique(groups[sample.questions[~np.isnan(sample.human)]]))
        scale = labelled / questions
        centred, people, human = (group_sums(rows, groups, groups) for rows in (centred, people, human))
    none = np.zeros((values.shape[1],) * 2)
    means = LabelledMeans(
        values.mean(axis=0),
        weight,
        centred * scale,
        none,
        human * labelled / questions,
        people * scale,
        None,
        float(labelled),
        0.0,
    )
    return values, means


def _claim_weight(sample: ClaimSample) -> float:
    """The judge's weight with the smallest variance of the differences between systems, from 0 to 1."""
    alone = _contrasts(_around_means(sample.values(0.0)))
    slope = _contrasts(_around_means(sample.values(1.0))) - alone
    spread = float((slope * slope).sum())
    return min(1.0, max(0.0, -float((alone * slope).sum()) / spread)) if spread > _NO_VARIANCE else 0.0


def _around_means(values: FloatArray) -> FloatArray:
    centred: FloatArray = values - values.mean(axis=0)
    return centred
