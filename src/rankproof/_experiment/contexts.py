"""The texts of the passages that answers were generated from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rankproof._data.answers import passages_of
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import chunk_separator, document_of_chunk
from rankproof._data.text import pluralise
from rankproof._experiment.experiment import system_kind
from rankproof._results.experiment_result import SystemRun
from rankproof.errors import for_message
from rankproof.stages._base import Stage
from rankproof.stages._chunked import Chunked, document_chunks
from rankproof.stages._fields import DEFAULT_FIELDS, passage_text


def passage_contexts(
    systems: Mapping[str, Stage], system_runs: Iterable[SystemRun], corpus: Corpus, replies: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The text of each passage that an answer was given or cites, as the answering stage reads it, and notes.

    `replies` has texts of search engines, for documents that the corpus does not have. An id that stands for other texts in two
    systems, as a chunk of two sizes, is left out and noted.
    """
    found: dict[str, str] = {}
    different: dict[str, None] = {}
    for system_run in system_runs:
        if system_run.answers is not None:
            reader = _PassageReader(systems[system_run.name], corpus, replies)
            for passage in passages_of(system_run.answers.values()):
                text = reader.text(passage)
                if text is not None and found.setdefault(passage, text) != text:
                    different[passage] = None
    for passage in different:
        del found[passage]
    return found, tuple(_notes(different))


def _notes(different: Mapping[str, None]) -> Iterator[str]:
    if different:
        count = pluralise(len(different), "passage id has", "passage ids have")
        example = for_message(next(iter(different)))
        yield f"{count} other texts in two systems, such as {example}: answers from them have no value in measures of contexts"


class _PassageReader:
    """Reads passages as the answering stage does: its fields, its longest text, and chunks if it is below `Chunked`."""

    def __init__(self, system: Stage, corpus: Corpus, replies: Mapping[str, str]) -> None:
        self._corpus, self._replies = corpus, replies
        chunked, stage = _answering_stage(system)
        self._chunking = None if chunked is None else chunked.chunking
        self._fields = getattr(stage, "fields", DEFAULT_FIELDS)
        self._longest = getattr(stage, "passage_characters", None)
        self._separator = chunk_separator(corpus)

    def text(self, passage: str) -> str | None:
        """The text of the passage, None where it is not known."""
        document = passage if self._chunking is None else document_of_chunk(passage, self._separator)
        if document not in self._corpus:
            return self._replies.get(passage)
        whole = self._corpus[document]
        if self._chunking is None:
            return passage_text(whole, self._fields)[: self._longest]
        chunks = document_chunks(whole, self._chunking, self._separator)
        return next((passage_text(one, self._fields)[: self._longest] for one in chunks if one.id == passage), None)


def _answering_stage(system: Stage) -> tuple[Chunked | None, Stage]:
    """The stage that answers, and the chunks that it reads, if any."""
    chunked, stage = None, system
    while isinstance(stage, Chunked):
        chunked, stage = stage, stage.stage
    while system_kind(stage) not in ("answer", "run") and len(stage.inputs()) == 1:
        stage = stage.inputs()[0]
    return chunked, stage
