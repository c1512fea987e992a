"""The metrics of live search: one value per session, from the clicks and other events in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rankproof._align.hits import Hits
from rankproof._analysis.online.options import OnlineOptions
from rankproof._data.arrays import FloatArray
from rankproof._importers.search_log.log import Events, SearchLog
from rankproof.errors import UsageError, closest_name, for_message
from rankproof.measures._base import Measure

_WRITTEN = re.compile(r"(?P<name>[A-Za-z]+)(?:\((?P<inside>[^()]*)\))?(?:@(?P<cutoff>[0-9]{1,6}))?")
_SECONDS = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*s?")
_GUARDRAIL = re.compile(r"(?P<metric>.+?)\s*(?P<side>[<>])\s*(?P<limit>[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)")
_REVENUE = re.compile(r"Revenue\((?P<inside>[^()]+)\)")
_EXAMPLES = "FirstClickRR, CTR@10, Conversion(purchase), Abandonment, ClickWithin(30s), Revenue(price)"


@dataclass(frozen=True, kw_only=True, repr=False)
class LiveMetric(Measure):
    """A metric of sessions; `inside` is what stands in its parentheses or after `@`."""

    inside: str = ""
    takes: ClassVar[Literal["", "@", "()"]] = ""
    example: ClassVar[str] = ""
    needs_times: ClassVar[bool] = False
    needs_clicks: ClassVar[bool] = True
    source: ClassVar[str] = "online"

    def of_sessions(self, log: SearchLog, clicks: Events) -> FloatArray:
        """The value of each session of the log, NaN for one that has none."""
        raise NotImplementedError

    def values(self, hits: Hits) -> FloatArray:
        """Judgements have no clicks."""
        raise NotImplementedError

    def __str__(self) -> str:
        if not self.inside:
            return self.name
        return f"{self.name}@{self.inside}" if self.takes == "@" else f"{self.name}({self.inside})"


class NetPreference(LiveMetric):
    """Of the sessions with a preference, the share that prefers the system, by credit where documents have no teams."""

    name = "Preference"
    title = "Share of preferring sessions"
    definition = "the share of sessions that prefer the system, of those with a preference"


class FirstClickRR(LiveMetric):
    """1 / rank of the first click; of clicks at the same time, the one at the best rank."""

    name = "FirstClickRR"
    title = "Reciprocal rank of the first click"
    definition = "1 / rank of the first click of a session, 0 without a click"
    example = "FirstClickRR"

    def of_sessions(self, log: SearchLog, clicks: Events) -> FloatArray:
        values = np.zeros(len(log.sessions))
        if not len(clicks):
            return values
        unknown = np.isnan(clicks.time)
        when = clicks.place if unknown.all() else np.where(unknown, np.inf, clicks.time)
        starts = np.flatnonzero(np.diff(clicks.session, prepend=-1))
        first = np.repeat(np.minimum.reduceat(when, starts), np.diff(starts, append=len(clicks)))
        rank = np.where(when == first, clicks.rank, np.iinfo(clicks.rank.dtype).max)
        values[clicks.session[starts]] = 1.0 / np.minimum.reduceat(rank, starts).astype(np.float64)
        return values


class CTR(LiveMetric):
    """Whether a session has a click, of the first k documents."""

    name = "CTR"
    title = "Click-through rate"
    definition = "the share of sessions with a click, on one of the first k documents"
    takes = "@"
    example = "CTR@10"

    def of_sessions(self, log: SearchLog, clicks: Events) -> FloatArray:
        counted = clicks.session[clicks.rank <= int(self.inside)] if self.inside else clicks.session
        return _has(log, counted)


class Abandonment(LiveMetric):
    """Whether a session has no click; a list that answers the question by itself is abandoned too."""

    name = "Abandonment"
    title = "Share without a click"
    definition = "the share of sessions without a click"
    higher_is_better = False
    example = "Abandonment"

    def of_sessions(self, log: SearchLog, clicks: Events) -> FloatArray:
        return 1.0 - _has(log, clicks.session)


class Conversion(LiveMetric):
    """Whether a session has an event of an action."""

    name = "Conversion"
    title = "Conversion rate"
    definition = "the share of sessions with an event of the action"
    takes = "()"
    example = "Conversion(purchase)"
    needs_clicks = False

    def of_sessions(self, log: SearchLog, clicks: Events) -> FloatArray:
        if self.inside not in log.actions:
            near = closest_name(self.inside, log.actions)
            fix = f"did you mean {near}?" if near else f"the actions are {', '.join(map(for_message, log.actions))}"
            raise UsageError(f"no event of the log has the action {for_message(self.inside)}", fix=fix)
        return _has(log, log.events.session[log.events.action == log.actions.index(self.inside)])


class ClickWithin(LiveMetric):
    """Whether a session has a click within a time after the query."""

    name = "ClickWithin"
    title = "Share with an early click"
    definition = "the share of sessions with a click within so many seconds after the query"
    takes = "()"
    example = "ClickWithin(30s)"
    needs_times = True

    def of_sessions(self, log: SearchLog, clicks: Events) -> FloatArray:
        early = clicks.time - log.sessions.time[clicks.session] <= float(self.inside.removesuffix("s"))
        return _has(log, clicks.session[early])


class Revenue(LiveMetric):
    """The sum of a number of the events of a session."""

    name = "Revenue"
    title = "Revenue per session"
    definition = "the sum over the events of a session of a number that they have"
    range = (0.0, float("inf"))
    takes = "()"
    example = "Revenue(price)"
    needs_clicks = False

    def of_sessions(self, log: SearchLog, clicks: Events) -> FloatArray:
        known = np.isfinite(log.events.value)
        if not known.any():
            named = f"the number {for_message(self.inside)}" if self.inside else "a value"
            fix = "name its path in an event, such as Revenue(event_attributes.object.price)"
            if log.unread_value:
                named, fix = f"{named} that is finite: the first is {for_message(log.unread_value)}", "write numbers such as 5.50"
            raise UsageError(f"no event of the log has {named}", fix=fix)
        return np.bincount(log.events.session[known], log.events.value[known], len(log.sessions)).astype(np.float64)


class ClicksPerSession(LiveMetric):
    """The number of clicks; better lists end a search sooner, so more clicks are neither better nor worse."""

    name = "ClicksPerSession"
    title = "Clicks per session"
    definition = "the number of clicks of a session"
    range = (0.0, float("inf"))
    higher_is_better = None
    example = "ClicksPerSession"

    def of_sessions(self, log: SearchLog, clicks: Events) -> FloatArray:
        return np.bincount(clicks.session, minlength=len(log.sessions)).astype(np.float64)


class FieldMean(LiveMetric):
    """A number that the query itself has, such as its latency; sessions without it do not count."""

    name = "FieldMean"
    title = "Mean of a field"
    definition = "the mean of a number that queries have"
    range = (float("-inf"), float("inf"))
    higher_is_better = None
    needs_clicks = False

    def of_sessions(self, log: SearchLog, clicks: Events) -> FloatArray:
        values = log.sessions.numbers[self.inside]
        if not np.isfinite(values).any():
            raise UsageError(
                f"no query of the log has a number {for_message(self.inside)}", fix=f"name a field, or a metric: {_EXAMPLES}"
            )
        return values

    def __str__(self) -> str:
        return self.inside


def _has(log: SearchLog, sessions: np.ndarray[tuple[int], np.dtype[np.int32]]) -> FloatArray:
    """1 for each session that is listed, else 0."""
    values = np.zeros(len(log.sessions))
    values[sessions] = 1.0
    return values


LIVE_METRICS: dict[str, type[LiveMetric]] = {
    kind.name: kind for kind in (FirstClickRR, CTR, Conversion, Abandonment, ClickWithin, Revenue, ClicksPerSession)
}
"""The metrics of A/B tests by name."""


def parse_live_metric(text: str) -> LiveMetric:
    """The metric that a text names, such as CTR@3 or Conversion(purchase)."""
    match = _WRITTEN.fullmatch(text.strip())
    kind = None if match is None else LIVE_METRICS.get(match["name"])
    if match is None or kind is None:
        near = closest_name(text.partition("(")[0].partition("@")[0].strip(), LIVE_METRICS)
        what = f"{for_message(text)} is not a metric of live search"
        raise UsageError(what, fix=f"did you mean {LIVE_METRICS[near].example}?" if near else f"known metrics: {_EXAMPLES}")
    inside = (match["inside"] or "").strip()
    if (match["cutoff"] and kind.takes != "@") or (match["inside"] is not None and kind.takes != "()"):
        raise UsageError(f"{for_message(text)} is not how {kind.name} is written", fix=f"write {kind.example}")
    if kind is CTR:
        return _click_rate(match["cutoff"], text)
    if kind is ClickWithin:
        inside = _seconds(inside, text)
    if kind is Conversion and not inside:
        raise UsageError("Conversion needs an action", fix="write Conversion(purchase)")
    return kind(inside=inside)


def _click_rate(cutoff: str | None, text: str) -> CTR:
    if cutoff is not None and int(cutoff) < 1:
        raise UsageError(f"the cutoff of {for_message(text)} is 0", fix="write CTR@10")
    return CTR(inside=str(int(cutoff)) if cutoff else "")


def _seconds(inside: str, text: str) -> str:
    match = _SECONDS.fullmatch(inside)
    if match is None or float(match[1]) <= 0:
        raise UsageError(f"{for_message(text)} has no time above 0", fix="write ClickWithin(30s)")
    return f"{float(match[1]):g}s"


@dataclass(frozen=True, slots=True)
class Guardrail:
    """What must not become worse: the difference to the baseline must be below or above the limit."""

    text: str
    metric: LiveMetric
    side: Literal["<", ">"]
    limit: float


def parse_guardrail(text: str) -> Guardrail:
    """The guardrail that a text names, such as latency_ms<+20 or CTR>-0.01."""
    match = _GUARDRAIL.fullmatch(text.strip())
    if match is None:
        what = f"{for_message(text)} is not a guardrail"
        raise UsageError(what, fix="write a metric or field, < or >, and the limit of its change, such as latency_ms<+20")
    name = match["metric"]
    known = (written := _WRITTEN.fullmatch(name)) is not None and written["name"] in LIVE_METRICS
    metric = parse_live_metric(name) if known else FieldMean(inside=name)
    return Guardrail(text, metric, "<" if match["side"] == "<" else ">", float(match["limit"]))


def parse_primary(text: str) -> LiveMetric:
    """The metric that decides; clicks per session cannot."""
    metric = parse_live_metric(text)
    if isinstance(metric, ClicksPerSession):
        what = "ClicksPerSession cannot decide: users of better lists stop sooner, so fewer clicks can be better"
        raise UsageError(what, fix="use FirstClickRR, and name ClicksPerSession as a further metric")
    return metric


def check_metrics(options: OnlineOptions) -> None:
    """Refuses metrics that are not known before the log is read; the primary one may be the name of an action."""
    for text in options.metrics:
        parse_live_metric(text)
    if options.primary.startswith(ClicksPerSession.name):
        parse_primary(options.primary)


def number_fields(options: OnlineOptions) -> tuple[str, ...]:
    """The fields of queries that guardrails are about."""
    metrics = [parse_guardrail(text).metric for text in options.guardrails]
    return tuple(dict.fromkeys(metric.inside for metric in metrics if isinstance(metric, FieldMean)))


def revenue_field(options: OnlineOptions) -> str | None:
    """The field of events that Revenue adds up, None if it is the usual column."""
    texts = (options.primary, *options.metrics, *options.guardrails)
    fields = dict.fromkeys(match["inside"].strip() for text in texts for match in _REVENUE.finditer(text))
    if len(fields) > 1:
        raise UsageError(f"Revenue of several fields: {', '.join(map(for_message, fields))}", fix="name one of them")
    return next(iter(fields), None)
