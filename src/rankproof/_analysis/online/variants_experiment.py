"""The experiment of a log of an A/B test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rankproof._analysis.online import checks
from rankproof._analysis.online.decide_live import LiveCase
from rankproof._analysis.online.estimates import SessionValues
from rankproof._analysis.online.evidence import GuardrailCheck, LiveEvidence
from rankproof._analysis.online.experiment import (
    LOG_FIX,
    Experiment,
    check_clicks,
    costs_of,
    during_experiment,
    facts_of,
    with_baseline_first,
)
from rankproof._analysis.online.metrics import (
    ClicksPerSession,
    Conversion,
    Guardrail,
    LiveMetric,
    parse_guardrail,
    parse_live_metric,
    parse_primary,
)
from rankproof._analysis.online.options import USUAL_MARGIN, OnlineOptions
from rankproof._analysis.online.variants import Assignment, VariantValues, assign, variant_values
from rankproof._data.arrays import BoolArray
from rankproof._data.text import pluralise
from rankproof._importers.search_log.log import Events, SearchLog
from rankproof.errors import InputError, UsageError, for_message


def variants_experiment(log: SearchLog, clicks: Events, options: OnlineOptions) -> Experiment:
    """The metrics of an A/B test."""
    during = during_experiment(log, options)
    assignment = _assignment(log, during, options)
    primary = _primary(options.primary, log)
    if primary.needs_clicks:
        check_clicks(log, clicks, options)
    further, guardrails = [*map(parse_live_metric, options.metrics)], [*map(parse_guardrail, options.guardrails)]
    _check_times(log, [primary, *further, *(guardrail.metric for guardrail in guardrails)])

    adjust = options.since is not None and checks.is_even_before(assignment)

    def values_of(metric: LiveMetric) -> VariantValues:
        return variant_values(log, clicks, assignment, metric, expect=options.expect, adjust=adjust)

    values, limits = values_of(primary), [(guardrail, values_of(guardrail.metric)) for guardrail in guardrails]
    users = len(assignment.variant_of)
    case = LiveCase(
        values,
        _margin(values, options),
        LiveEvidence("ab", users, adjusted=values.covariates is not None),
        costs_of(options),
        options.baseline,
        tuple(_obstacles(log, assignment, options, values, clicks)),
        checks.traffic_per_day(values.times),
        lambda system: [_guardrail(guardrail, own, system) for guardrail, own in limits],
    )
    clicking = log.sessions.user[clicks.session[np.isin(clicks.session, assignment.sessions)]]
    notes = (*_notes(assignment, values, options), *checks.differing_ranks(clicks), *checks.busy_user(log, clicking))
    return Experiment(case, tuple(map(values_of, further)), notes, facts_of(values, users, len(clicking)))


def _assignment(log: SearchLog, during: BoolArray, options: OnlineOptions) -> Assignment:
    """The users of each variant, the baseline first; a variant without users is an error."""
    present = sorted(log.variants[code] for code in np.unique(log.sessions.variant[during]).tolist() if code >= 0)
    if len(present) < 2:
        what = f"one variant, {for_message(present[0])}" if present else "no variant"
        raise InputError(f"the log holds {what}, so there is nothing to compare", fix=LOG_FIX, source=log.sources[0])
    variants = with_baseline_first(present, options, "variant")
    if options.shares and set(options.shares) != set(variants):
        fix = f"give the share of each: {', '.join(map(for_message, variants))}"
        raise UsageError("--share names some variants only", fix=fix)
    assignment = assign(log, variants, during)
    if 0 in assignment.users_by_variant:
        empty = variants[assignment.users_by_variant.index(0)]
        what = f"{for_message(empty)} has no user of its own: {assignment.moved:,} users were in several variants"
        raise InputError(what, fix="give each user one variant", source=log.sources[0])
    return assignment


def _obstacles(
    log: SearchLog, assignment: Assignment, options: OnlineOptions, values: VariantValues, clicks: Events
) -> Iterator[str]:
    yield from checks.moved_users(assignment)
    yield from checks.late_variants(log, assignment)
    yield from checks.sample_ratio_mismatch(assignment, checks.expected_shares(assignment.variants, options.shares))
    yield from checks.uneven_sessions(values)
    if values.metric.needs_clicks:
        yield from checks.only_clicked_sessions(values)
        yield from checks.contradicting_ranks(clicks)


def _primary(text: str, log: SearchLog) -> LiveMetric:
    """The metric that decides; the name of an action stands for its conversion rate."""
    return Conversion(inside=text) if text in log.actions else parse_primary(text)


def _check_times(log: SearchLog, metrics: Sequence[LiveMetric]) -> None:
    for metric in metrics:
        if metric.needs_times and (np.isnan(log.sessions.time).any() or np.isnan(log.events.time).any()):
            raise UsageError(f"{metric} needs the times of sessions and events, and the log has none", fix="use CTR@10 instead")


def _margin(values: SessionValues, options: OnlineOptions) -> float:
    """The margin in the unit of the metric: 1 pp, or 1% of the best mean for a metric without a range."""
    if options.margin is not None:
        return options.margin
    if values.measure.is_fraction:
        return USUAL_MARGIN
    return USUAL_MARGIN * max(abs(values.value(system).value) for system in range(len(values.systems)))


def _guardrail(guardrail: Guardrail, values: VariantValues, system: int) -> GuardrailCheck:
    """Whether the interval of the change is on the right side of the limit."""
    pair = values.compare(system, 0)
    if not math.isfinite(pair.difference):
        what = f"{values.measure} has no value in the sessions of {for_message(pair.system)} or {for_message(pair.other)}"
        raise UsageError(what, fix=f"log it with every query, or leave out the guardrail {for_message(guardrail.text)}")
    low, high = pair.ci
    sides = (high < guardrail.limit, low >= guardrail.limit)
    holds, broken = sides if guardrail.side == "<" else (low > guardrail.limit, high <= guardrail.limit)
    state = True if holds else False if broken else None
    return GuardrailCheck(guardrail.text, pair.system, pair.difference, pair.ci, state, values.measure.is_fraction)


def _notes(assignment: Assignment, values: VariantValues, options: OnlineOptions) -> Iterator[str]:
    if assignment.moved:
        sessions = pluralise(assignment.moved_sessions, "session")
        yield f"{pluralise(assignment.moved, 'user')} in several variants, left out with {sessions}"
    if assignment.without:
        yield f"{pluralise(assignment.without, 'session')} without a variant, left out"
    if options.baseline is None:
        yield f"the baseline is {for_message(values.systems[0])}, the first variant by name (--baseline names another)"
    if options.since is not None and len(assignment.before) and values.covariates is None:
        yield "users of one variant have sessions before the experiment more often, so these do not reduce the noise (CUPED)"
    if values.covariates is not None:
        share = float(values.covariates[:, 1].mean())
        yield f"the sessions before the experiment reduce the noise (CUPED): {share:.0%} of the users have some"
    if any(isinstance(metric, ClicksPerSession) for metric in map(parse_live_metric, options.metrics)):
        yield "ClicksPerSession never decides: users of better lists stop sooner"
    if values.measure.name == "Abandonment":
        yield "Abandonment counts users who found the answer in the list itself (good abandonment)"
