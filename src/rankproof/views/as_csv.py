"""CSV in long form: a row for each system and measure, and with per_query one for each query; numbers at full precision."""

from __future__ import annotations

from collections.abc import Iterator

from ..evaluation import Result, SystemResult
from .escape import for_csv
from .look import Look

HEADER = "system,query,measure,summary,queries,value"


def render(result: Result, look: Look) -> str:
    """The result as CSV; `query` is empty in summary rows, and `summary` is `query` in the rows of single queries."""
    lines = [line for system in result.systems for line in _lines(system, look)]
    return "\n".join([HEADER, *lines]) + "\n"


def _lines(system: SystemResult, look: Look) -> Iterator[str]:
    name = for_csv(system.name)
    for measure, one in system.measures.items():
        cell = for_csv(measure)
        if look.per_query:
            for query, value in one.per_query.items():
                yield f"{name},{for_csv(query)},{cell},query,1,{value!r}"
        yield f"{name},,{cell},{one.summary},{one.queries},{one.value!r}"
