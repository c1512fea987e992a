"""A run file as a stage: the rankings of a system that ran elsewhere, and its answers."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from rankproof._data.answers import Answer, Answers
from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.ordering import Ranking, ranked_run
from rankproof._data.row_errors import OnDuplicate
from rankproof._data.text import first_ids, pluralise
from rankproof._data.validation import Order, ReadOptions
from rankproof._formats.detect import open_file
from rankproof._formats.read import format_is_detected
from rankproof._formats.texts import read_answers
from rankproof._io.open import open_source
from rankproof._registry import Option
from rankproof.errors import InputError, in_python
from rankproof.stages._base import BuildContext, QueryTimer, Searcher, Stage
from rankproof.stages._fields import Depth, check_settings

_MAX_READ = 8


@dataclass(frozen=True)
class RunFile(Stage):
    """The rankings of a run file, such as those of a search system in production; they have no times.

    The file may have any format that `rankproof eval` reads. Its content is the identity, not its place. Documents that the
    corpus does not have keep their rank. `answers` is a file of the system's answers, as `rankproof answers` reads it.
    """

    path: Annotated[str, Option("the path of the run file, relative to the experiment file; any run format", role="path")] = (
        field(metadata=NOT_IN_IDENTITY)
    )
    depth: Depth = 10_000
    order: Annotated[Order, Option("what orders a ranking: score or rank")] = "score"
    lower_is_better: Annotated[bool, Option("true for distances")] = False
    on_duplicate: Annotated[
        OnDuplicate, Option("a document that a ranking has twice: error, keep-best, keep-first or keep-last")
    ] = "error"
    answers: Annotated[
        str | None,
        Option(
            "a file of the system's answers, one JSON object per line; its path is relative to the experiment file", role="path"
        ),
    ] = field(default=None, metadata=NOT_IN_IDENTITY)
    kind: ClassVar[Literal["run"]] = "run"
    needs_documents: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("path", "answers"):
            if isinstance(getattr(self, name), os.PathLike):
                object.__setattr__(self, name, os.fspath(getattr(self, name)))
        check_settings(self)

    @property
    def gives_answers(self) -> bool:
        """Whether there is a file of answers."""
        return self.answers is not None

    def revision(self) -> str:
        """The sha256 of the run file, and that of the file of answers if there is one."""
        return ", ".join(_sha256(path, *_stamp(path)) for path in (self.path, self.answers) if path is not None)

    def rankings(self) -> Mapping[str, Ranking]:
        """The rankings of the file by query, best first, whole."""
        how = ReadOptions(self.order, self.lower_is_better, on_duplicate=self.on_duplicate)
        try:
            with format_is_detected():
                return _rankings(self.path, how, *_stamp(self.path))
        except InputError as error:
            # The settings of the stage have the names of arguments, not of options.
            raise InputError(error.what, fix=in_python(error.fix), source=error.source, line=error.line) from None

    def build(self, context: BuildContext) -> RunFileSearcher:
        """Reads the files."""
        return (
            RunFileSearcher(self) if self.answers is None else AnsweredRunSearcher(self, read_answers(open_source(self.answers)))
        )


class RunFileSearcher(Searcher):
    """Looks the rankings of a run file up; a query that the file does not have gets an empty ranking."""

    def __init__(self, stage: RunFile) -> None:
        self._stage, self._rankings = stage, stage.rankings()
        self._asked: dict[str, None] = {}

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The ranking of the query with at most `depth` documents."""
        self._asked[query.id] = None
        docs, scores = self._rankings.get(query.id, ([], np.zeros(0)))
        return docs[: self._stage.depth], scores[: self._stage.depth]

    def facts(self) -> Mapping[str, Any]:
        """The file and its sha256."""
        return {"file": self._stage.path, "sha256": self._stage.revision(), "queries_in_file": len(self._rankings)}

    def notes(self) -> Sequence[str]:
        """Queries that only the experiment or only the file has, and rankings that were cut."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        name, depth = os.path.basename(self._stage.path), self._stage.depth
        if missing := [query for query in self._asked if query not in self._rankings]:
            share = f"{len(missing)} of {pluralise(len(self._asked), 'query', 'queries')}"
            yield f"{share} not in {name} ({first_ids(missing)}): the rankings are empty and score 0"
        if others := [query for query in self._rankings if query not in self._asked]:
            count = pluralise(len(others), "query", "queries")
            yield f"{count} of {name} not among the queries of the experiment ({first_ids(others)}): left out"
        if cut := sum(len(self._rankings[query][0]) > depth for query in self._asked if query in self._rankings):
            yield f"{pluralise(cut, 'ranking')} of {name} cut to {depth} documents (depth)"


class AnsweredRunSearcher(RunFileSearcher):
    """Looks the rankings and the answers of a system up."""

    def __init__(self, stage: RunFile, answers: Answers) -> None:
        super().__init__(stage)
        self._answers = answers

    def answer(self, query: Query, ranking: Ranking, timer: QueryTimer) -> Answer:
        """The answer to the query, generated from the ranking unless the file names the passages of all answers."""
        answer = self._answers.get(query.id, Answer("", given=tuple(ranking[0]), state="missing"))
        return answer if self._answers.given_known else replace(answer, given=tuple(ranking[0]))

    def repeats(self) -> Mapping[str, tuple[Answer, ...]]:
        """The further answers to the queries that were asked."""
        return {query: further for query, further in self._answers.repeats.items() if query in self._asked}

    def _notes(self) -> Iterator[str]:
        yield from super()._notes()
        name = os.path.basename(self._answers.source)
        if missing := [query for query in self._asked if query not in self._answers]:
            share = f"{len(missing)} of {pluralise(len(self._asked), 'query', 'queries')}"
            yield f"{share} not in {name} ({first_ids(missing)}): no answer, which scores 0"
        if others := [query for query in self._answers if query not in self._asked]:
            count = pluralise(len(others), "answer")
            yield f"{count} of {name} to queries that the experiment does not have ({first_ids(others)}): left out"


def _stamp(path: str) -> tuple[int, int]:
    """Modification time and size, by which a changed file is read again."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", fix="specify a file that exists", source=path) from None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=_MAX_READ)
def _sha256(path: str, modified: int, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=_MAX_READ)
def _rankings(path: str, how: ReadOptions, modified: int, size: int) -> Mapping[str, Ranking]:
    run = ranked_run(open_file(path).run(read_options=how), how)
    spans = zip(run.queries, pairwise(run.offsets.tolist()), strict=True)
    return {query: (list(run.docs[start:end]), run.scores[start:end]) for query, (start, end) in spans}
