"""User Behavior Insights: clicks on logged rankings become judgements, by a click model with its assumptions stated."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from rankproof._data.arrays import BoolArray, IntArray, distinct_numbers, list_places, read_only, repeat_each
from rankproof._data.identity import identity_key
from rankproof._data.qrels import Judgement, make_judge_label
from rankproof._data.run import Run
from rankproof._data.text import pluralise
from rankproof._data.validation import made_id
from rankproof._importers.base import ImportCounts, Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder
from rankproof._importers.cells import SETTING, SETTING_HELP, Thresholds, describe_thresholds, grade_by, thresholds_of
from rankproof._importers.search_log.columns import list_chunks, release_memory, smallest_dtype
from rankproof._importers.search_log.log import Codes, Offsets, SearchLog, split_place
from rankproof._importers.search_log.options import BOTS, CLICKS, MOST_SESSIONS, LogOptions
from rankproof._importers.search_log.read import USER, read_search_log
from rankproof._importers.search_log.tables import EVENTS, SESSIONS
from rankproof._importers.ubi_log import may_have_records, normalised_query, records
from rankproof._statistics.clicks import CLICK_MODELS, ClickLog, ClickModel, PairCounts
from rankproof.errors import InputError, UsageError, for_message

IMPORTER = "ubi"
SYSTEM = "production"
"""The name of the ranking that was shown last for each query."""
_MODEL = "position"
_THRESHOLDS: Thresholds = (0.25, 0.75, 1.25)
_PRIOR, _LEAST_SHOWN, _HOURS = 1.0, 10, 24
_DIGEST_LENGTH = 8
_SAMPLED, _SHOWN_RANKS, _SHOWN_ACTIONS = 50, 10, 5
_MOST_WEIGHT = 1000.0
BIAS_NOTE = (
    "clicks are biased by rank: what users do not look at, they do not click; a model corrects this only as far as its assumption"
    " is true, and only lists in random order measure it"
)


@dataclass(frozen=True, slots=True)
class ClickSettings:
    """How clicks become grades."""

    model: ClickModel
    actions: Mapping[str, float]
    prior: float
    least_shown: int
    thresholds: Thresholds
    log: LogOptions

    @classmethod
    def of(cls, options: ImportOptions) -> ClickSettings:
        """The settings that the options name."""
        name = options.settings.get("model", _MODEL)
        if name not in CLICK_MODELS:
            raise UsageError(f"model is {for_message(name)}", fix=f"choose from: {', '.join(CLICK_MODELS)}")
        return cls(
            CLICK_MODELS[name],
            _actions(options.settings.get("actions")),
            _number(options, "prior", _PRIOR),
            math.ceil(_number(options, "min-impressions", _LEAST_SHOWN)),
            thresholds_of(options, _THRESHOLDS),
            LogOptions(
                user=options.settings.get("user-field"),
                user_option="--set user-field=FIELD",
                bots=tuple(filter(None, map(str.strip, options.settings.get("bots", ",".join(BOTS)).split(",")))),
                window=3600 * _number(options, "window", _HOURS),
                most_sessions=math.floor(_number(options, "most-sessions", MOST_SESSIONS)),
            ),
        )

    def label(self, pairs: _ShownPairs, counts: PairCounts) -> str:
        """clicks:MODEL:DIGEST; the digest covers the settings and the clicks."""
        digest = hashlib.sha256(identity_key(self.prior, self.least_shown, list(self.thresholds)).encode())
        for rows in pairs.by_name():
            columns = (column[rows].tolist() for column in (counts.shown, counts.clicks, counts.expected))
            digest.update(
                "".join(
                    f"{query}\0{doc}\0{shown}\0{clicks:g}\0{expected:.4g}\n"
                    for (query, doc), shown, clicks, expected in zip(pairs.names(rows), *columns, strict=True)
                ).encode()
            )
        return make_judge_label("clicks:", self.model.name, digest.hexdigest()[:_DIGEST_LENGTH])


def _number(options: ImportOptions, name: str, default: float) -> float:
    """The setting as a positive number."""
    text = options.settings.get(name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 1e9:
        raise UsageError(f"{name} is {for_message(text)}", fix=f"write a positive number, as in --set {name}={default:g}")
    return value


def _actions(text: str | None) -> dict[str, float]:
    """The weight of each action that counts as a click."""
    if text is None:
        return dict.fromkeys(CLICKS, 1.0)
    weights = {}
    for part in text.split(","):
        name, equals, weight = part.strip().rpartition("=")
        action = name if equals else weight
        if action in weights:
            raise UsageError(
                f"actions names {for_message(action)} twice", fix="name each action once, as in --set actions=click=2"
            )
        try:
            weights[action] = float(weight) if equals else 1.0
        except ValueError:
            weights[""] = math.nan
    if "" in weights or not all(0 < weight <= _MOST_WEIGHT for weight in weights.values()):
        fix = "write names with weights, as in --set actions=click,add_to_cart=3"
        raise UsageError(f"actions is {for_message(text)}", fix=fix)
    return weights


class UbiImporter:
    """Files of queries and of events, in any order; queries of the same text are one query."""

    has_grades = False
    settings: Mapping[str, str] = {
        "model": f"how clicks are corrected: {', '.join(CLICK_MODELS)} ({_MODEL})",
        "actions": "actions that count as clicks, with weights, as in click,add_to_cart=3 (click and click_through)",
        "prior": f"expected clicks of an average document that are added to each pair ({_PRIOR:g})",
        "min-impressions": f"pairs that were shown less often get no judgement ({_LEAST_SHOWN})",
        SETTING: f"{SETTING_HELP} ({','.join(map(str, _THRESHOLDS))}; 1 is an average document)",
        "bots": f"ends of words in the ids of users that are bots, which are left out ({','.join(BOTS)})",
        "most-sessions": f"users with more sessions in a day are bots, which are left out ({MOST_SESSIONS:,})",
        "user-field": f"the field of the user ({USER})",
        "window": f"hours after a query in which its events count ({_HOURS})",
    }

    def detect(self, source: ImportSource) -> bool:
        """Whether every file has queries or events of UBI, and one has events."""
        kinds = [_kinds(source, path) for path in source.plain_files]
        return bool(kinds) and all(kinds) and any("event" in kind for kind in kinds)

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """Judgements by clicks, and the ranking that was shown last."""
        how = ClickSettings.of(options)
        builder = DatasetBuilder(source, options)
        log = _ClickedLists(_read_log(source, how.log), how.actions, builder.counts)
        release_memory()
        log.check(source)
        groups = [normalised_query(text) for text in log.queries]
        keys = [made_id("query", [group]) for group in groups]
        for query in np.unique(log.query[log.query >= 0]).tolist():
            builder.query(keys[query], log.queries[query])
        pairs, clicks = log.clicks(groups)
        counts = _counts(clicks, how.model, source)
        label = how.label(pairs, counts)
        notes = (*_notes(clicks, how, label, log), *log.notes)
        most = int(counts.shown.max())
        judgements = _judgements(pairs, counts, keys, how, label, builder)
        # The judgements need only the pairs that were shown often enough.
        del pairs, clicks, counts
        release_memory()
        imported = builder.imported(judgements, IMPORTER)
        imported = replace(imported, runs={SYSTEM: log.last_rankings(keys)})
        if not imported.dataset.is_judged:
            fix = f"add more of the log, or lower the limit with --set min-impressions={most}"
            notes = (f"no judgements: pairs need {how.least_shown} impressions, and none has more than {most}; {fix}", *notes)
        return replace(imported, report=replace(imported.report, notes=(*notes, *imported.report.notes)))


def _counts(clicks: ClickLog, model: ClickModel, source: ImportSource) -> PairCounts:
    try:
        return clicks.by_pair(model)
    except InputError as error:
        fix = f"{error.fix}; or choose a model that needs no such lists, as in --set model=coec"
        raise InputError(error.what, fix=fix, source=source.name) from None


def _kinds(source: ImportSource, path: str) -> set[str]:
    """What the first records of the file are; empty where one is neither a query nor an event."""
    sampled = list(islice(records(source, path), _SAMPLED)) if may_have_records(source, path) else []
    kinds = {
        "event" if record.is_event else "query" if record.is_query else "" for record in sampled if "query_id" in record.value
    }
    return kinds if len(sampled) and all("query_id" in record.value for record in sampled) and "" not in kinds else set()


def _read_log(source: ImportSource, options: LogOptions) -> SearchLog:
    for path in source.plain_files:
        if not may_have_records(source, path):
            raise InputError("no queries and no events of UBI", fix="pass rows with the column query_id", source=path)
    return read_search_log(source, options)


@dataclass(frozen=True, eq=False, slots=True)
class _ShownPairs:
    """The query and the document of each pair, as places in the normal forms of queries and the ids of documents, in order."""

    query: Codes
    doc: Codes
    queries: Sequence[str]
    docs: Sequence[str]

    def names(self, rows: IntArray) -> Iterator[tuple[str, str]]:
        """The query and the document of these pairs."""
        for query, doc in zip(self.query[rows].tolist(), self.doc[rows].tolist(), strict=True):
            yield self.queries[query], self.docs[doc]

    def by_name(self) -> Iterator[IntArray]:
        """The pairs of one query after the other, in the order of their names."""
        place = _places_in_order(self.docs)
        ends = np.searchsorted(self.query, np.arange(len(self.queries) + 1)).tolist()
        for query in np.argsort(_places_in_order(self.queries)).tolist():
            start, end = ends[query], ends[query + 1]
            if start < end:
                yield start + np.argsort(place[self.doc[start:end]])


def _places_in_order(names: Sequence[str]) -> IntArray:
    """The place of each name if they were sorted."""
    places = np.empty(len(names), dtype=np.int64)
    places[np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)] = np.arange(len(names))
    return places


class _ClickedLists:
    """The lists of a log and the clicks on them; rows that do not count are counted with their reason.

    `query` is the query of each session, -1 if it has no text. Columns that are not needed are not kept.
    """

    def __init__(self, log: SearchLog, actions: Mapping[str, float], counts: ImportCounts) -> None:
        self._counts, self._actions, self._log_actions, self._sources = counts, actions, log.actions, log.sources
        self.queries, self._docs, self.notes = log.queries, log.docs, log.notes
        counts.include(log.counts)
        sessions, events = log.sessions, log.events
        self.query, self._time, self._offsets, self._shown = sessions.query, sessions.time, sessions.offsets, sessions.docs
        self._lengths = sessions.lengths
        self._drop(SESSIONS, self.query < 0, "without a user_query", sessions.place)
        weights = np.array([*(actions.get(name, 0.0) for name in log.actions), 0.0])
        self._weights, weight_of_action = np.unique(np.append(weights, 0.0), return_inverse=True)
        """The weights of events, 0 first."""
        weight = weight_of_action[:-1].astype(smallest_dtype(0, len(actions)))[events.action]
        others = np.bincount(events.action[weight == 0], minlength=len(log.actions)).tolist()
        self.other_actions = Counter({name: count for name, count in zip(log.actions, others, strict=True) if count})
        """How many events there are of each action of the log that is no click."""
        left = np.ones(len(events), dtype=bool)
        for dropped, reason in (
            (weight == 0, "of other actions"),
            (self.query[events.session] < 0, "of sessions without a user_query"),
            (self._lengths[events.session] == 0, "of a query without a list of documents shown"),
            (events.slot == 0, "without an object_id"),
        ):
            self._drop(EVENTS, left & dropped, reason, events.place)
            left &= ~dropped
        clicks = events.part(left)
        self.count = len(clicks)
        self.moved = int(np.count_nonzero((clicks.named_rank > 0) & (clicks.named_rank != clicks.rank)))
        """Clicks whose event names another rank than the list."""
        self._weight = np.zeros(len(self._shown), dtype=weight.dtype)
        # Of several actions on a document, the highest weight counts.
        np.maximum.at(self._weight, self._offsets[clicks.session] + clicks.slot - 1, weight[left])
        self._rank = sessions.ranks - 1

    def _drop(self, part: str, rows: BoolArray, reason: str, place: Offsets) -> None:
        if rows.any():
            line = split_place(self._sources, int(place[rows].min()))[1]
            self._counts.drop(part, reason, line=line, count=int(rows.sum()))

    @cached_property
    def _rows(self) -> BoolArray:
        """The documents shown that count."""
        return np.asarray(np.repeat(self.query >= 0, self._lengths) & (self._shown >= 0))

    def check(self, source: ImportSource) -> None:
        """Raises an error if nothing is left that a click model could use."""
        if not self._rows.any():
            what = "no query lists the documents that were shown"
            fix = "pass the file of queries with query_response_hit_ids, or events of the action impression"
            raise InputError(what, fix=fix, source=source.name)
        if not self.count:
            raise InputError("no event is a click on a document that was shown", fix=self._click_fix(), source=source.name)

    def _click_fix(self) -> str:
        """What to change where no event counts as a click."""
        if self._log_actions and self._actions.keys().isdisjoint(self._log_actions):
            listed = ", ".join(for_message(name) or "none" for name in self._log_actions[:_SHOWN_ACTIONS])
            return f"the other actions are {listed}: name those that are clicks, as in --set actions=click,add_to_cart=3"
        return "pass the events of these queries, with the query_id and the object_id that the queries list"

    def clicks(self, groups: Sequence[str]) -> tuple[_ShownPairs, ClickLog]:
        """The pairs, and their impressions with their clicks; `groups` names the query of each code."""
        total, docs = int(np.count_nonzero(self._rows)), len(self._docs)
        keys = distinct_numbers(part for _, part in self._keys())
        pair, lengths, start = np.empty(total, dtype=np.int32), list[IntArray](), 0
        for part_lengths, part in self._keys():
            pair[start : start + len(part)] = np.searchsorted(keys, part)
            lengths.append(part_lengths)
            start += len(part)
        doc = (keys % docs).astype(np.int32)
        keys //= docs
        pairs = _ShownPairs(keys.astype(np.int32), doc, groups, self._docs)
        rank, weight = (column if self._rows.all() else column[self._rows] for column in (self._rank, self._weight))
        return pairs, ClickLog(pairs.query, pair, rank, weight, self._weights, np.concatenate(lengths))

    def _keys(self) -> Iterator[tuple[IntArray, IntArray]]:
        """The lengths of some lists, and their queries and documents as one number for each document shown that counts."""
        for part in list_chunks(len(self.query)):
            lengths = self._lengths[part]
            shown = slice(int(self._offsets[part.start]), int(self._offsets[part.stop]))
            rows = self._rows[shown]
            session = np.repeat(np.arange(len(lengths)), lengths)[rows]
            keys = self.query[part].astype(np.int64)[session] * len(self._docs) + self._shown[shown][rows]
            yield np.bincount(session, minlength=len(lengths)), keys

    def last_rankings(self, keys: Sequence[str]) -> Run:
        """The list that was shown last for each query; `keys` has its id by code."""
        shown = np.flatnonzero((self.query >= 0) & (self._lengths > 0))
        shown = shown[np.argsort(self._time[shown], kind="stable")]
        query = self.query[shown]
        codes, first = np.unique(query, return_index=True)
        last = shown[::-1][np.unique(query[::-1], return_index=True)[1]]
        at = np.argsort(first)
        lists = last[at]
        lengths = self._lengths[lists]
        rows = list_places(lengths) + repeat_each(self._offsets[lists], lengths)
        of_list, docs = repeat_each(np.arange(len(lists)), lengths), self._shown[rows]
        of_list, docs = of_list[docs >= 0], docs[docs >= 0]
        lengths = np.bincount(of_list, minlength=len(lists))
        ranks = list_places(lengths) + 1
        return Run.from_columns(
            name=SYSTEM,
            queries=tuple(keys[query] for query in codes[at].tolist()),
            offsets=read_only(np.concatenate([[0], np.cumsum(lengths)])),
            docs=tuple(map(self._docs.__getitem__, docs.tolist())),
            scores=read_only(-ranks.astype(np.float64)),
            ranks=read_only(ranks),
            source=SYSTEM,
        )


def _judgements(
    pairs: _ShownPairs, counts: PairCounts, keys: Sequence[str], how: ClickSettings, label: str, builder: DatasetBuilder
) -> Iterator[Judgement]:
    """The grade of each pair that was shown often enough; `keys` has the id of each query."""
    often = np.flatnonzero(counts.shown >= how.least_shown)
    builder.counts.read("judgements", len(counts.shown))
    if len(often) < len(counts.shown):
        reason = f"of pairs shown less than {how.least_shown} times"
        builder.counts.drop("judgements", reason, count=len(counts.shown) - len(often))
    columns = pairs.query[often].tolist(), pairs.doc[often].tolist(), counts.part(often).attraction(how.prior).tolist()
    docs = pairs.docs
    return (
        Judgement(keys[query], docs[doc], grade_by(value, how.thresholds), judge_label=label)
        for query, doc, value in zip(*columns, strict=True)
    )


def _notes(clicks: ClickLog, how: ClickSettings, label: str, log: _ClickedLists) -> Iterator[str]:
    """The model, what it assumes, the click-through rates by rank, and what limits the judgements."""
    model = how.model
    yield f"judgements are made from clicks, not by people ({label}): {model.source}; it assumes that {model.assumes}"
    moved = f"{clicks.pairs_at_several_ranks():,} of {pluralise(clicks.pairs, 'pair')}"
    yield f"{BIAS_NOTE}; {moved} were shown at more than one rank"
    yield (
        "documents that were never shown have no judgement, so a system whose lists were not shown is at a disadvantage: compare"
        " systems whose lists are in the log, such as those of an A/B test"
    )
    if model.name == _MODEL:
        yield str(clicks.position_bias)
    weights = ", ".join(f"{for_message(name)}{'' if weight == 1 else f' = {weight:g}'}" for name, weight in how.actions.items())
    rule = describe_thresholds(how.thresholds, "clicks over expected clicks")
    yield f"{rule}; a prior of {how.prior:g} is added to both; clicks are: {weights}"
    counts = clicks.by_rank()
    shown = list(zip(counts.rates.tolist(), counts.shown.tolist(), strict=True))[:_SHOWN_RANKS]
    rates = ", ".join(f"{rank}: {rate:.3f} of {number:,.0f}" for rank, (rate, number) in enumerate(shown, start=1) if number)
    yield f"clicks per impression by rank: {rates}"
    yield f"the system {SYSTEM} is the list that was shown last for each query"
    if others := log.other_actions:
        more = len(others) - _SHOWN_ACTIONS
        listed = ", ".join(f"{for_message(name) or 'none'} {count:,}" for name, count in others.most_common(_SHOWN_ACTIONS))
        yield f"other actions: {listed}{f' and {more} more' if more > 0 else ''}; count them with --set actions=NAME=WEIGHT,…"
    if log.moved:
        of = pluralise(log.count, "click")
        yield f"{log.moved:,} of {of} name another rank than the list of documents shown; the list counts"


UBI = UbiImporter()
