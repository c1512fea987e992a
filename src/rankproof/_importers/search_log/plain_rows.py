"""Rows of plain tables: one row per document shown or per event."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from rankproof._data.arrays import BoolArray
from rankproof._formats.columns import COLUMN_NAMES, normalised_name
from rankproof._formats.rows import rank_of_value
from rankproof._importers.search_log.log import NO_TEAM, SHARED, joined_place
from rankproof._importers.search_log.options import MISSING, LogOptions
from rankproof._importers.search_log.tables import EVENTS, SHOWN, LogTables
from rankproof.errors import InputError, UsageError, closest_name, for_message, type_phrase

ROLES: Mapping[str, tuple[str, ...]] = {
    "session": ("session", "session_id", "query_id", "search_id", "visit", "visit_id", "impression_id", "request_id"),
    "user": ("user", "user_id", "client_id", "visitor", "visitor_id", "customer_id", "uid"),
    "time": ("time", "timestamp", "ts", "datetime", "date", "event_time", "event_timestamp", "hit_timestamp"),
    "system": ("system", "team", "ranker", "search_config"),
    "rank": ("rank", "position", "slot", "list_position", "result_position"),
    "doc": (*COLUMN_NAMES["document"], "object_id", "product_sku"),
    "action": ("action", "action_name", "event", "event_type", "event_name"),
    "variant": ("variant", "arm", "bucket", "experiment_group", "test_group", "ab_group", "ab_variant"),
    "value": ("value", "amount", "revenue", "price"),
    "query": ("query", "user_query", "query_text", "search_term", "search_query", "keywords"),
}
"""The usual names of the columns of a plain log by role, in lower case with _ for other marks and before capitals."""
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
REQUIRED = ("session", "action")
PLAIN_ROW = 2
"""The kind of a row of `LogTables.runs` from a plain table."""
SHOWN_ACTIONS = {
    *("search", "query", "impression", "shown", "show", "view", "viewed", "exposure", "displayed", ""),
    *("results", "search_results", "view_search_results", "view_item_list"),
}
_EMPTY = frozenset(("",))
_SHARED_NAMES = {"shared", "none", "both", "-1"}


def find_roles(names: Sequence[str], options: LogOptions, source: str) -> dict[str, str]:
    """The column of each role: those that the options name, the others by their names."""
    if unknown := [for_message(role) for role in options.columns if role not in ROLES]:
        fix = f"choose among {', '.join(ROLES)}, as in --set session=COLUMN"
        raise UsageError(f"no column of a log has the role {' or '.join(unknown)}", fix=fix)
    if not names:
        raise InputError("the table has no columns", fix="check the program that wrote it", source=source)
    listed = ", ".join(map(for_message, names))
    if absent := {role: name for role, name in options.columns.items() if name not in names}:
        what = f"no column is called {' or '.join(map(for_message, absent.values()))}; columns: {listed}"
        raise InputError(what, fix=_set_flag(absent, names), source=source, line=1)
    left = [name for name in reversed(names) if name not in options.columns.values()]
    plain = {normalised_name(_WORD_START.sub("_", name)): name for name in left} | {normalised_name(name): name for name in left}
    roles = {role: next((plain[name] for name in usual if name in plain), None) for role, usual in ROLES.items()}
    roles |= {"user": options.user or roles["user"], "variant": options.variant or roles["variant"], **options.columns}
    if options.value is not None:
        roles["value"] = _value_column(options.value, names, roles["value"], source)
    if roles["system"] == roles["variant"]:
        roles["system"] = None
    columns = {role: name for role, name in roles.items() if name is not None and name in names}
    if missing := {role: "" for role in REQUIRED if role not in columns}:
        what = f"no column for the {' and the '.join(missing)} of a row; columns: {listed}"
        raise InputError(what, fix=_set_flag(missing, names), source=source, line=1)
    return columns


def _set_flag(wrong: Mapping[str, str], names: Sequence[str]) -> str:
    """The flag that names the columns of these roles: those with the nearest names, else a placeholder."""
    pairs = [f"{role}={closest_name(name or role, names) or 'COLUMN'}" for role, name in wrong.items()]
    return f"name {'it' if len(pairs) == 1 else 'them'} with --set {for_message(shlex.quote(','.join(pairs)))}"


def _value_column(path: str, names: Sequence[str], usual: str | None, source: str) -> str:
    """The column of the number that a metric adds up: the one of this name, else that of the role with this name."""
    column = path.rpartition(".")[2]
    if column in names:
        return column
    if usual is not None and normalised_name(column) in ROLES["value"]:
        return usual
    what = f"no column is called {for_message(column)}; columns: {', '.join(map(for_message, names))}"
    raise InputError(what, fix="name the column of the number, as in Revenue(COLUMN)", source=source, line=1)


class PlainRows:
    """Adds the rows of one plain table to the tables, a block of rows at a time."""

    def __init__(self, tables: LogTables, names: Sequence[str], source: str, file: int) -> None:
        options = tables.options
        self.roles = find_roles(names, options, source)
        self._tables, self._source, self._file = tables, source, file
        tables.unread_columns |= dict.fromkeys(name for name in names if name not in self.roles.values())
        self.fields = {path: path.rpartition(".")[2] for path in (*options.texts, *options.numbers)}
        self._is_shown: list[bool] = []

    def add_block(self, lines: Sequence[int], columns: Mapping[str, Sequence[Any]], fields: Mapping[str, Sequence[Any]]) -> None:
        """Adds rows with these lines; `columns` holds cells by role, `fields` the cells of further fields."""
        tables, size = self._tables, len(lines)
        sessions = _texts(columns["session"])
        action = np.array(tables.actions.codes(_texts(columns["action"])), dtype=np.int32)
        self._is_shown += [name.lower() in SHOWN_ACTIONS for name in list(tables.actions)[len(self._is_shown) :]]
        named = np.fromiter(map(bool, sessions), bool, size)
        shown = np.array(self._is_shown, dtype=bool)[action]
        tables.counts.read(SHOWN, int(shown.sum()))
        tables.counts.read(EVENTS, int(size - shown.sum()))
        for part, rows in ((SHOWN, shown & ~named), (EVENTS, ~shown & ~named)):
            if rows.any():
                tables.counts.drop(part, "without a session", line=lines[int(rows.argmax())], count=int(rows.sum()))
        self._check_variants(columns.get("variant", ()), lines)
        block = _Block(tables, columns, fields, lines, self._file, np.fromiter(map(hash, sessions), np.int64, size))
        block.add_shown(shown & named)
        block.add_events(~shown & named, action)
        tables.pack()

    def _check_variants(self, cells: Sequence[Any], lines: Sequence[int]) -> None:
        wrong = next((at for at, cell in enumerate(cells) if isinstance(cell, dict | list)), None)
        if wrong is not None:
            raise variant_error(cells[wrong], self._source, lines[wrong])


def variant_error(value: object, source: str, line: int) -> InputError:
    """The error of a variant that is a structure, whose text would be a name of its own for every user."""
    fix = "log the name of the variant as text; --variant names its field, such as query_attributes.variant"
    return InputError(f"the variant cannot be {type_phrase(value)}", fix=fix, source=source, line=line)


class _Block:
    """Rows of one block as columns of codes."""

    def __init__(
        self,
        tables: LogTables,
        columns: Mapping[str, Sequence[Any]],
        fields: Mapping[str, Sequence[Any]],
        lines: Sequence[int],
        file: int,
        keys: np.ndarray[Any, np.dtype[np.int64]],
    ) -> None:
        self._tables, self._columns, self._fields, self._lines, self._file = tables, columns, fields, lines, file
        self._keys = keys
        size = len(lines)
        self._users = _codes(tables.users, columns.get("user"), size, MISSING)
        self._docs = _codes(tables.docs, columns.get("doc"), size)
        self._variants = _codes(tables.variants, columns.get("variant"), size, MISSING)
        ranks = columns.get("rank", ("",) * size)
        self._ranks = np.array(list(map(_rank, ranks)), dtype=np.int32)
        tables.wrong_ranks += sum(bool(text_of(ranks[row])) for row in np.flatnonzero(self._ranks < 0).tolist())
        names, systems = _texts(columns.get("system", ("",) * size)), tables.systems
        codes = [NO_TEAM if not name else SHARED if name.lower() in _SHARED_NAMES else systems[name] for name in names]
        self._teams = np.array(codes, dtype=np.int32)
        # A document that was shown for no system is one of all of them.
        self._shown_teams = np.where(self._teams == NO_TEAM, SHARED, self._teams) if "system" in columns else self._teams

    def add_shown(self, rows: BoolArray) -> None:
        """Adds the documents shown; consecutive rows of one session are one run."""
        at = np.flatnonzero(rows)
        if not len(at):
            return
        tables = self._tables
        first = np.ones(len(at), dtype=bool)
        for column in (self._keys, self._users, self._variants):
            first[1:] &= column[at[1:]] == column[at[:-1]]
        first[1:] = ~first[1:]
        starts = at[first]
        has_doc = (self._docs[at] >= 0) | (self._ranks[at] >= 0)
        tables.key.extend_array(self._keys[starts])
        tables.user.extend_array(self._users[starts])
        tables.variant.extend_array(self._variants[starts])
        tables.time.extend_array(self._times(starts))
        tables.place.extend_array(self._places(starts))
        tables.query.extend_array(self._queries(starts))
        tables.draft.extend_array(np.full(len(starts), -1, dtype=np.int32))
        tables.kind.extend_array(np.full(len(starts), PLAIN_ROW, dtype=np.int8))
        tables.shown.extend_array(np.add.reduceat(has_doc.astype(np.int32), np.flatnonzero(first)).astype(np.int32))
        tables.ranking_start.extend_array(np.full(len(starts), len(tables.rankings), dtype=np.int64))
        slots = at[has_doc]
        tables.slot_doc.extend_array(self._docs[slots])
        tables.slot_rank.extend_array(self._ranks[slots])
        tables.slot_team.extend_array(self._shown_teams[slots])
        for row in starts.tolist() if self._fields else ():
            tables.add_fields({path: cells[row] for path, cells in self._fields.items()})

    def add_events(self, rows: BoolArray, action: np.ndarray[Any, Any]) -> None:
        """Adds what users did."""
        at = np.flatnonzero(rows)
        tables, values = self._tables, self._columns.get("value")
        tables.event_key.extend_array(self._keys[at])
        tables.event_user.extend_array(self._users[at])
        tables.event_doc.extend_array(self._docs[at])
        tables.event_rank.extend_array(self._ranks[at])
        tables.event_action.extend_array(action[at])
        tables.event_team.extend_array(self._teams[at])
        tables.event_variant.extend_array(self._variants[at])
        tables.event_time.extend_array(self._times(at))
        tables.event_place.extend_array(self._places(at))
        numbers = np.full(len(at), np.nan) if values is None else np.array([tables.value(values[row]) for row in at.tolist()])
        tables.event_value.extend_array(numbers.astype(np.float64))

    def _times(self, at: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
        times = self._columns.get("time")
        if times is None:
            return np.full(len(at), np.nan)
        return np.fromiter((self._tables.seconds(times[row]) for row in at.tolist()), np.float64, len(at))

    def _places(self, at: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.fromiter((joined_place(self._file, self._lines[row]) for row in at.tolist()), np.int64, len(at))

    def _queries(self, at: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int32]]:
        texts, queries = self._columns.get("query"), self._tables.queries
        if texts is None or not self._tables.options.queries:
            return np.full(len(at), -1, dtype=np.int32)
        return np.fromiter((queries[text] if (text := text_of(texts[row])) else -1 for row in at.tolist()), np.int32, len(at))


def _codes(
    names: dict[str, int], cells: Sequence[Any] | None, size: int, missing: frozenset[str] = _EMPTY
) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The codes of the cells; -1 for those that hold nothing."""
    if cells is None:
        return np.full(size, -1, dtype=np.int32)
    texts = _texts(cells)
    if not missing.isdisjoint(texts):
        return np.array([-1 if text in missing else names[text] for text in texts], dtype=np.int32)
    return np.fromiter(map(names.__getitem__, texts), np.int32, size)


def _texts(cells: Sequence[Any]) -> list[str]:
    """The cells as texts without white space around them."""
    try:
        return list(map(str.strip, cells))
    except TypeError:
        return list(map(text_of, cells))


def text_of(value: Any) -> str:
    """The value as text without white space around it; empty for null and NaN."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None or value != value else str(value)


def _rank(value: Any) -> int:
    """The rank, -1 if the cell is no whole number from 0 that fits."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 6:
        return int(value)
    rank = rank_of_value(value)
    return rank if rank is not None and 0 <= rank < 1 << 31 else -1


def columns_of(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, list[Any]]:
    """The cells of rows by role."""
    return {role: [row.get(name) for row in rows] for role, name in names.items()}


def cells_of(rows: Sequence[Sequence[Any]], names: Sequence[str], wanted: Mapping[str, str]) -> dict[str, Sequence[Any]]:
    """The cells of rows without names, by role."""
    columns = list(zip(*rows, strict=True))
    empty = tuple(repeat(None, len(rows)))
    return {role: columns[names.index(name)] if name in names else empty for role, name in wanted.items()}
