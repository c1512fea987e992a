"""Document fields that stages and scorers read, checked against the documents before any work is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._registry import settings_of
from ..data.corpus import Corpus
from ..errors import UsageError, shown
from ..stages.base import Stage
from ..stages.passages import refuse_unknown_fields
from .extent import parts_of


def refuse_fields(systems: Mapping[str, Stage], corpus: Corpus) -> None:
    """Refuses the first system that reads a field that no document has."""
    for name, stage in systems.items():
        for fields in (fields for part in parts_of(stage) for fields in _fields_read(part)):
            try:
                refuse_unknown_fields(corpus, fields)
            except UsageError as error:
                raise UsageError(f"system {shown(name)}: {error.what}", fix=error.fix) from None


def _fields_read(part: Any) -> Iterator[tuple[str, ...]]:
    """The fields that a part and the scorers, models and stores in it read; the stages below are parts of their own."""
    for setting in settings_of(type(part)):
        value = getattr(part, setting.field)
        if setting.option.role == "fields":
            yield value
        elif not hasattr(value, "below"):
            yield from _fields_read(value)
