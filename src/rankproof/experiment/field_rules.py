"""Fields that stages are to read, checked against the documents before any work is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..data.corpus import Corpus
from ..errors import UsageError, shown
from ..stages import BM25, Dense, Keywords, MaxSim, Pairs, Rerank, Similarity
from ..stages.base import Stage
from ..stages.passages import refuse_unknown_fields
from .extent import parts_of

_READERS = (BM25, Dense, Keywords, MaxSim, Pairs, Similarity)


def refuse_fields(systems: Mapping[str, Stage], corpus: Corpus) -> None:
    """Refuses the first system that rests on a field that no document has."""
    for name, stage in systems.items():
        for fields in _read_by(stage):
            try:
                refuse_unknown_fields(corpus, fields)
            except UsageError as error:
                raise UsageError(f"system {shown(name)}: {error.what}", fix=error.fix) from None


def _read_by(stage: Stage) -> Iterator[tuple[str, ...]]:
    for part in parts_of(stage):
        value = part.by if isinstance(part, Rerank) else part
        if isinstance(value, _READERS):
            yield value.fields
