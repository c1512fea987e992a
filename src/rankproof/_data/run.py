"""Runs: the documents that a system retrieved for each query, with their scores."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray, PackedIds, list_places, read_only, repeat_each
from rankproof._data.row_errors import row_error
from rankproof._data.text import pluralise
from rankproof._data.validation import are_plain_ids, checked_id, checked_keys
from rankproof._data.view import View, Viewed, collection_view
from rankproof.errors import InputError, UsageError, for_message, type_phrase

if TYPE_CHECKING:
    from rankproof._data.table import ColumnKind


class TermPart(NamedTuple):
    """A query term's part of a BM25 score: weight = idf x tf (k1 + 1) / (tf + norm) in 32 bits, 0 if the term is absent."""

    term: str
    tf: int
    df: int
    idf: float
    norm: float
    weight: float


NO_RANK = -(1 << 63)


class RunRow(NamedTuple):
    """One retrieved document; rank and line are None if the source has none."""

    query: str
    doc: str
    score: float
    rank: int | None = None
    line: int | None = None
    tag: str | None = None


def checked_score(value: object, *, query: str, doc: str, source: str = "", line: int | None = None) -> float:
    """The value as a score: a finite number."""
    if isinstance(value, np.floating | np.integer):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        kind = {"NoneType": "null", "str": "text"}.get(type(value).__name__, type(value).__name__)
        raise row_error("score-type", source=source, line=line, query=query, doc=doc, kind=kind)
    try:
        score = float(value)
    except OverflowError:
        raise row_error("score-range", source=source, line=line, token=str(value)) from None
    if not math.isfinite(score):
        raise row_error("score-infinite", source=source, line=line, token=str(score))
    return score


ScoresByQuery = Mapping[str, Mapping[str, float] | Sequence[str]]
"""Query to document to score, or query to the documents in order, best first."""


@dataclass(frozen=True, eq=False, slots=True, init=False, repr=False)
class Run(Viewed):
    """Rows grouped by query, in input order: rows of query i are offsets[i] to offsets[i + 1].

    `Run({query: {doc: score}})` or `Run({query: [docs, best first]})` makes one. A document may occur twice; alignment resolves
    duplicates. `docs` is a tuple, or PackedIds for a run from a file. `ranks` is None if no row has a rank, and holds NO_RANK for
    a row without one; `lines` is None for rows from memory.
    """

    name: str
    queries: tuple[str, ...]
    offsets: IntArray
    docs: tuple[str, ...] | PackedIds
    scores: FloatArray
    ranks: IntArray | None = None
    lines: IntArray | None = None
    tags: tuple[str, ...] = ()
    source: str = "run"

    def __init__(self, rankings: ScoresByQuery, *, name: str = "run", source: str = "run") -> None:
        if not isinstance(rankings, Mapping):
            raise UsageError(
                f"rankings cannot be {type_phrase(rankings)}", fix="pass {query: {document: score}} or {query: [documents]}"
            )
        columns = _plain_columns(rankings)
        if columns is not None:
            self._set(**Run.from_columns(**columns, name=name, source=source)._columns())
            return
        queries: list[str] = []
        made = Run.from_rows(_rows(rankings, source, queries), name=name, source=source, queries=queries)
        self._set(**made._columns())

    @classmethod
    def from_rows(cls, rows: Iterable[RunRow], *, name: str = "run", source: str = "run", queries: Iterable[str] = ()) -> Run:
        """A run from checked rows in any order; `queries` come first, also those without documents."""
        groups: dict[str, list[RunRow]] = {}
        tags: dict[str, None] = {}
        for row in rows:
            groups.setdefault(row.query, []).append(row)
            if row.tag is not None:
                tags[row.tag] = None
        groups = {query: groups.get(query, []) for query in (*queries, *groups)}
        flat = [row for group in groups.values() for row in group]
        return cls.from_columns(
            name=name,
            queries=tuple(groups),
            offsets=read_only(np.cumsum([0, *map(len, groups.values())], dtype=np.int64)),
            docs=tuple(row.doc for row in flat),
            scores=read_only(np.array([row.score for row in flat], dtype=np.float64)),
            ranks=_optional_column([row.rank for row in flat], missing=NO_RANK),
            lines=_optional_column([row.line for row in flat], missing=0),
            tags=tuple(tags),
            source=source,
        )

    @classmethod
    def from_dict(cls, scores: ScoresByQuery, *, name: str = "run", source: str = "run") -> Run:
        """A run from a dict of dicts; integer ids become their decimal text."""
        return cls(scores, name=name, source=source)

    @classmethod
    def from_columns(
        cls,
        *,
        name: str,
        queries: tuple[str, ...],
        offsets: IntArray,
        docs: tuple[str, ...] | PackedIds,
        scores: FloatArray,
        ranks: IntArray | None = None,
        lines: IntArray | None = None,
        tags: tuple[str, ...] = (),
        source: str = "run",
    ) -> Run:
        """A run from checked columns."""
        made = cls.__new__(cls)
        made._set(
            name=name,
            queries=queries,
            offsets=offsets,
            docs=docs,
            scores=scores,
            ranks=ranks,
            lines=lines,
            tags=tags,
            source=source,
        )
        return made

    @classmethod
    def from_rankings(cls, name: str, queries: Sequence[str], rankings: Iterable[tuple[Sequence[str], FloatArray]]) -> Run:
        """A run from each query's documents, best first, and their scores; positions are ranks."""
        docs: list[str] = []
        scores: list[FloatArray] = []
        for ranking, values in rankings:
            docs.extend(ranking)
            scores.append(values)
        lengths = np.array([len(part) for part in scores], dtype=np.int64)
        return cls.from_columns(
            name=name,
            queries=tuple(queries),
            offsets=read_only(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])),
            docs=tuple(docs),
            scores=read_only(np.concatenate([np.zeros(0), *scores])),
            ranks=read_only(list_places(lengths) + 1),
            source=name,
        )

    def rows(self) -> Iterator[RunRow]:
        """Every row, query by query, without tags."""
        for query, (start, end) in zip(self.queries, self._spans(), strict=True):
            docs, scores = self.docs[start:end], self.scores[start:end].tolist()
            ranks: Iterable[int | None] = repeat(None) if self.ranks is None else map(_rank, self.ranks[start:end].tolist())
            lines: Iterable[int | None] = repeat(None) if self.lines is None else self.lines[start:end].tolist()
            yield from map(RunRow, repeat(query), docs, scores, ranks, lines)

    def restricted_to(self, queries: Container[str]) -> Run:
        """The run with these queries only."""
        kept = [query for query in self.queries if query in queries]
        return self if len(kept) == len(self.queries) else self._with_queries(kept)

    def beginning_with(self, queries: Iterable[str]) -> Run:
        """The run with these queries first, also those without documents."""
        return self._with_queries(list(dict.fromkeys((*queries, *self.queries))))

    def _with_queries(self, queries: list[str]) -> Run:
        """The rows of these queries in this order, without tags; a query that the run lacks has no rows."""
        own = dict(zip(self.queries, self._spans(), strict=True))
        if len(own) < len(self.queries):
            wanted = frozenset(queries)
            rows = (row for row in self.rows() if row.query in wanted)
            return Run.from_rows(rows, name=self.name, source=self.source, queries=queries)
        spans = [own.get(query, (0, 0)) for query in queries]
        offsets = read_only(np.cumsum([0, *(end - start for start, end in spans)], dtype=np.int64))
        same_rows = self.changed(queries=tuple(queries), offsets=offsets, tags=())
        return same_rows if offsets[-1] == len(self.docs) and _follow_on(spans) else same_rows._with_blocks(spans)

    def first_rows(self, count: int) -> Run:
        """The run with the first rows of each query."""
        if int(np.diff(self.offsets).max(initial=0)) <= count:
            return self
        starts, ends = self.offsets[:-1], np.minimum(self.offsets[1:], self.offsets[:-1] + count)
        spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
        rows = list_places(ends - starts) + repeat_each(starts, ends - starts)
        docs = self.docs.blocks(spans) if isinstance(self.docs, PackedIds) else tuple(_joined(self.docs, spans))
        ranks, lines = (None if column is None else known_column(column[rows]) for column in (self.ranks, self.lines))
        offsets = read_only(np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - starts)]))
        return self.changed(offsets=offsets, docs=docs, scores=read_only(self.scores[rows]), ranks=ranks, lines=lines)

    def _with_blocks(self, spans: Sequence[tuple[int, int]]) -> Run:
        """The run with the rows of these spans, in this order."""
        docs = self.docs.blocks(spans) if isinstance(self.docs, PackedIds) else tuple(_joined(self.docs, spans))
        rows = np.concatenate([np.zeros(0, np.int64), *(np.arange(start, end) for start, end in spans)])
        ranks, lines = (None if column is None else known_column(column[rows]) for column in (self.ranks, self.lines))
        return self.changed(docs=docs, scores=read_only(self.scores[rows]), ranks=ranks, lines=lines)

    def changed(self, **columns: Any) -> Run:
        """The run with other columns, name or source."""
        return Run.from_columns(**{**self._columns(), **columns})

    def _columns(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def _set(self, **columns: Any) -> None:
        for name, value in columns.items():
            object.__setattr__(self, name, value)

    def _spans(self) -> Iterator[tuple[int, int]]:
        return pairwise(self.offsets.tolist())

    def __len__(self) -> int:
        return len(self.queries)

    def _view(self) -> View:
        queries, rows = pluralise(len(self.queries), "query", "queries"), pluralise(len(self.docs), "row")
        cells = ((row.query, row.doc, row.score) for row in self.rows())
        columns: dict[str, ColumnKind] = {"query": "text", "document": "text", "score": "value"}
        return collection_view(f"Run {self.name}: {queries}, {rows}", columns, cells, len(self.docs))


def join_runs(parts: Sequence[Run], *, name: str, source: str) -> Run:
    """The run whose queries are in several parts; a query in two of them is an error."""
    sources: dict[str, str] = {}
    for part in parts:
        for query in part.queries:
            if sources.setdefault(query, part.source) != part.source:
                raise repeated_query_error(query, sources[query], part.source)
    sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
    have_ranks = all(part.ranks is not None for part in parts)
    return Run.from_columns(
        name=name,
        queries=tuple(query for part in parts for query in part.queries),
        offsets=read_only(np.cumsum(sizes, dtype=np.int64)),
        docs=tuple(doc for part in parts for doc in part.docs),
        scores=read_only(np.concatenate([part.scores for part in parts])),
        ranks=read_only(np.concatenate([part.ranks for part in parts if part.ranks is not None])) if have_ranks else None,
        tags=tuple(dict.fromkeys(tag for part in parts for tag in part.tags)),
        source=source,
    )


def repeated_query_error(query: str, first: str, second: str) -> InputError:
    """A query that is in two parts of a run."""
    what = f"query {for_message(query)} is in {for_message(first)} too"
    return InputError(
        what, fix="put all rows of a query into one file, or name files of several systems one by one", source=second
    )


def known_column(column: IntArray) -> IntArray | None:
    """The ranks or lines, None if no row has one."""
    return None if bool(np.all(column == NO_RANK)) else read_only(column)


def _rank(value: int) -> int | None:
    return None if value == NO_RANK else value


def _follow_on(spans: Iterable[tuple[int, int]]) -> bool:
    """Whether each span begins where the previous one ends; empty spans are ignored."""
    full = [span for span in spans if span[0] < span[1]]
    return all(left[1] == right[0] for left, right in pairwise(full))


def _joined(docs: Sequence[str], spans: Iterable[tuple[int, int]]) -> Iterator[str]:
    for start, end in spans:
        yield from docs[start:end]


def _optional_column(values: list[int | None], *, missing: int) -> IntArray | None:
    if all(value is None for value in values):
        return None
    return read_only(np.array([missing if value is None else value for value in values], dtype=np.int64))


def _plain_columns(rankings: ScoresByQuery) -> dict[str, Any] | None:
    """The columns of a dict of dicts from text to float; None for anything else, which `_rows` checks row by row.

    Whole columns are checked at once, as a check for each row takes ten times as long as everything else.
    """
    parts = [ranking for ranking in rankings.values() if type(ranking) is dict]
    if len(parts) < len(rankings):
        return None
    docs = tuple(chain.from_iterable(parts))
    values = [score for part in parts for score in part.values()]
    if not (are_plain_ids(docs) and are_plain_ids(tuple(rankings)) and set(map(type, values)) <= {float}):
        return None
    scores = np.array(values, dtype=np.float64)
    if not np.isfinite(scores).all():
        return None
    offsets = read_only(np.cumsum([0, *map(len, parts)], dtype=np.int64))
    return {"queries": tuple(rankings), "offsets": offsets, "docs": docs, "scores": read_only(scores)}


def _rows(rankings: ScoresByQuery, source: str, queries: list[str]) -> Iterator[RunRow]:
    for query_id, ranking in zip(checked_keys(rankings, "query", source=source), rankings.values(), strict=True):
        queries.append(query_id)
        if isinstance(ranking, Mapping):
            for doc_id, score in zip(checked_keys(ranking, "document", source=source), ranking.values(), strict=True):
                yield RunRow(query_id, doc_id, checked_score(score, query=query_id, doc=doc_id, source=source))
        elif is_ranked_list(ranking):
            for rank, doc in enumerate(ranking, start=1):
                yield RunRow(query_id, checked_id(doc, "document", source=source), -float(rank), rank)
        else:
            raise row_error("not-a-mapping", source=source, query=query_id, kind=type(ranking).__name__, value="a number")


def is_ranked_list(value: object) -> bool:
    """Whether the value is a list of documents in order: a list, a tuple or an array."""
    return isinstance(value, list | tuple | np.ndarray)


Part = Literal["embed", "search", "network", "rerank", "generate"]
PARTS: tuple[Part, ...] = get_args(Part)
"""The parts of the time that a query takes."""
