"""The text of a document that a stage reads: some of its fields, joined."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.corpus import Corpus, Document
from ..errors import UsageError, shown

ALWAYS = ("title", "text")
DEFAULT_FIELDS = ALWAYS


def passage(document: Document, fields: Sequence[str]) -> str:
    """The fields that are not empty, in the order asked for, joined by a blank."""
    return " ".join(part for part in (_part(document, field) for field in fields) if part)


def passages(corpus: Corpus, fields: Sequence[str]) -> dict[str, str]:
    """Every document's passage by id; a field that no document has is refused."""
    refuse_unknown_fields(corpus, fields)
    return {doc: passage(document, fields) for doc, document in corpus.items()}


def refuse_unknown_fields(corpus: Corpus, fields: Sequence[str]) -> None:
    """Each field is the title, the text, or one that some document has as text."""
    wanted = [field for field in fields if field not in ALWAYS]
    if not wanted:
        return
    there = {name for document in corpus.values() for name, value in document.fields.items() if isinstance(value, str)}
    for field in wanted:
        if field not in there:
            known = ", ".join(shown(name) for name in (*ALWAYS, *sorted(there)))
            raise UsageError(f"no document has a text field called {shown(field)}", fix=f"choose from {known}")


def _part(document: Document, field: str) -> str:
    value = getattr(document, field) if field in ALWAYS else document.fields.get(field)
    return value.strip() if isinstance(value, str) else ""
