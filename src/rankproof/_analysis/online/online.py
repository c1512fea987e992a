"""`analyse_log`: what the sessions of a log say about the systems that were shown."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.decision.record import Costs, Decision
from rankproof._analysis.online import checks
from rankproof._analysis.online.checks import shown_instant
from rankproof._analysis.online.decide_live import LiveCase, decide_live
from rankproof._analysis.online.estimates import SessionValues
from rankproof._analysis.online.evidence import GuardrailCheck, LiveEvidence, LogKind
from rankproof._analysis.online.interleaved import (
    COMPUTED_CREDITS,
    Preferences,
    are_lists_of_single_systems,
    credits_of,
    shared_sessions,
)
from rankproof._analysis.online.metrics import (
    ClicksPerSession,
    Conversion,
    Guardrail,
    LiveMetric,
    Revenue,
    parse_guardrail,
    parse_live_metric,
    parse_primary,
)
from rankproof._analysis.online.options import USUAL_MARGIN, USUAL_PRIMARY, OnlineOptions
from rankproof._analysis.online.result import OnlineResult
from rankproof._analysis.online.tables import (
    counts_table,
    differences_table,
    guardrails_table,
    metrics_table,
    segments_table,
    systems_table,
    trend_table,
)
from rankproof._analysis.online.variants import Assignment, VariantValues, assign, variant_values
from rankproof._data.arrays import BoolArray, IntArray
from rankproof._data.table import CellValue, Table
from rankproof._data.text import in_a_sentence, pluralise
from rankproof._importers.search_log.log import NO_TEAM, Draft, Events, SearchLog
from rankproof._importers.search_log.tables import EVENTS
from rankproof._interleaving.methods import TEAM_DRAFT
from rankproof._statistics.decision_rule import Margin, parse_margin
from rankproof.errors import InputError, UsageError, closest_name, for_message

_RECORD_FIX = "log the record of rp.interleave in query_attributes, or name the field of the variant with --variant"


@dataclass(frozen=True, eq=False, slots=True)
class _Experiment:
    """The sessions of an experiment as a case to decide, further metrics, notes and facts."""

    case: LiveCase
    further: tuple[VariantValues, ...]
    notes: tuple[str, ...]
    facts: Mapping[str, CellValue]


def analyse_log(log: SearchLog, options: OnlineOptions) -> OnlineResult:
    """The decision that the sessions of a log allow, and what it rests on."""
    kind = kind_of(log, options.experiment)
    if kind == "one":
        named = f"one variant, {for_message(log.variants[0])}" if len(log.variants) == 1 else "one ranking system"
        raise InputError(f"the log holds {named}, so there is nothing to compare", fix=_systems_fix(log), source=log.sources[0])
    for field in options.by:
        if not log.sessions.texts[field][1]:
            raise UsageError(
                f"no session has a value of {for_message(field)}",
                fix="name a field of query_attributes, or a column of the table",
            )
    clicks = log.clicks(options.clicks)
    experiment = (interleaving_experiment if kind == "interleaving" else variants_experiment)(log, clicks, options)
    decision = decide_live(experiment.case)
    notes = (*log.notes, *log.dropped(), *experiment.notes)
    return OnlineResult(kind, decision, tuple(_tables(log, experiment, decision, options, kind)), notes, experiment.facts)


def kind_of(log: SearchLog, experiment: str | None = None) -> LogKind:
    """What a log holds: lists of several systems interleaved, variants of an A/B test, or one ranking system."""
    is_interleaved = bool((log.sessions.draft >= 0).any() or len(log.systems))
    if are_lists_of_single_systems(log):
        what = f"each list is of one system, {' or '.join(map(for_message, sorted(log.systems)))}: this is no interleaving"
        fix = "name the systems as variants of an A/B test, as in --set variant=system"
        raise InputError(what, fix=fix, source=log.sources[0])
    has_variants = len(log.variants) > 1
    if is_interleaved and has_variants and experiment is None:
        what = f"the log holds interleaved lists and the variants {in_a_sentence([*map(for_message, sorted(log.variants))])}"
        raise InputError(what, fix="name the interleaving with --experiment, or pass a log of one of them", source=log.sources[0])
    return "interleaving" if is_interleaved else "ab" if has_variants else "one"


def _tables(
    log: SearchLog, experiment: _Experiment, decision: Decision, options: OnlineOptions, kind: LogKind
) -> Iterator[Table]:
    values, further = experiment.case.values, experiment.further
    yield systems_table(experiment.case.means, decision, kind)
    yield differences_table(decision, kind)
    means = [[metric.value(at) for at in range(len(metric.systems))] for metric in further]
    limits = [check for at in experiment.case.systems if at for check in experiment.case.guardrail_checks(at)]
    for table in (
        guardrails_table(limits),
        metrics_table(further, means),
        segments_table(values, log, options.by),
        trend_table(values),
    ):
        if table is not None:
            yield table
    yield counts_table(log)


def _systems_fix(log: SearchLog) -> str:
    """How a log names its systems: by columns of a plain table, or by fields of UBI."""
    if not log.columns:
        return _RECORD_FIX
    what = "--set system=COLUMN names the system of each document shown, --set variant=COLUMN the variant of each user"
    return f"{what}; {_columns_without_role(log)}"


def _columns_without_role(log: SearchLog) -> str:
    return f"columns without a role: {', '.join(map(for_message, log.columns))}"


def _check_clicks(log: SearchLog, clicks: Events, options: OnlineOptions, metric: LiveMetric | None = None) -> None:
    """A metric of clicks needs some, so a log without any is an error that says why it has none."""
    if len(clicks):
        return
    named_metric = "" if metric is None else f"{metric} needs clicks: "
    dropped = "; ".join(log.dropped())
    what = f"no clicks on documents that were shown, in {pluralise(len(log.sessions), 'session')}"
    named = np.isin(log.events.action, [at for at, action in enumerate(log.actions) if action in options.clicks])
    if named.any():
        what = f"{pluralise(int(named.sum()), 'click names', 'clicks name')} neither a rank nor a document that was shown"
        fix = "log the rank or the document of each click"
        if log.columns:
            fix = f"name the rank or the document with --set rank=COLUMN or --set doc=COLUMN ({_columns_without_role(log)})"
        if metric is not None and str(metric) == options.primary:
            fix = f"{fix}, or count sessions with an action by --primary ACTION"
    elif len(log.events):
        present = ", ".join(for_message(log.actions[code]) or "empty" for code in np.unique(log.events.action).tolist())
        fix = f"its actions are {present}: --click ACTION names the one that counts, and --primary ACTION decides an A/B test"
    elif any(count.part == EVENTS and count.dropped for count in log.counts):
        fix = "no event is left: correct the rows that were dropped"
    else:
        fix = "add the log of events"
    raise InputError(f"{named_metric}{what}{f' ({dropped})' if dropped else ''}", fix=fix, source=log.sources[0])


def _during_experiment(log: SearchLog, options: OnlineOptions) -> BoolArray:
    """The sessions of the experiment: all, or those from `since` on."""
    if options.since is None:
        return np.ones(len(log.sessions), dtype=bool)
    if np.isnan(log.sessions.time).any():
        raise UsageError("--since needs the times of sessions, and the log has none that can be read", fix="leave out --since")
    during = log.sessions.time >= options.since
    if not during.any():
        last = shown_instant(float(log.sessions.time.max()))
        raise UsageError(f"no session is from {shown_instant(options.since)} on", fix=f"the last one is at {last}")
    return np.asarray(during)


def _with_baseline_first(names: Sequence[str], options: OnlineOptions, what: str) -> tuple[str, ...]:
    """The names, the baseline first if one is named."""
    if options.baseline is not None and options.baseline not in names:
        near = closest_name(options.baseline, names)
        fix = f"did you mean {near}?" if near else f"choose among {', '.join(map(for_message, names))}"
        raise UsageError(f"no {what} is called {for_message(options.baseline)}", fix=fix)
    first = options.baseline or names[0]
    for name in (*options.costs, *options.shares):
        if name not in names:
            raise UsageError(f"no {what} is called {for_message(name)}", fix=f"choose among {', '.join(map(for_message, names))}")
    return (first, *(name for name in names if name != first))


def _costs_of(options: OnlineOptions) -> Costs:
    return Costs("given", options.costs) if options.costs else Costs()


def _facts_of(case: LiveCase, users: int, clicks: int) -> dict[str, CellValue]:
    values, baseline = case.values, case.values.systems[0] if case.has_baseline else ""
    facts: dict[str, CellValue] = {"baseline": baseline, "sessions": len(values.users), "users": users, "clicks": clicks}
    known = values.times[np.isfinite(values.times)]
    if len(known):
        facts |= {"from": shown_instant(float(known.min())), "to": shown_instant(float(known.max()))}
    return facts


def interleaving_experiment(log: SearchLog, clicks: Events, options: OnlineOptions) -> _Experiment:
    """The preferences of an interleaving experiment."""
    _check_interleaving_options(options)
    _check_clicks(log, clicks, options)
    during = _during_experiment(log, options)
    drafts, kept = _drafts(log, during, options)
    draft = log.drafts[drafts[-1]] if drafts else Draft("", TEAM_DRAFT, tuple(sorted(log.systems)))
    systems = _with_baseline_first(draft.systems, options, "system")
    if len(systems) < 2:
        what = f"the log holds one system, {for_message(systems[0])}, so there is nothing to compare"
        raise InputError(what, fix=_systems_fix(log), source=log.sources[0])
    counted = kept & (np.isin(log.sessions.draft, _same_draft(log, drafts, draft)) if drafts else True)
    values = _preferences(log, clicks, draft, systems, np.flatnonzero(counted), options)
    users = int(values.users.max(initial=-1)) + 1
    own = log.sessions.user[clicks.session[counted[clicks.session]]]
    case = LiveCase(
        values,
        _net_margin(options),
        LiveEvidence("interleaving", users, draft.method),
        _costs_of(options),
        options.baseline,
        bool(drafts) or options.baseline is not None,
        tuple(_interleaving_obstacles(log, drafts, counted, values, clicks)),
        checks.traffic_per_day(values.times),
    )
    notes = (
        *_interleaving_notes(log, counted, during),
        *([] if case.has_baseline else [_without_baseline(systems[0])]),
        *checks.differing_ranks(clicks),
        *checks.busy_user(log, own),
    )
    facts = {"experiment": draft.experiment, "method": draft.method, **_facts_of(case, users, len(own))}
    return _Experiment(case, (), notes, facts)


def _interleaving_obstacles(
    log: SearchLog, drafts: Sequence[int], counted: BoolArray, values: Preferences, clicks: Events
) -> Iterator[str]:
    yield from checks.changed_systems(log, _groups(log, drafts))
    yield from checks.wrong_owners(log, counted, values.systems)
    yield from checks.systems_without_clicks(values)
    yield from checks.contradicting_ranks(clicks)
    if drafts and not log.sessions.lengths[counted].any():
        yield "no list of the log shows a document"
    if values.has_teams:
        yield from checks.clicks_of_no_system(log, clicks.part(counted[clicks.session]))
    yield from checks.few_users(log, values)


def _check_interleaving_options(options: OnlineOptions) -> None:
    for flag, is_given in (
        ("--primary", options.primary != USUAL_PRIMARY),
        ("--metric", bool(options.metrics)),
        ("--guardrail", bool(options.guardrails)),
        ("--share", bool(options.shares)),
    ):
        if is_given:
            raise UsageError(f"{flag} is for A/B tests, and the log holds interleaved lists", fix=f"leave out {flag}")


def _preferences(
    log: SearchLog, clicks: Events, draft: Draft, systems: tuple[str, ...], rows: IntArray, options: OnlineOptions
) -> Preferences:
    """The credits of these sessions, with users numbered from 0."""
    counted = np.bincount(clicks.session, minlength=len(log.sessions))
    return Preferences(
        systems,
        np.unique(log.sessions.user[rows], return_inverse=True)[1].astype(np.int32),
        log.sessions.time[rows],
        rows.astype(np.int32),
        credits_of(log, clicks, draft, systems)[rows],
        counted[rows].astype(np.int32),
        draft.method not in COMPUTED_CREDITS,
        options.expect,
    )


def _drafts(log: SearchLog, during: BoolArray, options: OnlineOptions) -> tuple[list[int], BoolArray]:
    """The interleavings of the experiment, in the order of their last sessions, and the sessions that have one."""
    present = np.unique(log.sessions.draft[during & (log.sessions.draft >= 0)]).tolist()
    names = list(dict.fromkeys(log.drafts[at].experiment for at in present))
    if options.experiment is not None and options.experiment not in names:
        near = closest_name(options.experiment, names)
        fix = f"did you mean {near}?" if near else f"the log holds {', '.join(map(for_message, names)) or 'none with a name'}"
        raise UsageError(f"no experiment is called {for_message(options.experiment)}", fix=fix)
    if options.experiment is None and len(names) > 1:
        what = f"the log holds several experiments: {', '.join(for_message(name) or 'one without a name' for name in names)}"
        raise InputError(what, fix="choose one with --experiment NAME", source=log.sources[0])
    own = [at for at in present if options.experiment in (None, log.drafts[at].experiment)]
    if own:
        last = {at: (_last_time(log, at, during), at) for at in own}
        own.sort(key=last.__getitem__)
        return own, during & np.isin(log.sessions.draft, own)
    listed = np.zeros(len(log.sessions), dtype=bool)
    listed[log.sessions.session_of_slot[log.sessions.teams != NO_TEAM]] = True
    return [], during & listed if listed.any() else during


def _last_time(log: SearchLog, draft: int, during: BoolArray) -> float:
    times = log.sessions.time[(log.sessions.draft == draft) & during]
    return float(np.nanmax(times, initial=-math.inf))


def _same_draft(log: SearchLog, drafts: Sequence[int], draft: Draft) -> list[int]:
    """The interleavings of the same systems by the same method, in whatever order the systems are named."""
    wanted = _draft_key(draft)
    return [at for at in drafts if _draft_key(log.drafts[at]) == wanted]


def _draft_key(draft: Draft) -> tuple[str, frozenset[str]]:
    return draft.method, frozenset(draft.systems)


def _groups(log: SearchLog, drafts: Sequence[int]) -> list[int]:
    """One interleaving of each method and set of systems."""
    return list({_draft_key(log.drafts[at]): at for at in drafts}.values())


def _interleaving_notes(log: SearchLog, kept: BoolArray, during: BoolArray) -> Iterator[str]:
    total, other = int(kept.sum()), int((during & ~kept).sum())
    if other:
        yield f"{pluralise(other, 'session')} of other lists {'does' if other == 1 else 'do'} not count"
    if shared := shared_sessions(log, kept):
        yield f"{pluralise(shared, 'session')} ({shared / total:.1%}) had the same list from all systems: each is a tie"
    if empty := int((kept & (log.sessions.lengths == 0)).sum()):
        yield f"{pluralise(empty, 'session')} without results: each is a tie"


def _without_baseline(first: str) -> str:
    return f"no baseline is named, so none is kept: the trend is that of differences to {for_message(first)} (--baseline NAME)"


def variants_experiment(log: SearchLog, clicks: Events, options: OnlineOptions) -> _Experiment:
    """The metrics of an A/B test."""
    during = _during_experiment(log, options)
    assignment = _assignment(log, during, options)
    primary = _primary(options.primary, log)
    further, guardrails = [*map(parse_live_metric, options.metrics)], [*map(parse_guardrail, options.guardrails)]
    measured = [primary, *further, *(guardrail.metric for guardrail in guardrails)]
    for metric in measured:
        if metric.needs_clicks:
            _check_clicks(log, clicks, options, metric)
    _check_times(log, measured)

    adjust = options.since is not None and checks.is_even_before(assignment)

    def values_of(metric: LiveMetric) -> VariantValues:
        return variant_values(log, clicks, assignment, metric, expect=options.expect, adjust=adjust)

    values, limits = values_of(primary), [(guardrail, values_of(guardrail.metric)) for guardrail in guardrails]
    users = len(assignment.variant_of)
    case = LiveCase(
        values,
        _margin(values, options),
        LiveEvidence("ab", users, adjusted=values.covariates is not None),
        _costs_of(options),
        options.baseline,
        options.baseline is not None,
        tuple(_variant_obstacles(log, assignment, options, values, clicks)),
        checks.traffic_per_day(values.times),
        lambda system: [_guardrail(guardrail, own, system) for guardrail, own in limits],
    )
    clicking = log.sessions.user[clicks.session[np.isin(clicks.session, assignment.sessions)]]
    notes = (*_variant_notes(assignment, values, options), *checks.differing_ranks(clicks), *checks.busy_user(log, clicking))
    return _Experiment(case, tuple(map(values_of, further)), notes, _facts_of(case, users, len(clicking)))


def _assignment(log: SearchLog, during: BoolArray, options: OnlineOptions) -> Assignment:
    """The users of each variant, the baseline first; a variant without users is an error."""
    present = sorted(log.variants[code] for code in np.unique(log.sessions.variant[during]).tolist() if code >= 0)
    if len(present) < 2:
        what = f"one variant, {for_message(present[0])}" if present else "no variant"
        raise InputError(f"the log holds {what}, so there is nothing to compare", fix=_systems_fix(log), source=log.sources[0])
    variants = _with_baseline_first(present, options, "variant")
    if options.guardrails and options.baseline is None:
        fix = f"name it, as in --baseline {shlex.quote(variants[0])}"
        raise UsageError("a guardrail is about the change from a baseline, and none is named", fix=fix)
    if options.shares and set(options.shares) != set(variants):
        fix = f"give the share of each: {', '.join(map(for_message, variants))}"
        raise UsageError("--share names some variants only", fix=fix)
    assignment = assign(log, variants, during)
    if 0 in assignment.users_by_variant:
        empty = variants[assignment.users_by_variant.index(0)]
        moved = pluralise(assignment.moved, "user was", "users were")
        what = f"{for_message(empty)} has no user of its own: {moved} in several variants"
        raise InputError(what, fix="give each user one variant", source=log.sources[0])
    return assignment


def _variant_obstacles(
    log: SearchLog, assignment: Assignment, options: OnlineOptions, values: VariantValues, clicks: Events
) -> Iterator[str]:
    yield from checks.moved_users(assignment)
    shares = checks.expected_shares(assignment.variants, options.shares)
    yield from checks.late_variants(log, assignment, shares)
    yield from checks.changing_shares(log, assignment, shares)
    yield from checks.sample_ratio_mismatch(assignment, shares)
    yield from checks.uneven_drops(log, assignment, options.since)
    variant = assignment.variant_of[assignment.users]
    for at, name in enumerate(assignment.variants):
        yield from checks.few_users(log, values, variant == at, f" of {for_message(name)}")
    yield from checks.uneven_sessions(values)
    measured = [values.metric, *(parse_guardrail(text).metric for text in options.guardrails)]
    if any(metric.name == Revenue.name for metric in measured):
        yield from checks.different_units(log, assignment)
    if any(metric.needs_clicks for metric in measured):
        yield from checks.variants_without_clicks(log, assignment, clicks)
        yield from checks.different_first_ranks(log, assignment, clicks)
    if values.metric.name == Revenue.name:
        yield from checks.missing_values(log, values)
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
    margin = options.margin or Margin(USUAL_MARGIN, is_share=not values.measure.is_fraction)
    if not margin.is_share:
        return parse_margin(margin.amount, is_fraction=values.measure.is_fraction).amount
    return margin.amount * max(abs(values.value(system).value) for system in range(len(values.systems)))


def _net_margin(options: OnlineOptions) -> float:
    """The margin of a net preference, which is no share of a mean."""
    margin = options.margin or Margin(USUAL_MARGIN)
    if margin.is_share:
        fix = f"pass a difference, such as {margin.amount:g} for {100 * margin.amount:g} percentage points"
        raise UsageError(f"margin is {margin}, and a net preference has no mean", fix=fix)
    return parse_margin(margin.amount).amount


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


def _variant_notes(assignment: Assignment, values: VariantValues, options: OnlineOptions) -> Iterator[str]:
    if assignment.moved:
        sessions = pluralise(assignment.moved_sessions, "session")
        yield f"{pluralise(assignment.moved, 'user')} in several variants, left out with {sessions}"
    if assignment.without:
        yield f"{pluralise(assignment.without, 'session')} without a variant, left out"
    if options.baseline is None:
        yield _without_baseline(values.systems[0])
    if options.since is not None and len(assignment.before) and values.covariates is None:
        yield "users of one variant have sessions before the experiment more often, so these do not reduce the noise (CUPED)"
    if values.covariates is not None:
        share = float(values.covariates[:, 1].mean())
        yield f"the sessions before the experiment reduce the noise (CUPED): {share:.0%} of the users have some"
    if any(isinstance(metric, ClicksPerSession) for metric in map(parse_live_metric, options.metrics)):
        yield "ClicksPerSession never decides: users of better lists stop sooner"
    if values.measure.name == "Abandonment":
        yield "Abandonment counts users who found the answer in the list itself (good abandonment)"
