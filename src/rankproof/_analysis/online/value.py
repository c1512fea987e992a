"""`value_of_rankings`: the clicks that rankings would have got which users did not see, by the position-based model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankproof._analysis.online.counterfactual import ESTIMATORS, Rounds, effective_sample_size
from rankproof._analysis.online.result import OnlineResult
from rankproof._analysis.online.shown import ShownDocuments, TargetRanking
from rankproof._analysis.online.tables import counts_table
from rankproof._data.arrays import BoolArray, FloatArray
from rankproof._data.table import Column, Table
from rankproof._data.text import example_ids, percent, pluralise
from rankproof._importers.search_log.columns import release_memory
from rankproof._importers.search_log.log import SearchLog
from rankproof._importers.search_log.options import CLICKS
from rankproof._statistics.confidence_sequence import interval_width
from rankproof._statistics.options import USUAL_USERS, Estimator
from rankproof._statistics.position_bias import NO_VARIATION, VARIATION_FIX, PositionBias, RankedClicks, position_bias
from rankproof.errors import InputError, UsageError, for_message

Rankings = Mapping[str, Sequence[str]]
"""The documents of each query, by the text of the query."""
Interval = tuple[float, float]
ValueOutcome = Literal["more", "fewer", "the same", "cannot tell"]
LEAST_SIZE, LEAST_USERS = 100, 100
MODEL_ERROR = 0.02
"""A smaller share of the clicks may be an error of the model: users who read down until they are satisfied cost up to 1%."""
_GROUPS, _MIXED = 20, 2_654_435_761
"""The error of the position bias is that of leaving out each of 20 groups of users, who are mixed by Knuth's multiplier."""
_MOST_NAMED = 8
_COVERED = 0.9995
SHOWN = "lists shown"
"""The name of the baseline if it is not one variant: all lists of the log."""
CLICK_NOTE = (
    "more clicks are not always better: users who stop when satisfied click less on better lists; only lists that users see"
    " tell which one they prefer"
)


@dataclass(frozen=True, slots=True)
class ValueOptions:
    """How clicks become the value of a ranking; the names are those of the arguments of `online`."""

    estimator: Estimator = "ips"
    clip: float = 10.0
    baseline: str | None = None
    clicks: tuple[str, ...] = CLICKS
    expect: int = USUAL_USERS


@dataclass(frozen=True, slots=True)
class RankingValue:
    """Clicks per query that a ranking would have got, and what that rests on.

    `bounds` count documents that were never shown as never and as always clicked; `difference` is the interval of the bounds less
    the clicks of the baseline. `support` is the share of attention on documents that were shown, `size` the effective size.
    """

    name: str
    value: float
    interval: Interval
    bounds: Interval
    difference: Interval
    support: float
    size: float
    sessions: int
    users: int
    baseline: float

    @property
    def obstacle(self) -> str:
        """Why nothing can be told, whatever the interval; empty if nothing is in the way."""
        if self.size < LEAST_SIZE:
            return (
                f"the clicks are worth those on {self.size:,.0f} lists of {for_message(self.name)}, and {LEAST_SIZE} are needed"
            )
        if self.users < LEAST_USERS:
            return f"{pluralise(self.users, 'user')} clicked, and {LEAST_USERS} are needed"
        return ""

    @property
    def outcome(self) -> ValueOutcome:
        """Whether the ranking gets more or fewer clicks than the baseline, if every value between the bounds says so."""
        (low, high), same = self.difference, MODEL_ERROR * self.baseline
        if self.obstacle:
            return "cannot tell"
        if -same < low and high < same:
            return "the same"
        return "more" if low > same else "fewer" if high < -same else "cannot tell"


def value_of_rankings(log: SearchLog, runs: Mapping[str, Rankings], options: ValueOptions) -> OnlineResult:
    """What each ranking would have got, with bounds for documents that were never shown."""
    if not log.queries:
        fix = "name the column of the query with --set query=COLUMN, or log user_query"
        raise InputError("the log has no texts of queries, which rankings are about", fix=fix, source=log.sources[0])
    shown = ShownDocuments.of(log, options.clicks)
    log = shown.log
    release_memory()
    if not len(shown.cell):
        fix = "add the documents of each search: query_response_hit_ids, or a row for each one that was shown"
        raise InputError("the log lists no documents that were shown for a known query", fix=fix, source=log.sources[0])
    if not shown.clicked.any():
        present = ", ".join(for_message(name) or "empty" for name in log.actions[:_MOST_NAMED])
        fix = f"its actions are {present}: name those that are clicks with --click" if present else "add the log of events"
        raise InputError("no event is a click on a document that was shown", fix=fix, source=log.sources[0])
    name, mask = _baseline(log, shown, options.baseline)
    targets = {run: _target(shown, run, rankings) for run, rankings in runs.items()}
    left_out = tuple(_left_out(shown, targets))
    try:
        bias, errors = _position_biases(shown)
    except InputError:
        known = (_clicks_table(shown, mask, name), counts_table(log))
        why = f"Cannot tell: {NO_VARIATION}; {VARIATION_FIX}. Interleave {', '.join(map(for_message, runs))} instead."
        return OnlineResult("value", None, known, (*left_out, *log.notes), answer=(why,))
    values = [_Valuation(shown, target, mask, options).value(run, bias, errors) for run, target in targets.items()]
    notes = (str(bias), CLICK_NOTE, *_about_errors(bias, errors), *left_out, *log.notes)
    facts = {"sessions": len(shown.query), "users": int(shown.user.max()) + 1, "estimator": options.estimator}
    tables = (_value_table(values, name, options), _bias_table(bias), counts_table(log))
    answer = tuple(value_sentence(value, name) for value in values)
    return OnlineResult("value", None, tables, notes, facts, answer)


def _baseline(log: SearchLog, shown: ShownDocuments, name: str | None) -> tuple[str, BoolArray]:
    """The sessions whose clicks the rankings are compared with: those of a variant, or all."""
    if name is None:
        return SHOWN, np.ones(len(shown.query), dtype=bool)
    if name not in log.variants:
        fix = f"name one of them: {', '.join(log.variants)}" if log.variants else "leave out --baseline to compare with all lists"
        raise UsageError(f"no variant is called {for_message(name)}", fix=fix)
    return name, shown.variant == list(log.variants).index(name)


def _target(shown: ShownDocuments, name: str, rankings: Rankings) -> TargetRanking:
    target = shown.target(rankings)
    if not target.ranked[shown.query].any():
        what = f"{for_message(name)} ranks no query of the log: its queries are {example_ids(rankings)}"
        fix = f"use texts of queries, such as {example_ids(shown.log.queries, 1)}, or name the texts of its ids with --dataset"
        raise InputError(what, fix=fix, source=shown.log.sources[0])
    return target


def _left_out(shown: ShownDocuments, targets: Mapping[str, TargetRanking]) -> Iterator[str]:
    for name, target in targets.items():
        missing = int((~target.ranked[shown.query]).sum())
        if missing:
            share = percent(missing / len(shown.query))
            yield f"{pluralise(missing, 'session')} ({share}) of queries that {for_message(name)} does not rank are left out"


def _position_biases(shown: ShownDocuments) -> tuple[PositionBias, list[FloatArray]]:
    """The position bias, and that without each group of users; none of a fitted model, which takes too long."""

    def of(cells: RankedClicks) -> PositionBias:
        return position_bias(cells, shown.query_of_pair[cells.pair])

    bias, others = of(shown.cells), list[FloatArray]()
    if bias.method == "em":
        return bias, others
    group = (shown.user.astype(np.int64) * _MIXED % (1 << 32)) * _GROUPS >> 32
    for number in range(_GROUPS):
        without = group == number
        if without.any() and not without.all():
            examination = of(shown.cells_without(without)).examination
            last = np.full(len(bias.examination) - len(examination), examination[-1])
            others.append(np.concatenate([examination, last]))
    return bias, others


def _about_errors(bias: PositionBias, errors: Sequence[FloatArray]) -> Iterator[str]:
    if bias.method == "em":
        yield "intervals take the position bias as known"
    elif errors:
        yield f"intervals include the error of the position bias, from leaving out each of {len(errors)} groups of users"


class _Valuation:
    """One ranking on the sessions of the queries that it ranks."""

    def __init__(self, shown: ShownDocuments, target: TargetRanking, baseline: BoolArray, options: ValueOptions) -> None:
        self.shown, self.target, self.options = shown, target, options
        self.kept = target.ranked[shown.query]
        self.baseline = baseline & self.kept
        self.user, self.clicks = shown.user[self.kept], shown.clicks[self.kept]

    def value(self, name: str, bias: PositionBias, others: Sequence[FloatArray]) -> RankingValue:
        """The value with its interval and bounds; `others` are further estimates of the position bias, for its error."""
        weights = self._weights(bias.examination)
        options = self.options
        estimate = ESTIMATORS[options.estimator](self._rounds(weights), options.clip)
        low = estimate if options.estimator == "ips" else ESTIMATORS["ips"](self._rounds(weights), options.clip)
        query = self.shown.query[self.kept]
        missing, attention = weights.missing[query], weights.attention[query]
        # Without weights nothing is known of the shown documents, and everything is possible.
        high = low + missing
        users = len(np.unique(self.user[self.clicks > 0]))
        width = interval_width(max(users, 1), self.options.expect)
        base = float(self.clicks[self.baseline[self.kept]].mean()) if self.baseline.any() else math.nan
        spread = [self._means(other) for other in others]
        errors = [_jackknife([means[at] for means in spread]) for at in range(3)]
        mean, bottom, top = (float(values.mean()) for values in (estimate, low, high))
        half = width * math.hypot(self._error(estimate), errors[0])
        below = width * math.hypot(self._error(low, less_baseline=True), errors[1])
        above = width * math.hypot(self._error(high, less_baseline=True), errors[2])
        return RankingValue(
            name,
            mean,
            (max(mean - half, 0.0), mean + half),
            (bottom, top),
            (bottom - base - below, top - base + above),
            1 - float(missing.sum()) / float(attention.sum()),
            len(self.user) * effective_sample_size(self._mean_round(weights)),
            len(self.user),
            users,
            base,
        )

    def _weights(self, examination: FloatArray) -> _CellWeights:
        shown, target, cells = self.shown, self.target, self.shown.cells
        kept = target.ranked[shown.query_of_pair[cells.pair]]
        pairs, looked = len(shown.keys), examination[cells.rank]
        of_pair = np.bincount(cells.pair, cells.shown * looked, minlength=pairs)
        wanted = np.where(target.rank_of_pair >= 0, examination[np.maximum(target.rank_of_pair, 0)], 0.0)
        mean_look = of_pair / np.maximum(shown.traffic[shown.query_of_pair], 1.0)
        weight = np.divide(wanted, mean_look, out=np.zeros(pairs), where=mean_look > 0)
        cumulated = np.concatenate([[0.0], np.cumsum(examination)])
        on_all = cumulated[np.minimum(target.lengths, len(examination))]
        covered = np.bincount(shown.query_of_pair, wanted * (mean_look > 0), minlength=len(on_all))
        missing = np.maximum(on_all - covered, 0.0)
        rate = float(cells.clicked[kept].sum()) / max(float(cells.shown[kept] @ looked[kept]), 1e-12)
        clicks_of_pair = np.bincount(cells.pair, cells.clicked, minlength=pairs)
        attraction = (clicks_of_pair + rate) / (of_pair + 1.0)
        policy = np.bincount(shown.query_of_pair, wanted * (mean_look > 0) * attraction, minlength=len(on_all)) + missing * rate
        share = looked / max(float(on_all[shown.query[self.kept]].mean()), 1e-12)
        return _CellWeights(kept, weight[cells.pair], looked * attraction[cells.pair], share, policy, missing, on_all)

    def _rounds(self, weights: _CellWeights) -> Iterator[Rounds]:
        """The lists shown with their weights, some at a time."""
        for part, rows in self.shown.blocks():
            kept = self.kept[part]
            is_counted = np.repeat(kept, self.shown.lengths[part])
            number = np.repeat(np.cumsum(kept) - 1, self.shown.lengths[part])[is_counted]
            cell, clicked = self.shown.cell[rows][is_counted], self.shown.clicked[rows][is_counted].astype(np.float64)
            policy = weights.policy[self.shown.query[part][kept]]
            yield Rounds(number, clicked, weights.weight[cell], weights.predicted[cell], weights.share[cell], policy)

    def _mean_round(self, weights: _CellWeights) -> Rounds:
        """The mean list as one round, whose items are the cells."""
        cells, kept, sessions = self.shown.cells, weights.kept, len(self.user)
        shown = cells.shown[kept] / sessions
        return Rounds(
            np.zeros(len(shown), dtype=np.intp),
            cells.clicked[kept] / sessions,
            weights.weight[kept],
            shown * weights.predicted[kept],
            shown * weights.share[kept],
            np.array([weights.policy[self.shown.query[self.kept]].mean()]),
        )

    def _means(self, examination: FloatArray) -> tuple[float, float, float]:
        """The estimate and the bounds with another position bias."""
        weights = self._weights(examination)
        mean = self._mean_round(weights)
        estimate, low = (float(ESTIMATORS[name]([mean], self.options.clip)[0]) for name in (self.options.estimator, "ips"))
        return estimate, low, low + float(weights.missing[self.shown.query[self.kept]].mean())

    def _error(self, values: FloatArray, *, less_baseline: bool = False) -> float:
        """The standard error of the mean over sessions, by user; of the difference from the baseline's clicks if asked for."""
        residuals = (values - values.mean()) / len(values)
        base = self.baseline[self.kept]
        if less_baseline and base.any():
            own = self.clicks[base]
            residuals = residuals.copy()
            residuals[base] -= (own - own.mean()) / len(own)
        by_user = np.bincount(self.user, residuals)
        return math.sqrt(float(by_user @ by_user))


@dataclass(frozen=True, eq=False, slots=True)
class _CellWeights:
    """What a position bias gives each cell and each query of a ranking.

    Of each cell: whether the ranking has its query, the weight of a click, the clicks that a model expects, and its share of the
    attention. Of each query: the clicks that the model expects of the ranking, and the attention of the ranking on documents that
    were never shown, and on all.
    """

    kept: BoolArray
    weight: FloatArray
    predicted: FloatArray
    share: FloatArray
    policy: FloatArray
    missing: FloatArray
    attention: FloatArray


def _jackknife(values: Sequence[float]) -> float:
    """The standard error from estimates that each leave out one group (Quenouille 1956)."""
    if not values:
        return 0.0
    centre = math.fsum(values) / len(values)
    return math.sqrt((len(values) - 1) / len(values) * math.fsum((value - centre) ** 2 for value in values))


def _value_table(values: Sequence[RankingValue], baseline: str, options: ValueOptions) -> Table:
    columns = (
        Column("ranking"),
        Column("clicks", "value", f"per query, estimator {options.estimator}"),
        Column("95% CI", "interval", "of the clicks, valid at every look", drop_order=2),
        Column("bounds", "interval", "clicks if documents that were never shown are never, or always, clicked"),
        Column("difference", "interval", f"95% interval of the bounds, less the clicks of {baseline}", drop_order=1),
        Column("support", "share", "attention on documents that were shown"),
        Column("ESS", "count", "effective sample size: lists of the ranking that the clicks are worth", drop_order=3),
        Column("answer"),
    )
    rows = tuple(
        (
            value.name,
            value.value,
            value.interval,
            value.bounds,
            value.difference,
            value.support,
            round(value.size),
            value.outcome,
        )
        for value in values
    )
    facts = {"baseline": baseline, "baseline_clicks": values[0].baseline, "estimator": options.estimator}
    return Table("value", "Clicks per query", columns, rows, facts=facts)


def value_sentence(value: RankingValue, baseline: str) -> str:
    """The answer first: whether the ranking gets more clicks, or why that cannot be told."""
    name, base = for_message(value.name), f"{for_message(baseline)}: {value.baseline:.3f}"
    if value.outcome == "the same":
        return f"{name} would get as many clicks, within {percent(MODEL_ERROR)}: {value.value:.3f} per query ({base})."
    if value.outcome != "cannot tell":
        low, high = (value.baseline + end for end in value.difference)
        between = f"between {max(low, 0):.3f} and {high:.3f} per query (95% CI, valid at every look; {base})"
        return f"{name} would get {value.outcome} clicks: {between}. Interleave it before you ship: clicks are not preference."
    if value.obstacle:
        return f"Cannot tell: {value.obstacle}. Interleave {name} instead."
    if value.support < _COVERED:
        missing = percent(1 - value.support)
        what = f"users would spend {missing} of their attention on documents that were never shown"
        between = f"clicks per query are between {value.bounds[0]:.3f} and {value.bounds[1]:.3f} ({base})"
        return f"Cannot tell: {what}; {between}. Interleave {name} instead."
    apart = " to ".join(f"{end:+.3f}" for end in value.difference)
    what = f"{value.value:.3f} clicks per query, and the difference is not clear of {percent(MODEL_ERROR)} ({apart}; {base})"
    return f"Cannot tell: {name} would get {what}. Interleave it instead."


def _clicks_table(shown: ShownDocuments, baseline: BoolArray, name: str) -> Table:
    """The clicks of the baseline, where nothing more is known."""
    clicks = shown.clicks[baseline]
    columns = (Column("ranking"), Column("clicks", "value", "per query"))
    return Table("value", "Clicks per query", columns, ((name, float(clicks.mean())),))


def _bias_table(bias: PositionBias) -> Table:
    columns = (Column("rank", "count"), Column("looked at", "value", "how often, in units of the first rank"))
    rows = tuple((rank, float(value)) for rank, value in enumerate(bias.examination[:10], start=1))
    return Table("position bias", "Position bias", columns, rows, facts={"method": bias.method, "known": bias.known})
