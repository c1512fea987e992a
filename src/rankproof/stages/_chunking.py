"""Splits documents into chunks of words, sentences or tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from rankproof._data import validation
from rankproof._data.corpus import Document
from rankproof._data.dataset import chunk_id
from rankproof.errors import UsageError
from rankproof.models._wordllama import token_starts, tokenizer_revision

Span = tuple[int, int]
"""Start and end of a part of a text, in characters; the end is excluded."""


def chunk_spans(starts: Sequence[int], length: int, size: int, overlap: int) -> list[Span]:
    """The chunks of a text of this length whose units start there.

    A unit ends at the start of the next one, and the first unit starts at 0, so no text is lost. Neighbours share exactly
    `overlap` units; only the last chunk may be shorter than `size`; no chunk lies inside the one before.
    """
    bounds = [0, *starts[1:], length]
    firsts = range(0, max(len(starts) - overlap, 1), size - overlap) if starts else ()
    return [(bounds[first], bounds[min(first + size, len(starts))]) for first in firsts]


_CLOSING = "\"'”’»›)]}」』）】》〉"
_OPENING = "\"'“‘«‹„‚([{¿¡「『（【《〈"
_MARKS = re.escape(".!?…।॥؟۔։።፧។៕။")
_FULLWIDTH_MARKS = "。！？｡"
_CLOSING_MARKS = f"[{re.escape(_CLOSING)}]*+"
# Each alternative starts at a run of its characters and consumes the whole run, so the time is linear in the text.
_END = re.compile(
    rf"(?:(?<![{_FULLWIDTH_MARKS}])[{_FULLWIDTH_MARKS}]++{_CLOSING_MARKS}\s*+"
    rf"|(?<![{_MARKS}])(?P<mark>[{_MARKS}]++){_CLOSING_MARKS}\s++"
    r"|(?<!\s)[^\S\n]*+\n[^\S\n]*+\n\s*+)(?=\S)"
)
_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")
_LAST_WORD = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]+\Z")
_MAX_ABBREVIATION = 8
_BEFORE_NAMES = {
    *("mr", "mrs", "ms", "dr", "prof", "st", "rev", "hon", "gen", "col", "maj", "capt", "cmdr", "lt", "sgt", "gov", "sen", "rep"),
    *("pres", "messrs", "mme", "mlle", "mt", "ft", "vs", "viz", "cf", "al", "e.g", "i.e", "hr", "fr", "z.b", "d.h", "vgl", "bzw"),
    *("p.ej", "sra", "dra"),
}
_BEFORE_NUMBERS = {
    *("no", "nos", "nr", "vol", "vols", "fig", "figs", "eq", "eqs", "sec", "ch", "p", "pp", "ca", "approx", "bd"),
    *("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
}


def sentence_starts(text: str) -> list[int]:
    """The position of the first non-blank character of each sentence; none in a blank text."""
    first = len(text) - len(text.lstrip())
    starts = [first] if first < len(text) else []
    return starts + [found.end() for found in _END.finditer(text, first) if _is_sentence_end(text, found)]


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped."""
    return [text[start:end].strip() for start, end in pairwise([*sentence_starts(text), len(text)])]


def _is_sentence_end(text: str, found: re.Match[str]) -> bool:
    """Whether a sentence ends there: not before lower case, and not after an abbreviation."""
    if found["mark"] is None or _BLANK_LINE.search(found[0]):
        return True
    follows = text[found.end() : found.end() + 2].lstrip(_OPENING)[:1]
    if follows.islower():
        return False
    before = text[max(found.start() - _MAX_ABBREVIATION, 0) : found.start()]
    return found["mark"] != "." or not _is_abbreviation(before, follows)


def _is_abbreviation(before: str, follows: str) -> bool:
    """Whether the text ends in an abbreviation before a name or number, or in initials: U.S, J, but not I."""
    word = _LAST_WORD.search(before)
    if word is None:
        return False
    letters = word[0].split(".")
    initials = word[0].isupper() and all(len(letter) == 1 for letter in letters) and letters != ["I"]
    return initials or word[0].lower() in (_BEFORE_NUMBERS if follows.isdigit() else _BEFORE_NAMES)


Unit = Literal["words", "sentences", "tokens"]
TokenizerName = Literal["wordllama"]
UNITS: tuple[Unit, ...] = get_args(Unit)
_WORD = re.compile(r"\S+")


def unit_starts(text: str, unit: Unit, tokenizer: TokenizerName) -> list[int]:
    """The position of the first character of each unit; none in a blank text.

    Words are separated by whitespace. Several tokens for one character count as one.
    """
    if not text.strip():
        return []
    return _tokenizer(tokenizer)(text) if unit == "tokens" else _STARTS[unit](text)


def unit_revision(unit: Unit, tokenizer: TokenizerName) -> str:
    """The version of the tokenizer that determines the chunks, "" for other units."""
    return TOKENIZERS[tokenizer][1]() if unit == "tokens" else ""


def _tokenizer(name: TokenizerName) -> Callable[[str], list[int]]:
    return TOKENIZERS[name][0]


def _word_starts(text: str) -> list[int]:
    return [found.start() for found in _WORD.finditer(text)]


_STARTS: Mapping[str, Callable[[str], list[int]]] = {"words": _word_starts, "sentences": sentence_starts}
TOKENIZERS: Mapping[TokenizerName, tuple[Callable[[str], list[int]], Callable[[], str]]] = {
    "wordllama": (token_starts, tokenizer_revision)
}


DOCUMENT, CHUNK, START, END = "document", "chunk", "start", "end"


@dataclass(frozen=True, slots=True)
class Chunking:
    """Chunks of `size` units; neighbours share `overlap` units."""

    size: int
    overlap: int
    unit: Unit
    tokenizer: TokenizerName

    def __post_init__(self) -> None:
        validation.checked_integer("size", self.size)
        validation.checked_integer("overlap", self.overlap, least=0)
        validation.checked_choice("unit", self.unit, UNITS)
        validation.checked_choice("tokenizer", self.tokenizer, tuple(TOKENIZERS))
        if self.overlap >= self.size:
            what = f"overlap is {self.overlap}, but a chunk has {self.size} {self.unit}"
            raise UsageError(what, fix="choose an overlap below the size")

    def revision(self) -> str:
        """The version of the tokenizer that determines the chunks, "" for other units."""
        return unit_revision(self.unit, self.tokenizer)

    def spans(self, document: Document) -> list[Span]:
        """The chunks of the text; a document with only a title has one empty chunk, an empty document has none."""
        starts = unit_starts(document.text, self.unit, self.tokenizer)
        found = chunk_spans(starts, len(document.text), self.size, self.overlap)
        return found or ([(0, len(document.text))] if document.title.strip() else [])


def document_chunks(document: Document, chunking: Chunking, mark: str) -> Iterator[Document]:
    """The chunks of a document; each has its title and its fields, so that stages read it like a document."""
    for number, (start, end) in enumerate(chunking.spans(document), start=1):
        own = {DOCUMENT: document.id, CHUNK: number, START: start, END: end}
        fields = {**document.fields, **own}
        yield Document(chunk_id(document.id, mark, number), document.text[start:end], document.title, fields, document.line)
