"""`analyse_log`: what the sessions of a log say about the systems that were shown."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof._analysis.decision.record import Decision
from rankproof._analysis.online.decide_live import decide_live
from rankproof._analysis.online.evidence import LogKind
from rankproof._analysis.online.experiment import LOG_FIX, Experiment
from rankproof._analysis.online.interleaved import are_lists_of_single_systems
from rankproof._analysis.online.interleaving_experiment import interleaving_experiment
from rankproof._analysis.online.options import OnlineOptions
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
from rankproof._analysis.online.variants_experiment import variants_experiment
from rankproof._data.table import Table
from rankproof._data.text import in_a_sentence
from rankproof._importers.search_log.log import SearchLog
from rankproof.errors import InputError, UsageError, for_message


def analyse_log(log: SearchLog, options: OnlineOptions) -> OnlineResult:
    """The decision that the sessions of a log allow, and what it rests on."""
    kind = kind_of(log, options.experiment)
    if kind == "one":
        named = f"one variant, {for_message(log.variants[0])}" if len(log.variants) == 1 else "one ranking system"
        raise InputError(f"the log holds {named}, so there is nothing to compare", fix=LOG_FIX, source=log.sources[0])
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


def _tables(log: SearchLog, experiment: Experiment, decision: Decision, options: OnlineOptions, kind: LogKind) -> Iterator[Table]:
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
