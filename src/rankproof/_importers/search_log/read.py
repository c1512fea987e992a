"""Reads logs of live search, of any supported form, as one `SearchLog`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import ImportSource
from rankproof._importers.cells import TableCell, list_in_text, object_in
from rankproof._importers.search_log.join import joined_log
from rankproof._importers.search_log.log import NO_TEAM, SHARED, SearchLog, joined_place
from rankproof._importers.search_log.options import MISSING, LogOptions
from rankproof._importers.search_log.plain_rows import PlainRows, cells_of, columns_of, text_of, variant_error
from rankproof._importers.search_log.tables import EVENTS, IMPRESSION_ROW, SESSIONS, SHOWN, LogTables
from rankproof._importers.ubi_log import BULK, HIT_IDS, IMPRESSION, UbiRecord, is_event, response_table
from rankproof._interleaving.interleave import RECORD, VERSION
from rankproof._interleaving.methods import METHODS, NEED_RANKINGS, PAIRWISE
from rankproof._io.file_errors import file_error
from rankproof._io.strict_json import parse_strict_json
from rankproof.errors import InputError, for_message, type_phrase

_BLOCK_ROWS = 1 << 14
_SAMPLED = 50
_UBI_NAMES = {"action_name", *HIT_IDS, "_source", *BULK}
_RECORD_FIX = "log Interleaved.to_dict() as it is"
_FIX = "pass UBI queries and events, or a table with session, action, rank and doc"
USER, VARIANT = "client_id", "query_attributes.variant"
"""The usual fields of the user and the variant."""
_IDS = ("object_id", "internal_id")
_PLACES = ("position", "rank")
_CONFIG = ("event_attributes", "search_config")
OTHER_ROWS = "other records"
_Row = Mapping[str, Any]


def read_search_log(source: ImportSource, options: LogOptions) -> SearchLog:
    """The sessions and events of all files together; the order of files does not matter.

    Files are UBI (queries and events, in one file or several) or plain tables (`ROLES` of `plain_rows`), as CSV, TSV, JSON,
    JSONL or Parquet; a file may be compressed. They are read once, row by row or block by block.
    """
    tables = LogTables(options)
    paths = source.plain_files
    if not paths and source.frame is None:
        raise InputError("no file of a log", fix=_FIX, source=source.name)
    for file, path in enumerate(paths or ("",)):
        _read_file(source, path, file, tables)
    return joined_log(tables, paths or (source.name,))


def _read_file(source: ImportSource, path: str, file: int, tables: LogTables) -> None:
    form = "frame" if not path else source.format_of(path)
    if form == "jsonl":
        rows = _json_lines(source, path)
        first = list(islice(rows, _SAMPLED))
        names = tuple(dict.fromkeys(chain.from_iterable(row for _, row in first)))
        return _add_rows(chain(first, rows), names, path, file, tables)
    table = source.table if not path else response_table(source, path) or source.table_of(path)
    assert table is not None, "a frame is a table"
    if _is_ubi(table.names):
        return _add_rows(table.rows(), table.names, table.source, file, tables)
    return _add_cells(table, file, tables)


def _is_ubi(names: Iterable[str]) -> bool:
    known = set(names)
    return not known.isdisjoint(_UBI_NAMES) or {"query_id", "user_query"} <= known


def _add_rows(
    rows: Iterator[tuple[int, Mapping[str, Any]]], names: tuple[str, ...], path: str, file: int, tables: LogTables
) -> None:
    """Adds rows with keys: of UBI one by one, of a plain log in blocks."""
    if _is_ubi(names):
        reader = UbiRows(tables, path, file)
        # A block of objects in memory would start the garbage collector again and again.
        for count, (line, row) in enumerate(rows, 1):
            if not (len(row) == 1 and next(iter(row)) in BULK):
                reader.add(line, row)
            if not count % _BLOCK_ROWS:
                tables.pack()
        return tables.pack()
    plain = PlainRows(tables, names, path, file)
    while block := list(islice(rows, _BLOCK_ROWS)):
        lines, records = zip(*block, strict=True)
        plain.add_block(lines, columns_of(records, plain.roles), columns_of(records, plain.fields))


def _add_cells(table: SourceTable, file: int, tables: LogTables) -> None:
    plain = PlainRows(tables, table.names, table.source, file)
    rows, width = table.cells(), len(table.names)
    while block := list(islice(rows, _BLOCK_ROWS)):
        if isinstance(block[0][1], dict):
            lines, records = zip(*block, strict=True)
            plain.add_block(lines, columns_of(records, plain.roles), columns_of(records, plain.fields))
            continue
        lines, cells = zip(*block, strict=True)
        if {*map(len, cells)} != {width}:
            wrong = next(at for at, row in enumerate(cells) if len(row) != width)
            raise file_error("columns", source=table.source, line=lines[wrong], found=len(cells[wrong]), expected=width)
        plain.add_block(lines, cells_of(cells, table.names, plain.roles), cells_of(cells, table.names, plain.fields))


def _json_lines(source: ImportSource, path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The object of every line; a line that the fast parser rejects goes to the strict one, which names the fault."""
    decode = json.JSONDecoder().decode
    for line, text in source.lines_of(path):
        if not text.strip() or text.startswith("#"):
            continue
        try:
            row = decode(text)
        except (ValueError, RecursionError):
            row = parse_strict_json(text.rstrip("\r\n"), source=path, line=line, nan_is_null=True)
        if not isinstance(row, dict):
            raise file_error("json-shape", source=path, line=line, kind=type(row).__name__, expected='{"query_id": …}')
        yield line, row


class UbiRows:
    """Adds the rows of one file to the tables; fields that are usual are read without the checks of unusual forms."""

    def __init__(self, tables: LogTables, source: str, file: int) -> None:
        options = tables.options
        self._tables, self._source, self._file = tables, source, file
        self._user = (options.user or USER).split(".")
        self._variant = (options.variant or VARIANT).split(".")
        self._fields = {path: path.split(".") for path in (*options.texts, *options.numbers)}
        self._value = options.value.split(".") if options.value else None

    def add(self, line: int, row: _Row) -> None:
        """Adds a query, an impression or another event."""
        inside = row.get("_source")
        row = inside if isinstance(inside, dict) else row
        counts = self._tables.counts
        key = self._text(row, "query_id", line)
        if is_event(row):
            return self._add_event(key, row, line)
        if not any(name in row for name in ("user_query", *HIT_IDS)):
            counts.read(OTHER_ROWS)
            return counts.drop(OTHER_ROWS, "that are neither queries nor events", line=line)
        counts.read(SESSIONS)
        if not key:
            return counts.drop(SESSIONS, "without a query_id", line=line)
        return self._add_query(key, row, line)

    def _add_query(self, key: str, row: _Row, line: int) -> None:
        tables, place = self._tables, joined_place(self._file, line)
        docs = self._shown(row, line)
        record = self._draft(row, docs, line)
        tables.counts.read(SHOWN, len(docs))
        codes = tables.docs.codes(docs)
        draft, teams, rankings = self._drafted(record, len(docs), place)
        text = self._text(row, "user_query", line) if tables.options.queries else ""
        tables.add_run(
            key,
            self._code(tables.users, self._at(row, self._user)),
            tables.seconds(row.get("timestamp")),
            tables.queries[text] if text else -1,
            self._variant_code(row, line),
            place,
            codes,
            range(1, len(docs) + 1),
            teams,
            draft=draft,
            rankings=rankings,
        )
        tables.add_fields({path: self._at(row, parts) for path, parts in self._fields.items()})

    def _draft(self, row: _Row, docs: list[str], line: int) -> DraftRecord | None:
        attributes = row.get("query_attributes")
        inside = object_in(attributes)
        logged = attributes if inside is None and RECORD in str(attributes or "") else (inside or {}).get(RECORD)
        record = object_in(logged)
        if record is None and logged is not None:
            what = f"the interleaving cannot be {type_phrase(logged)}" if inside else "query_attributes is not JSON"
            raise InputError(what, fix=_RECORD_FIX, source=self._source, line=line)
        return None if record is None else checked_draft(record, docs, self._source, line)

    def _drafted(self, record: DraftRecord | None, length: int, place: int) -> tuple[int, list[int], list[int]]:
        """The code of the interleaving, the teams by their codes, and the rankings, each as long as the longest."""
        tables = self._tables
        if record is None:
            return -1, [NO_TEAM] * length, []
        draft = tables.draft_code(record.experiment, record.method, record.systems, place)
        systems = tables.systems.codes(record.systems)
        teams = [SHARED if team < 0 else systems[team] for team in record.teams] or [NO_TEAM] * length
        width = max(map(len, record.rankings), default=0)
        rows = ([*tables.docs.codes(ranking), *[-1] * (width - len(ranking))] for ranking in record.rankings)
        return draft, teams, [doc for ranking in rows for doc in ranking]

    def _add_event(self, key: str, row: _Row, line: int) -> None:
        tables = self._tables
        action = self._text(row, "action_name", line)
        part = SHOWN if action == IMPRESSION else EVENTS
        tables.counts.read(part)
        if not key:
            return tables.counts.drop(part, "without a query_id", line=line)
        docs, rank, team = self._target(row, line)
        doc = docs[0] if docs else -1
        user = self._code(tables.users, self._at(row, self._user))
        time, place = tables.seconds(row.get("timestamp")), joined_place(self._file, line)
        if part == SHOWN:
            if doc < 0:
                return tables.counts.drop(part, "without an object_id", line=line)
            tables.add_run(key, user, time, -1, -1, place, (doc,), (rank,), (team,), kind=IMPRESSION_ROW)
            return tables.add_fields({})
        value = math.nan if self._value is None else tables.value(self._at(row, self._value))
        if len(docs) > 1:
            tables.second_id_event.append(len(tables.event_key))
            tables.second_id.append(docs[1])
        return tables.add_event(key, user, time, tables.actions[action], doc, rank, team, value, place)

    def _target(self, row: _Row, line: int) -> tuple[Sequence[int], int, int]:
        """The ids by which an event names its document, the rank that it names (-1 if none), and the team that it names."""
        tables, record = self._tables, UbiRecord(row, self._source, line)
        attributes = row.get("event_attributes")
        thing = attributes.get("object") if isinstance(attributes, dict) else None
        logged = [thing[name] for name in _IDS if thing.get(name) is not None] if isinstance(thing, dict) else []
        ids = [id_.strip() for id_ in logged if type(id_) is str]
        if len(ids) < len(logged) or not _are_plain(ids):
            ids = [id_ for name in _IDS for id_ in record.ids("event_attributes", "object", name)]
        rank = self._rank(attributes) if isinstance(attributes, dict) else None
        if rank is None and (not isinstance(attributes, dict) or not attributes.keys().isdisjoint(_PLACES)):
            rank = record.position()
            if rank is not None and not 0 <= rank < 1 << 31:
                tables.wrong_ranks, rank = tables.wrong_ranks + 1, None
        config = attributes.get("search_config") if isinstance(attributes, dict) else self._at(row, _CONFIG)
        team = tables.systems[config] if isinstance(config, str) and config else NO_TEAM
        return tables.docs.codes(dict.fromkeys(ids)), -1 if rank is None else rank, team

    @staticmethod
    def _rank(attributes: Mapping[str, Any]) -> int | None:
        position = attributes.get("position")
        rank = position.get("ordinal", position.get("index")) if isinstance(position, dict) else position
        if isinstance(rank, str) and rank.isdecimal() and len(rank) < 6:
            return int(rank)
        return rank if type(rank) is int and 0 <= rank < 1 << 31 else None

    def _shown(self, row: _Row, line: int) -> list[str]:
        """The documents shown, best first; a repeated one counts at its first rank, unless the list is an interleaving."""
        for name in HIT_IDS:
            value = row.get(name)
            if isinstance(value, str) and not isinstance(list_in_text(value), list):
                value = [part for part in value.split(",") if part.strip()]
            listed = value if isinstance(value, list) else []
            docs = [doc.strip() for doc in listed if type(doc) is str]
            if len(docs) < len(listed) or not _are_plain(docs):
                docs = UbiRecord({name: value}, self._source, line).ids(name)
            if docs:
                interleaved = isinstance(row.get("query_attributes"), dict | str) and RECORD in row["query_attributes"]
                return docs if interleaved else list(dict.fromkeys(docs))
        return []

    def _text(self, row: _Row, name: str, line: int) -> str:
        value = row.get(name)
        if type(value) is str:
            return value.strip() if value.isascii() else (TableCell(value, name, self._source, line).text() or "").strip()
        return text_of(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""

    def _at(self, row: _Row, path: list[str] | tuple[str, ...]) -> Any:
        """The value at the path: in objects, in JSON in a cell, or in a column of the whole path or of its last part.

        A name alone may be one of `query_attributes`.
        """
        value: Any = row
        for name in path:
            inside = value if isinstance(value, dict) else object_in(value)
            value = None if inside is None else inside.get(name)
        if value is None and len(path) > 1:
            value = row.get(".".join(path), row.get(path[-1]))
        if value is None and len(path) == 1:
            inside = object_in(row.get("query_attributes"))
            value = None if inside is None else inside.get(path[0])
        return value

    def _variant_code(self, row: _Row, line: int) -> int:
        value = self._at(row, self._variant)
        if isinstance(value, dict | list):
            raise variant_error(value, self._source, line)
        return self._code(self._tables.variants, text_of(value) if isinstance(value, float) else value)

    @staticmethod
    def _code(names: dict[str, int], value: Any) -> int:
        if isinstance(value, str):
            plain = value.strip()
            return -1 if plain in MISSING else names[plain]
        return names[str(value).lower()] if isinstance(value, int) else -1


def _are_plain(ids: Sequence[str]) -> bool:
    """Whether there are ids and none needs a check: they are not blank, and no character of them could be wrong."""
    together = "".join(ids)
    return bool(ids) and all(ids) and together.isascii() and "\0" not in together


class DraftRecord(NamedTuple):
    """A checked record: `teams` are places in `systems`, -1 for a shared document, and none of a method that gives no teams."""

    experiment: str
    method: str
    systems: tuple[str, ...]
    teams: tuple[int, ...]
    rankings: tuple[tuple[str, ...], ...]


def checked_draft(record: Mapping[str, Any], docs: Sequence[str], source: str, line: int) -> DraftRecord:
    """The record of a list that was shown; anything that does not fit the list is an error with its line."""

    def error(what: str, fix: str = _RECORD_FIX) -> InputError:
        return InputError(what, fix=fix, source=source, line=line)

    if record.get("version") != VERSION:
        what = f"the interleaving has version {for_message(repr(record.get('version')))}, and version {VERSION} is known"
        raise error(what, "update rankproof, or log Interleaved.to_dict() of this version")
    systems = _names_in(record.get("systems"))
    if systems is None or len(systems) < 2 or len(set(systems)) < len(systems):
        raise error("the systems of the interleaving are not two or more different names")
    method = record.get("method")
    if not isinstance(method, str) or method not in METHODS:
        raise error(f"the method of the interleaving is {for_message(repr(method))}", f"known methods: {', '.join(METHODS)}")
    if len(set(docs)) < len(docs):
        twice = next(doc for at, doc in enumerate(docs) if doc in docs[:at])
        raise error(
            f"document {for_message(twice)} is shown twice in one list", "log the documents of the Interleaved as they are"
        )
    experiment = str(record.get("experiment") or "")
    rankings = _logged_rankings(record, len(systems), error) if method in NEED_RANKINGS else ()
    teams = record.get("teams")
    if method == PAIRWISE and teams is None:
        return DraftRecord(experiment, method, systems, (), rankings)
    if not isinstance(teams, list) or not all(type(team) is int for team in teams):
        wrong = next((team for team in teams if type(team) is not int), None) if isinstance(teams, list) else teams
        held = "contain" if isinstance(teams, list) else "are"
        raise error(f"the teams of the interleaving {held} {type_phrase(wrong)}, not a list of whole numbers")
    if len(teams) != len(docs):
        what = f"the interleaving has {len(teams)} teams for {len(docs)} documents"
        raise error(what, "log as many documents as teams: query_response_hit_ids are the docs of the Interleaved")
    if outside := [team for team in teams if not -1 <= team < len(systems)]:
        raise error(f"team {outside[0]} is not from -1 to {len(systems) - 1}")
    return DraftRecord(experiment, method, systems, tuple(teams), rankings)


def _names_in(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        return None
    return tuple(value)


def _logged_rankings(record: Mapping[str, Any], count: int, error: Any) -> tuple[tuple[str, ...], ...]:
    """The rankings that the list was made of, one per system."""
    listed = record.get("rankings")
    rankings = [_names_in(ranking) if ranking != [] else () for ranking in listed] if isinstance(listed, list) else []
    if len(rankings) != count or None in rankings:
        raise error(f"the interleaving does not hold a ranking of each of its {count} systems")
    return tuple(ranking or () for ranking in rankings)
