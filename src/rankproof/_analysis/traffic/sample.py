"""Samples of queries that stand for the traffic, and their folder."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rankproof._analysis.traffic.drift import TrafficDocument, TrafficRecord, halves_of, unseen_traffic
from rankproof._data import format_versions
from rankproof._data.arrays import BoolArray, FloatArray, IntArray, weight_column
from rankproof._data.dataset import CHANCE_FIELD, WEIGHT_FIELD, Queries, Query
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import percent, pluralise
from rankproof._data.validation import made_id
from rankproof._data.view import View, ViewedTables
from rankproof._formats.texts import text_blocks
from rankproof._importers.search_log.log import SearchLog
from rankproof._importers.search_log.personal_data import personal_data
from rankproof._importers.ubi_log import normalised_query
from rankproof._io.file_errors import file_error
from rankproof._io.files import check_replaceable, replace_folder, write_blocks
from rankproof._io.strict_json import JsonObject, parse_strict_json
from rankproof._statistics.deterministic import VariateStream
from rankproof._statistics.means import effective_size
from rankproof.errors import InputError, UsageError

STRATA = ("head", "torso", "tail")
"""Queries by traffic: the most frequent ones with a third of the traffic, those with the next third, and all others."""
STRATUM_FIELD = "stratum"
LEAST_SAMPLE = 30


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """How queries are drawn; the names are those of the arguments of `sample_queries`."""

    n: int = 300
    held_out: int = 0
    min_users: int = 3
    seed: int = 0


class LogTraffic(NamedTuple):
    """The queries of a log, normalised and merged: text, sessions and users of each, and the kind of personal data if any."""

    texts: Sequence[str]
    sessions: IntArray
    users: IntArray
    personal: tuple[str | None, ...]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class QuerySample(ViewedTables):
    """Queries that stand for the traffic: each has its weight, its chance of being drawn, and its stratum.

    `held_out` are further queries for `gate`, None if none were asked for; certain queries are in both parts. `record` is what
    a later log is compared with, without the texts of queries.
    """

    queries: Queries
    held_out: Queries | None
    answer: tuple[str, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    facts: Mapping[str, CellValue] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the sample stands for, and what was left out."""
        return self.answer

    def to_dict(self) -> dict[str, Any]:
        """The sample without the texts of its queries, as JSON."""
        return {
            "facts": dict(self.facts),
            "answer": list(self.answer),
            "tables": {table.name: table.records() for table in self.tables},
            "notes": list(self.notes),
        }

    def _view(self) -> View:
        return View(f"QuerySample: {pluralise(len(self.queries), 'query', 'queries')}", self.tables, self.answer, self.notes)


def traffic_of(log: SearchLog) -> LogTraffic:
    """The traffic of each query of the log, by sessions that ask it."""
    known = log.sessions.query >= 0
    if not known.any():
        fix = "name the column of the query with --set query=COLUMN, or log user_query"
        raise InputError("the log has no texts of queries", fix=fix, source=log.sources[0])
    query, user = log.sessions.query[known].astype(np.int64), log.sessions.user[known].astype(np.int64)
    sessions = np.bincount(query, minlength=len(log.queries)).astype(np.int64)
    width = int(user.max()) + 1
    users = np.bincount(np.unique(query * width + user) // width, minlength=len(log.queries)).astype(np.int64)
    return LogTraffic(log.queries, sessions, users, tuple(map(personal_data, log.queries)))


def sample_log(log: SearchLog, options: SampleOptions) -> QuerySample:
    """A sample of the queries of the log in proportion to their traffic."""
    traffic = traffic_of(log)
    has_personal = np.array([kind is not None for kind in traffic.personal], dtype=bool)
    asked = traffic.sessions > 0
    is_rare = asked & ~has_personal & (traffic.users < options.min_users)
    kept = np.flatnonzero(asked & ~has_personal & ~is_rare)
    _check_size(len(kept), options, log.sources[0])
    sizes = traffic.sessions[kept].astype(np.float64)
    strata = _strata(sizes)
    drawn = draw(sizes, options.n, options.held_out, options.seed)
    queries = _queries(traffic, kept, sizes, strata, drawn, drawn.kept)
    held_out = _queries(traffic, kept, sizes, strata, drawn, drawn.held_out) if options.held_out else None
    total = float(traffic.sessions.sum())
    tables = (_strata_table(sizes, strata, drawn, total), *_left_out_tables(traffic, is_rare, total, options))
    answer = tuple(_sentences(queries, held_out, sizes, drawn, traffic, is_rare, total, options))
    facts: dict[str, CellValue] = {"sessions": int(total), "queries": int(asked.sum()), "kept": len(kept), "seed": options.seed}
    record = _record(log, has_personal)
    return QuerySample(
        queries, held_out, answer, tables, (*_notes(options, kept, drawn), *log.notes, *log.dropped()), facts, record
    )


def _check_size(kept: int, options: SampleOptions, source: str) -> None:
    if options.n < LEAST_SAMPLE or 0 < options.held_out < LEAST_SAMPLE:
        fix = f"draw at least {LEAST_SAMPLE} queries: fewer decide nothing"
        raise UsageError(f"a sample of {min(options.n, options.held_out or options.n)} queries", fix=fix)
    if not kept:
        what = f"no query was asked by {pluralise(options.min_users, 'user')} or more"
        raise InputError(what, fix="add more of the log, or lower --min-users", source=source)


def _strata(sizes: FloatArray) -> IntArray:
    """The stratum of each query: thirds of the traffic by frequency; equally frequent queries are in one stratum."""
    order = np.argsort(-sizes, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(sizes[order])[:-1]]) / sizes.sum()
    first = np.searchsorted(-sizes[order], -sizes[order], side="left")
    strata = np.zeros(len(sizes), dtype=np.int64)
    strata[order] = np.minimum((before[first] * len(STRATA)).astype(np.int64), len(STRATA) - 1)
    return strata


def _queries(traffic: LogTraffic, kept: IntArray, sizes: FloatArray, strata: IntArray, drawn: Drawn, part: BoolArray) -> Queries:
    """The queries of one part of the sample, the most frequent first."""
    rows = sorted(zip(drawn.units[part].tolist(), drawn.chances[part].tolist(), strict=True), key=lambda row: -sizes[row[0]])
    return Queries(
        Query(
            made_id("query", [normalised_query(text)]),
            text,
            fields={WEIGHT_FIELD: sizes[unit] / chance, CHANCE_FIELD: chance, STRATUM_FIELD: STRATA[strata[unit]]},
        )
        for unit, chance in rows
        for text in (traffic.texts[kept[unit]],)
    )


def _strata_table(sizes: FloatArray, strata: IntArray, drawn: Drawn, total: float) -> Table:
    columns = (
        Column("stratum"),
        Column("queries", "count", "different queries that can be drawn"),
        Column("traffic", "share", "share of all sessions with a query"),
        Column("drawn", "count", "queries in the sample"),
        Column("certain", "count", "queries that any sample of this size has"),
    )
    rows = []
    for at, name in enumerate(STRATA):
        of_sample = drawn.kept & (strata[drawn.units] == at)
        certain = int((drawn.chances[of_sample] >= 1).sum())
        own = strata == at
        rows.append((name, int(own.sum()), float(sizes[own].sum()) / total, int(of_sample.sum()), certain))
    return Table("strata", "Sample", columns, tuple(rows))


def _left_out_tables(traffic: LogTraffic, is_rare: BoolArray, total: float, options: SampleOptions) -> Iterator[Table]:
    """The queries that are never drawn, by reason."""
    kinds = Counter[str]()
    sessions = Counter[str]()
    for kind, count in zip(traffic.personal, traffic.sessions.tolist(), strict=True):
        if kind is not None and count:
            kinds[kind] += 1
            sessions[kind] += count
    rows = [(kind, kinds[kind], sessions[kind] / total) for kind in kinds]
    rare = int(is_rare.sum())
    if rare:
        share = float(traffic.sessions[is_rare].sum()) / total
        rows.append((f"fewer than {pluralise(options.min_users, 'user')}", rare, share))
    if rows:
        columns = (Column("left out"), Column("queries", "count"), Column("traffic", "share"))
        yield Table("left out", "Queries that are left out", columns, tuple(rows))


def _sentences(
    queries: Queries,
    held_out: Queries | None,
    sizes: FloatArray,
    drawn: Drawn,
    traffic: LogTraffic,
    is_rare: BoolArray,
    total: float,
    options: SampleOptions,
) -> Iterator[str]:
    share = percent(float(sizes.sum()) / total)
    of_log = pluralise(len(sizes), "query", "queries")
    yield f"{pluralise(len(queries), 'query stands', 'queries stand')} for {of_log} with {share} of the traffic."
    column = weight_column((queries.weights or {}).values())
    certain = int((drawn.chances[drawn.kept] >= 1).sum())
    if certain < len(queries):
        rest = f"the others are worth {effective_size(len(column), column):,.0f} queries of equal weight"
        yield f"{certain:,} of them are so frequent that they are certain; {rest}."
    if held_out is not None:
        fresh = int((drawn.held_out & ~drawn.kept).sum())
        yield f"{pluralise(len(held_out), 'query is', 'queries are')} held out for gate, {fresh:,} of them not in the sample."
    personal = np.array([kind is not None for kind in traffic.personal], dtype=bool)
    if personal.any():
        lost = percent(float(traffic.sessions[personal].sum()) / total)
        yield f"Left out: {pluralise(int(personal.sum()), 'query', 'queries')} with personal data ({lost} of the traffic)."
    if is_rare.any():
        lost = percent(float(traffic.sessions[is_rare].sum()) / total)
        rare = pluralise(int(is_rare.sum()), "query", "queries")
        yield f"Left out: {rare} of fewer than {pluralise(options.min_users, 'user')} ({lost} of the traffic)."


def _notes(options: SampleOptions, kept: IntArray, drawn: Drawn) -> Iterator[str]:
    if int(drawn.kept.sum()) < options.n:
        yield f"only {int(drawn.kept.sum()):,} of {options.n:,} queries could be drawn: the log has {len(kept):,}"
    if int(drawn.held_out.sum()) < options.held_out:
        yield f"only {int(drawn.held_out.sum()):,} of {options.held_out:,} queries could be held out: the log has {len(kept):,}"
    uncertain = int((drawn.chances[drawn.kept] < 1).sum())
    if 0 < uncertain < LEAST_SAMPLE:
        few = f"{uncertain} queries were drawn by chance, and a decision needs {LEAST_SAMPLE} of them or all queries"
        yield f"{few}: draw more, or all with -n {len(kept)}"


def _record(log: SearchLog, has_personal: BoolArray) -> dict[str, Any]:
    """What a later log is compared with: the queries of the first half, and what of the second half is not among them."""
    query = log.sessions.query.astype(np.int64)
    counted = (query >= 0) & ~has_personal[np.maximum(query, 0)]
    first, second = halves_of(log, counted)
    names = [normalised_query(text) for text in log.queries]
    known = np.unique(query[first])
    share, error = unseen_traffic(query[second], ~np.isin(np.arange(len(names)), known))
    return TrafficRecord.of([names[code] for code in known.tolist()], share, error, int(counted.sum())).document()


class Drawn(NamedTuple):
    """The units drawn, in the order of the units, the chance of each, and those of both parts; certain ones are in both."""

    units: IntArray
    chances: FloatArray
    held_out: BoolArray
    kept: BoolArray


def draw(sizes: FloatArray, count: int, held_out: int = 0, seed: int = 0) -> Drawn:
    """So many units for each of two parts, each with a chance in proportion to its size (Madow 1949), in random order.

    A unit whose share is at least one draw is certain, and is in both parts; the parts share no other unit. The chance is that of
    being in the first part, which has the same units for any seed of the second.
    """
    stream = VariateStream(seed, "traffic")
    keys = stream.uniforms(len(sizes))
    certain = certain_units(sizes, count, held_out)
    rest = np.flatnonzero(~certain)
    draws = count + held_out - (2 if held_out else 1) * int(certain.sum())
    draws = min(max(draws, 0), len(rest))
    order = rest[np.argsort(keys[rest], kind="stable")]
    chosen = _systematic(sizes[order], draws, float(stream.uniforms(1)[0]))
    drawn = order[chosen]
    # The order of draws is random, so any part of them is a sample of the same kind.
    mixed = drawn[np.argsort(stream.uniforms(len(drawn)), kind="stable")]
    first = min(max(count - int(certain.sum()), 0), len(mixed))
    in_first, in_second = certain.copy(), certain & bool(held_out)
    in_first[mixed[:first]], in_second[mixed[first:]] = True, True
    units = np.flatnonzero(in_first | in_second)
    total = float(sizes[rest].sum())
    both = np.where(certain, 1.0, np.minimum(sizes * draws / total, 1.0) if total else 1.0)
    of_first = np.where(certain, 1.0, both * (first / draws if draws else 1.0))
    of_second = np.where(certain, 1.0, both * ((draws - first) / draws if draws else 1.0))
    chances = np.where(in_first[units], of_first[units], of_second[units])
    return Drawn(units, chances, in_second[units], in_first[units])


def certain_units(sizes: FloatArray, count: int, held_out: int = 0) -> BoolArray:
    """The units whose share of what is left is at least one draw, one after the other."""
    parts = 2 if held_out else 1
    certain = np.zeros(len(sizes), dtype=bool)
    if count + held_out >= len(sizes) and not held_out:
        return np.ones(len(sizes), dtype=bool)
    while True:
        draws, total = count + held_out - parts * int(certain.sum()), float(sizes[~certain].sum())
        more = ~certain & (sizes * draws >= total)
        # Both parts need the certain units, so a small part cannot have more of them than it has places.
        if draws <= 0 or not more.any() or int((certain | more).sum()) > min(count, held_out or count):
            return certain
        certain |= more


def _systematic(sizes: FloatArray, draws: int, start: float) -> IntArray:
    """The units at equal steps of the cumulated sizes, from a random start."""
    if not draws:
        return np.zeros(0, dtype=np.int64)
    ends = np.cumsum(sizes)
    marks = (np.arange(draws) + start) * (ends[-1] / draws)
    return np.unique(np.minimum(np.searchsorted(ends, marks, side="right"), len(sizes) - 1)).astype(np.int64)


SAMPLE_FILE, QUERIES_FILE, HELD_OUT = "sample.json", "queries.jsonl", "gate"
SAMPLE_FORMAT = "rankproof-sample"
_KIND = "sample that was not judged yet"
_FIX = "draw the sample again with rankproof sample LOG -o SET"


def check_sample_folder(folder: str) -> None:
    """Refuses, before the log is read, a folder that is neither free nor an older sample alone."""
    check_replaceable(folder, is_sample_folder, kind=_KIND)


def is_sample_folder(path: str) -> bool:
    """Whether the folder is a sample with nothing added, such as judgements, that replacing it would lose."""
    if not os.path.isfile(os.path.join(path, SAMPLE_FILE)):
        return False
    held_out = os.path.join(path, HELD_OUT)
    own = {SAMPLE_FILE, QUERIES_FILE, HELD_OUT}.issuperset(os.listdir(path))
    return own and (not os.path.isdir(held_out) or os.listdir(held_out) == [QUERIES_FILE])


def write_sample(sample: QuerySample, folder: str) -> None:
    """Writes the folder atomically; an older sample at the path is replaced."""
    with replace_folder(folder, is_sample_folder, kind=_KIND) as place:
        write_blocks(os.path.join(place, QUERIES_FILE), text_blocks(sample.queries))
        if sample.held_out is not None:
            os.makedirs(os.path.join(place, HELD_OUT))
            write_blocks(os.path.join(place, HELD_OUT, QUERIES_FILE), text_blocks(sample.held_out))
        document = {
            "format": SAMPLE_FORMAT,
            "schema": format_versions.QUERY_SAMPLE,
            **sample.to_dict(),
            "traffic": sample.record,
        }
        text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        write_blocks(os.path.join(place, SAMPLE_FILE), [text.encode("utf-8", "backslashreplace")])


def read_traffic_record(folder: str) -> TrafficRecord:
    """What a sample remembers of its log."""
    path = os.path.join(folder, SAMPLE_FILE)
    if not os.path.isfile(path):
        if not os.path.isdir(folder):
            raise file_error("missing", source=folder)
        raise InputError("this is no sample of the traffic: it has no sample.json", fix=_FIX, source=folder)
    with open(path, encoding="utf-8") as file:
        values = JsonObject(parse_strict_json(file.read(), source=path), path, damaged_fix=_FIX)
    if (values.plain.get("format"), values.plain.get("schema")) != (SAMPLE_FORMAT, format_versions.QUERY_SAMPLE):
        raise values.error("this is no sample.json of this version of rankproof")
    return values.member("traffic", TrafficDocument).record(values)
