"""What an experiment of a log is, and what interleaving and A/B tests share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.decision.record import Costs
from rankproof._analysis.online.checks import shown_instant
from rankproof._analysis.online.decide_live import LiveCase
from rankproof._analysis.online.estimates import SessionValues
from rankproof._analysis.online.options import OnlineOptions
from rankproof._analysis.online.variants import VariantValues
from rankproof._data.arrays import BoolArray
from rankproof._data.table import CellValue
from rankproof._data.text import pluralise
from rankproof._importers.search_log.log import Events, SearchLog
from rankproof._importers.search_log.tables import EVENTS
from rankproof.errors import InputError, UsageError, closest_name, for_message

LOG_FIX = "log the record of rp.interleave in query_attributes, or name the field of the variant with --variant"


@dataclass(frozen=True, eq=False, slots=True)
class Experiment:
    """The sessions of an experiment as a case to decide, further metrics, notes and facts."""

    case: LiveCase
    further: tuple[VariantValues, ...]
    notes: tuple[str, ...]
    facts: Mapping[str, CellValue]


def check_clicks(log: SearchLog, clicks: Events, options: OnlineOptions) -> None:
    """Clicks decide, so a log without any is an error that says why it has none."""
    if len(clicks):
        return
    dropped = "; ".join(log.dropped())
    what = f"no clicks on documents that were shown, in {pluralise(len(log.sessions), 'session')}"
    named = np.isin(log.events.action, [at for at, action in enumerate(log.actions) if action in options.clicks])
    if named.any():
        what = f"{pluralise(int(named.sum()), 'click names', 'clicks name')} neither a rank nor a document that was shown"
        fix = "log the rank or the document of each click, or count sessions with an action by --primary ACTION"
    elif not len(log.sessions):
        fix = "no session is left: correct the rows that were dropped"
    elif len(log.events):
        present = ", ".join(for_message(log.actions[code]) for code in np.unique(log.events.action).tolist())
        fix = f"its actions are {present}: --click ACTION names the one that counts, and --primary ACTION decides an A/B test"
    elif any(count.part == EVENTS and count.dropped for count in log.counts):
        fix = "no event is left: correct the rows that were dropped"
    else:
        fix = "add the log of events"
    raise InputError(f"{what}{f' ({dropped})' if dropped else ''}", fix=fix, source=log.sources[0])


def during_experiment(log: SearchLog, options: OnlineOptions) -> BoolArray:
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


def with_baseline_first(names: Sequence[str], options: OnlineOptions, what: str) -> tuple[str, ...]:
    """The names, the baseline first."""
    if options.baseline is not None and options.baseline not in names:
        near = closest_name(options.baseline, names)
        fix = f"did you mean {near}?" if near else f"choose among {', '.join(map(for_message, names))}"
        raise UsageError(f"no {what} is called {for_message(options.baseline)}", fix=fix)
    first = options.baseline or names[0]
    for name in (*options.costs, *options.shares):
        if name not in names:
            raise UsageError(f"no {what} is called {for_message(name)}", fix=f"choose among {', '.join(map(for_message, names))}")
    return (first, *(name for name in names if name != first))


def costs_of(options: OnlineOptions) -> Costs:
    return Costs("given", options.costs) if options.costs else Costs()


def facts_of(values: SessionValues, users: int, clicks: int) -> dict[str, CellValue]:
    facts: dict[str, CellValue] = {"sessions": len(values.users), "users": users, "clicks": clicks}
    known = values.times[np.isfinite(values.times)]
    if len(known):
        facts |= {"from": shown_instant(float(known.min())), "to": shown_instant(float(known.max()))}
    return facts
