"""The page on which people edit and confirm nuggets, and the file that holds them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import Any, get_args

from rankproof._data.answers import references_from_queries
from rankproof._data.claims import Importance
from rankproof._data.text import clip_text
from rankproof._formats.claims import QueryNuggets, nuggets_of_line
from rankproof._io import strict_json
from rankproof._io.escape import json_block
from rankproof._io.files import write_blocks
from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.library import LibraryEntry, ResultsLibrary
from rankproof._server.logged_file import LockedFile, visible_line
from rankproof._server.responses import HttpError, PageResponse, html_page, json_response, page_script
from rankproof.errors import InputError, RankproofError, UsageError, escape_invisible, for_message

IMPORTANCES: tuple[Importance, ...] = get_args(Importance)
MAX_NUGGET_LENGTH = 2000
MAX_PASSAGES = 20
MAX_PASSAGE_LENGTH = 2000
"""Characters of a passage; keeps a page with a thousand questions small enough to load."""


@dataclass(frozen=True, slots=True)
class NuggetLine:
    """A line of the file: its bytes, its values and its nuggets; a blank line or a comment has none."""

    raw: bytes
    plain: dict[str, Any] = field(default_factory=dict)
    question: QueryNuggets | None = None

    @property
    def version(self) -> str:
        """A text that changes with the line."""
        return hashlib.sha256(self.raw).hexdigest()[:16]


class NuggetsFile:
    """A file of nuggets of one writer; a change replaces the line of one question and keeps the bytes of all others."""

    def __init__(self, path: str) -> None:
        self.path, self._lock = os.path.realpath(path), Lock()
        self.lines()
        self._locked = LockedFile(f"{self.path}.lock")

    def close(self) -> None:
        """Waits for a running write and unlocks the file."""
        with self._lock:
            self._locked.close()

    def lines(self) -> dict[str, NuggetLine]:
        """The nuggets by question, as the file has them now."""
        return {line.question.query: line for line in self._read() if line.question is not None}

    def change(self, query: str, version: str, nuggets: Sequence[dict[str, Any]], *, confirmed: bool) -> None:
        """Replaces the nuggets of a question atomically; they are on disk when this returns."""
        with self._lock:
            lines = self._read()
            old = next((line for line in lines if line.question is not None and line.question.query == query), None)
            if old is None or old.version != version:
                raise UsageError("the nuggets of this question were changed elsewhere", fix="reload the page")
            new = visible_line({**old.plain, "nuggets": list(nuggets), "confirmed": confirmed})
            write_blocks(self.path, [new if line is old else line.raw for line in lines])

    def _read(self) -> list[NuggetLine]:
        try:
            with open(self.path, "rb") as file:
                return list(self._parsed(file.read()))
        except OSError as error:
            what = f"{for_message(self.path)} cannot be read ({error.strerror})"
            raise UsageError(what, fix="pass a file of nuggets with --nuggets") from None

    def _parsed(self, content: bytes) -> Iterator[NuggetLine]:
        first: dict[str, int] = {}
        for number, raw in enumerate(content.splitlines(keepends=True), start=1):
            whole = raw if raw.endswith(b"\n") else raw + b"\n"
            try:
                text = whole.decode()
            except UnicodeDecodeError:
                raise InputError("this line is not UTF-8", fix="save the file as UTF-8", source=self.path, line=number) from None
            if not text.strip() or text.startswith("#"):
                yield NuggetLine(whole)
                continue
            plain = strict_json.parse_strict_json(text.rstrip("\r\n"), source=self.path, line=number)
            yield NuggetLine(whole, plain, nuggets_of_line(plain, first, source=self.path, line=number))


@dataclass(frozen=True, slots=True)
class NuggetCounts:
    """How many questions of a file are confirmed; `why` is the reason if it cannot be read."""

    confirmed: int
    questions: int
    why: str = ""


class NuggetsPage:
    """The page for the nuggets of one file, and its requests."""

    def __init__(self, library: ResultsLibrary, path: str) -> None:
        self._library, self._file = library, NuggetsFile(path)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def counts(self) -> NuggetCounts:
        """How many questions there are, and how many are confirmed."""
        try:
            lines = self._file.lines().values()
        except RankproofError as error:
            return NuggetCounts(0, 0, str(error))
        return NuggetCounts(sum(line.question.confirmed for line in lines if line.question), len(lines))

    def page(self, entry: LibraryEntry) -> PageResponse:
        """The page with the questions of the file; their texts are those of the results."""
        lines, known = self._file.lines(), _KnownTexts(self._library.results(entry))
        data = {
            "url": f"/r/{entry.id}/nuggets",
            "questions": [_shown_question(line, known) for line in lines.values()],
            "longest": MAX_NUGGET_LENGTH,
        }
        return html_page(
            "nuggets.html.j2",
            title="Confirm nuggets",
            script=page_script("changes.js", "nuggets.js"),
            data=json_block(data),
            questions=len(lines),
            file=os.path.basename(self._file.path),
        )

    def save(self, entry: LibraryEntry, body: dict[str, Any]) -> PageResponse:
        """Saves the nuggets of a question, confirmed or as a draft."""
        query, version, confirmed = body.get("query"), body.get("version"), body.get("confirmed")
        if not isinstance(query, str) or not isinstance(version, str) or not isinstance(confirmed, bool):
            raise HttpError(400, "query and version must be strings, confirmed true or false")
        old = self._file.lines().get(query)
        if old is None:
            raise HttpError(400, "this question is not in the file; reload the page")
        nuggets = _checked_nuggets(body.get("nuggets"), old.plain["nuggets"])
        try:
            self._file.change(query, version, nuggets, confirmed=confirmed)
        except RankproofError as error:
            raise HttpError(409 if isinstance(error, UsageError) else 500, str(error)) from None
        return json_response(200, _shown_question(self._file.lines()[query], _KnownTexts(self._library.results(entry))))


class _KnownTexts:
    """What the results know of a question, with invisible characters escaped."""

    def __init__(self, results: ExperimentResult) -> None:
        self._queries, self._contexts = results.texts, results.contexts
        self._references = references_from_queries(results.texts)
        self._answers = [run.answers for run in results.system_runs if run.answers is not None]

    def question(self, query: str) -> str:
        """The text of the question."""
        return _one_line(self._queries[query].text) if query in self._queries else ""

    def references(self, query: str) -> list[str]:
        """The reference answers."""
        return [_one_line(text) for text in (self._references[query].answers if query in self._references else ())]

    def passages(self, query: str) -> list[str]:
        """The beginnings of the passages that the systems were given, those of the first system first."""
        passage_ids = (id for answers in self._answers if query in answers for id in answers[query].given or ())
        texts = (self._contexts[id] for id in dict.fromkeys(passage_ids) if id in self._contexts)
        return [_one_line(clip_text(text, MAX_PASSAGE_LENGTH)) for text in islice(texts, MAX_PASSAGES)]


def _one_line(text: str) -> str:
    return escape_invisible(" ".join(text.split()))


def _shown_question(line: NuggetLine, known: _KnownTexts) -> dict[str, Any]:
    """A question with its nuggets."""
    assert line.question is not None, "a blank line is no question"
    query = line.question.query
    return {
        "query": query,
        "name": escape_invisible(query),
        "question": known.question(query),
        "references": known.references(query),
        "passages": known.passages(query),
        "nuggets": [[escape_invisible(nugget.text), nugget.importance] for nugget in line.question.nuggets],
        "confirmed": line.question.confirmed,
        "version": line.version,
    }


def _checked_nuggets(nuggets: Any, old: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The nuggets of a request; one that was in the file keeps its other fields."""
    if not isinstance(nuggets, list) or not all(isinstance(nugget, dict) for nugget in nuggets):
        raise HttpError(400, "nuggets must be a list of objects")
    return [_checked_nugget(nugget, old) for nugget in nuggets]


def _checked_nugget(nugget: dict[str, Any], old: Sequence[dict[str, Any]]) -> dict[str, Any]:
    text, importance, place = nugget.get("text"), nugget.get("importance"), nugget.get("from")
    if not isinstance(text, str) or not 0 < len(" ".join(text.split())) <= MAX_NUGGET_LENGTH:
        raise HttpError(400, f"a nugget must have 1 to {MAX_NUGGET_LENGTH} characters")
    if importance not in IMPORTANCES:
        raise HttpError(400, f"the importance must be one of {', '.join(IMPORTANCES)}")
    before = old[place] if isinstance(place, int) and not isinstance(place, bool) and 0 <= place < len(old) else {}
    words = " ".join(text.split())
    is_unchanged = before and words == escape_invisible(before["text"])
    return {**before, "text": before["text"] if is_unchanged else words, "importance": importance}
