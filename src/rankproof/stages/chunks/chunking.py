"""How documents are cut, and the corpus of their chunks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...data import checks
from ...data.corpus import Corpus, Document
from ...errors import UsageError
from .spans import Span, spans
from .units import TOKENIZERS, UNITS, TokenizerName, Unit, unit_revision, unit_starts

DOCUMENT, CHUNK, START, END = "document", "chunk", "start", "end"


@dataclass(frozen=True, slots=True)
class Chunking:
    """Chunks of `size` units, of which neighbours share `overlap`."""

    size: int
    overlap: int
    unit: Unit
    tokenizer: TokenizerName

    def __post_init__(self) -> None:
        checks.whole("size", self.size)
        checks.whole("overlap", self.overlap, least=0)
        checks.choice("unit", self.unit, UNITS)
        checks.choice("tokenizer", self.tokenizer, tuple(TOKENIZERS))
        if self.overlap >= self.size:
            what = f"overlap is {self.overlap} where a chunk has {self.size} {self.unit}"
            raise UsageError(what, fix="choose an overlap below the size")

    def revision(self) -> str:
        """What decides the cuts beyond rankproof itself."""
        return unit_revision(self.unit, self.tokenizer)

    def spans(self, document: Document) -> list[Span]:
        """Where the chunks lie in the text; a document with a title alone has one without text, an empty one has none."""
        starts = unit_starts(document.text, self.unit, self.tokenizer)
        found = spans(starts, len(document.text), self.size, self.overlap)
        return found or ([(0, len(document.text))] if document.title.strip() else [])


def chunk_corpus(corpus: Corpus, chunking: Chunking) -> Corpus:
    """The chunks of all documents, in their order."""
    mark = separator(corpus)
    return Corpus((chunk for document in corpus.values() for chunk in _chunks(document, chunking, mark)), source=corpus.source)


def separator(ids: Iterable[str]) -> str:
    """What stands between a document's id and a chunk's number: `#c`, with more of `#` where a document's id ends like that."""
    endings = (re.search(r"(#+)c[0-9]+\Z", doc) for doc in ids)
    return "#" * (1 + max((len(found[1]) for found in endings if found), default=0)) + "c"


def document_of(chunk: str, mark: str) -> str:
    """The document that the chunk is of."""
    return chunk.rpartition(mark)[0]


def _chunks(document: Document, chunking: Chunking, mark: str) -> Iterator[Document]:
    """Title and fields stand in every chunk, so that a stage reads a chunk as it reads a document."""
    for number, (start, end) in enumerate(chunking.spans(document), start=1):
        own = {DOCUMENT: document.id, CHUNK: number, START: start, END: end}
        fields = {**document.fields, **own}
        yield Document(f"{document.id}{mark}{number}", document.text[start:end], document.title, fields, document.line)
