"""Alignment of runs in Arrow streams, which only the native reader takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..data.reading import Reading
from ..data.refusals import refusal
from ..errors import InputError
from . import _native
from .answers import hits_of, options_of
from .hits import Hits, Judged
from .told import raise_told

_TYPES = "pass ids as text or integers, scores as numbers, ranks as integers"


def align_arrow(judged: Judged, stream: Any, columns: Sequence[int], name: str, reading: Reading) -> Hits:
    """Hits of a run in an Arrow stream; columns are the places of query, document, score, rank and tag, -1 for none.

    A stream whose `reopens` is true begins anew each time that it is asked for, and is held in memory a batch at a time.
    """
    query, doc, score, rank, tag = (*columns, -1, -1)[:5]
    if reading.order == "rank" and rank < 0:
        raise refusal("rank-missing", source=name)
    options, places = options_of(reading), (query, doc, score, rank, tag)
    keeps = not getattr(stream, "reopens", False)
    try:
        found = _native.align_arrow(judged.handle, stream.__arrow_c_stream__(), options, places, keeps, False)
        if found is None:
            found = _native.align_arrow(judged.handle, stream.__arrow_c_stream__(), options, places, False, True)
    except _native.Refused as error:
        raise_told(error, name)
    except TypeError as error:
        raise InputError(str(error), fix=_TYPES, source=name) from None
    except OSError as error:
        raise _broken(error, stream, name) from None
    assert found is not None, "groups do not come back"
    return hits_of(judged, found)


def _broken(error: OSError, stream: Any, name: str) -> BaseException:
    """The error for a stream that fails: what stopped it, where it remembers that, an interrupt included."""
    stopped = getattr(stream, "error", None)
    if isinstance(stopped, BaseException):
        return stopped
    return InputError(f"the table broke off ({error})", fix="check what it is read from", source=name)
