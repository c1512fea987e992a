"""A run and judgements that do not know each other: the error that says so, and the likely reason."""

from __future__ import annotations

import string
from collections.abc import Callable, Collection

from ..align.hits import Hits
from ..errors import InputError, shown

_LETTERS = string.ascii_letters + "_-:"
_REASONS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("leading zeros differ", lambda query: query.lstrip("0")),
    ("upper and lower case differ", str.casefold),
    (
        "one has a prefix that the other lacks",
        lambda query: query.lstrip(_LETTERS),
    ),
)


def no_common_query(hits: Hits, source: str) -> InputError:
    """No query is in both; shows the first ids of each."""
    judged, found = hits.queries, hits.seen.unjudged_queries
    if not found:
        return InputError("the run has none of the judged queries", fix="check the run and the set of queries", source=source)
    ids = f"the run has {_first(found)}, the judgements have {_first(judged)}"
    reason = next((f" ({what})" for what, plain in _REASONS if {*map(plain, found)} & {*map(plain, judged)}), "")
    what = f"no query of the run is judged in {hits.judged.source}: {ids}{reason}"
    return InputError(what, fix="use the same query ids in both", source=source)


def nothing_judged(source: str, asked: Collection[str] | None) -> InputError:
    """There is no judged query to evaluate: none at all, or none of those asked for."""
    if asked is None:
        return InputError("no query is judged", fix="check the qrels", source=source)
    what = f"none of the {len(asked)} queries asked for is judged: {_first(tuple(sorted(asked)))}"
    return InputError(what, fix="check the ids in the set of queries", source=source)


def _first(queries: tuple[str, ...]) -> str:
    return ", ".join(shown(query) for query in queries[:3])
