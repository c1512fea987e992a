"""The documents that a system searches."""

from __future__ import annotations

from .texts import TextRecord, Texts


class Document(TextRecord):
    """One document; `fields` holds what its source has besides title and text."""

    __slots__ = ()


class Corpus(Texts[Document]):
    """Document id to document."""

    __slots__ = ()
    column = "document"
