"""An open collection of an engine that knows documents by number, in this process or on a server."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from re import compile as pattern
from types import TracebackType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._data.ordering import Ranking
from rankproof._registry import Option
from rankproof.errors import ExternalError, UsageError
from rankproof.stores._base import OpenStore, checked_batch, checked_depth, checked_dimensions, checked_vectors, cut_ties_by_id

PREFIX = "rankproof_"
_PLAIN_NAME = pattern(r"[a-z0-9_]{1,80}")

ExactOrHnsw = Annotated[Literal["exact", "hnsw"], Option("exact search or hnsw index")]
BatchSize = Annotated[int, Option("how many vectors are written at once", least=1, most=100_000)]
Timeout = Annotated[float, Option("maximum seconds to connect and to wait for data", least=0.01, most=86_400)]
IndexTimeout = Annotated[float, Option("maximum seconds until a server has built its index", least=0.01, most=1e6)]
"""The settings that these engines share."""

Hits = Sequence[tuple[Any, Any]]
"""The number of each document and its inner product, as an engine returned them."""


def collection_name(name: str) -> str:
    """The name with the prefix of rankproof; one that some engine does not take is replaced by a digest."""
    plain = name.removeprefix(PREFIX)
    if _PLAIN_NAME.fullmatch(plain):
        return f"{PREFIX}{plain}"
    return f"{PREFIX}{sha256(name.encode(errors='surrogatepass')).hexdigest()[:40]}"


class OpenCollection(OpenStore):
    """An open collection, dropped when it is closed; a subclass has the calls of its engine.

    The engine gets a number for each document, because its own ids may be integers only, or short.
    """

    engine: ClassVar[str]
    most_results: ClassVar[int] = 2**31 - 1
    """The most documents that the engine returns for a query."""
    most_dimensions: ClassVar[int]

    def __init__(self, dimensions: int, *, exact: bool, batch: int) -> None:
        if checked_dimensions(dimensions) > self.most_dimensions:
            what = f"{dimensions:,} dimensions, but {self.engine} allows at most {self.most_dimensions:,}"
            raise UsageError(what, fix="choose a model with fewer dimensions, or the store memory")
        self._dimensions, self._exact, self._batch = dimensions, exact, batch
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._is_ready, self._short_replies = True, 0

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds the vectors in batches; an existing id gets the new vector."""
        names, rows = checked_batch(ids, vectors, self._dimensions)
        for start in range(0, len(names), self._batch):
            self._add_batch(names[start : start + self._batch], rows[start : start + self._batch])

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        """For each row the k nearest vectors that the engine finds; ties: larger id first."""
        depth, queries = checked_depth(k), checked_vectors(vectors, self._dimensions)
        if min(depth, len(self._names)) > self.most_results:
            what = f"{depth:,} results for a query, but {self.engine} returns at most {self.most_results:,}"
            raise UsageError(what, fix=f"set depth to {self.most_results:,} or less")
        if not self._names:
            return [([], np.zeros(0)) for _ in queries]
        self._make_ready()
        return [cut_ties_by_id(partial(self._ranking, query.tolist()), depth) for query in queries]

    def size(self) -> int:
        """The bytes that the engine stores, or those of the vectors if it does not tell; a missing index is built first."""
        self._make_ready()
        return self._stored_bytes()

    def facts(self) -> Mapping[str, Any]:
        """Engine, versions and settings; `short_replies` counts the replies of an approximate index that were too short."""
        return {**self._engine_facts(), **({"short_replies": self._short_replies} if self._short_replies else {})}

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._drop()
        except ExternalError:
            if error is None:
                raise
        finally:
            self._close()

    @abstractmethod
    def _write(self, numbers: list[int], names: list[str], rows: Matrix, *, is_new: bool) -> None:
        """Writes a batch; `is_new` says that none of the documents was written before."""

    @abstractmethod
    def _finish(self) -> None:
        """Makes everything that was written visible to a search, and builds the index."""

    @abstractmethod
    def _count(self) -> int:
        """How many documents the engine has."""

    @abstractmethod
    def _nearest(self, query: list[float], limit: int) -> Hits:
        """The nearest documents in any order."""

    @abstractmethod
    def _engine_facts(self) -> Mapping[str, Any]:
        """Engine, versions and settings."""

    @abstractmethod
    def _drop(self) -> None:
        """Deletes the collection."""

    @abstractmethod
    def _close(self) -> None:
        """Frees what is open in this process; raises nothing."""

    def _stored_bytes(self) -> int:
        return len(self._names) * self._dimensions * 4

    def _add_batch(self, names: list[str], rows: Matrix) -> None:
        """Writes a batch; new documents get their numbers once they are written."""
        new = [name for name in names if name not in self._numbers]
        numbers = dict(zip(new, range(len(self._names), len(self._names) + len(new)), strict=True))
        self._is_ready = False
        every = [numbers[name] if name in numbers else self._numbers[name] for name in names]
        self._write(every, names, rows, is_new=len(new) == len(names))
        self._numbers.update(numbers)
        self._names += new

    def _make_ready(self) -> None:
        if self._is_ready:
            return
        self._finish()
        count = self._count()
        if count != len(self._names):
            what = f"{self.engine} has {count:,} documents, but {len(self._names):,} were added"
            raise ExternalError(f"{what}; do not change the collection while it is in use, and run again")
        self._is_ready = True

    def _ranking(self, query: list[float], limit: int) -> Ranking:
        """The ids and scores of a reply; one that cannot be right is an error."""
        wanted = min(limit, len(self._names), self.most_results)
        hits = self._nearest(query, wanted)
        numbers = [_document_number(number, len(self._names)) for number, _ in hits]
        # Adding 0 turns -0.0 into 0.0, which other stores return.
        scores = np.array([score if type(score) in (int, float) else np.nan for _, score in hits], np.float64) + 0.0
        if None in numbers or len(set(numbers)) < len(numbers):
            raise self._wrong_reply("has a document that was not added, or the same one twice")
        if not np.isfinite(scores).all():
            raise self._wrong_reply("has a score that is not a finite number")
        if len(hits) > wanted or (len(hits) < wanted and self._exact):
            raise self._wrong_reply(f"has {len(hits):,} documents where {wanted:,} were requested")
        self._short_replies += len(hits) < wanted
        return [self._names[number] for number in numbers if number is not None], scores

    def _wrong_reply(self, why: str) -> ExternalError:
        return ExternalError(f"the reply of {self.engine} {why}; do not change the collection while it is in use, and run again")


def _document_number(number: Any, count: int) -> int | None:
    """The number of a document, None if there is no such document; some engines send it as text."""
    whole = int(number) if isinstance(number, str) and number.isascii() and number.isdecimal() else number
    return whole if type(whole) is int and 0 <= whole < count else None


MADE_BY = "made by rankproof, which deletes it when it is done"
"""The first part of the mark on a collection; the second is a token of the run."""
_MAX_BODY_BYTES, _BYTES_OF_A_NUMBER = 8 << 20, 22


def rows_in_a_request(batch: int, dimensions: int) -> int:
    """At most `batch` rows, fewer if their JSON would be longer than servers take by default."""
    return max(1, min(batch, _MAX_BODY_BYTES // (max(dimensions, 1) * _BYTES_OF_A_NUMBER)))


class ServerCollection(OpenCollection):
    """A collection on a server: it replaces that of a run that was killed, but no other, and is deleted when it is closed."""

    def __init__(self, url: str, name: str, dimensions: int, *, exact: bool, batch: int) -> None:
        super().__init__(dimensions, exact=exact, batch=rows_in_a_request(batch, dimensions))
        self._url, self._collection = url, collection_name(name)
        self._mark = f"{MADE_BY}; run {secrets.token_hex(8)}"
        self._connect()
        try:
            self._version = self._server_version()
            self._delete_abandoned()
            self._create_marked()
        except BaseException:
            self._disconnect()
            raise

    @abstractmethod
    def _connect(self) -> None:
        """Opens the connection."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Closes the connection; raises nothing."""

    @abstractmethod
    def _server_version(self) -> str:
        """The version of the server; an error if it is another engine or too old."""

    @abstractmethod
    def _found_mark(self) -> str | None:
        """The mark of the collection of that name, "" if it has none, None if there is no such collection."""

    @abstractmethod
    def _create(self) -> None:
        """Creates the collection with the mark."""

    @abstractmethod
    def _delete(self) -> None:
        """Deletes the collection."""

    def _delete_abandoned(self) -> None:
        mark = self._found_mark()
        if mark is None:
            return
        if not mark.startswith(MADE_BY):
            raise ExternalError(f"{self._url}: {self._collection} was not created by rankproof; rename or delete it")
        self._delete()

    def _create_marked(self) -> None:
        try:
            self._create()
        except BaseException:
            # A request may be carried out although its reply is lost.
            with suppress(ExternalError):
                self._drop()
            raise

    def _drop(self) -> None:
        mark = self._found_mark()
        if mark == self._mark:
            self._delete()
        elif mark is not None:
            what = f"{self._url}: another run replaced {self._collection} while it was in use"
            raise ExternalError(f"{what}; start the next run when this one has ended, and run again")

    def _close(self) -> None:
        self._disconnect()
