"""Failed queries: those without a relevant document in the top of a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import EMPTY_LIST, RankedList, query_counts, ranked_lists, relevant_docs
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._data.text import clip_text, pluralise
from rankproof.errors import for_message

_LENGTH = 45


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed query: its relevant document, that document's rank (None if not retrieved), and the top of the ranking."""

    query: str
    target: str
    rank: int | None
    retrieved_instead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failures:
    """The failed queries of a system, lowest rank first; `without_relevant` counts queries without a relevant document."""

    system: str
    queries: int
    failed: tuple[Failure, ...]
    without_relevant: int

    @property
    def found_deeper(self) -> int:
        """The number of failed queries with a relevant document at a lower rank."""
        return sum(failure.rank is not None for failure in self.failed)


def failures(inputs: AnalysisInput, system: str, cutoff: int) -> Failures:
    """The queries without a relevant document in the top `cutoff`."""
    ranked, queries = ranked_lists(inputs, system), query_counts(inputs).queries[system]
    failed, without_relevant = [], 0
    for query in queries:
        relevant = relevant_docs(inputs.qrels.get(query, {}), inputs.rel)
        without_relevant += not relevant
        failure = _failure(query, relevant, ranked.get(query, EMPTY_LIST), cutoff) if relevant else None
        failed += [failure] if failure else []
    # Not retrieved first, then the deepest: the worst failures come first.
    failed.sort(key=lambda failure: (failure.rank is not None, -(failure.rank or 0)))
    return Failures(system, len(queries), tuple(failed), without_relevant)


def _failure(query: str, relevant: list[str], ranked_list: RankedList, cutoff: int) -> Failure | None:
    docs, wanted = ranked_list.docs, set(relevant)
    rank = next((place for place, doc in enumerate(docs, start=1) if doc in wanted), None)
    if rank is not None and rank <= cutoff:
        return None
    return Failure(query, relevant[0] if rank is None else docs[rank - 1], rank, docs[:cutoff])


def failures_table(failures_of: Mapping[str, Failures], cutoff: int) -> Table:
    """The number of failed queries of each system, and whether a better order or better retrieval could fix them."""
    columns = (
        *(Column("system"), Column("n", "count"), Column("failed", "count", f"nothing relevant in the top {cutoff}")),
        Column("share", "share", "of all queries"),
        Column("found deeper", "count", "failed, with a relevant document at a lower rank: a reranker could fix it"),
        Column("not retrieved", "count", "failed, without a relevant document in the ranking: only retrieval could fix it"),
        Column("no relevant", "count", "queries without any document judged relevant; not counted as failed"),
    )
    rows = tuple(
        (
            *(
                system_failures.system,
                system_failures.queries,
                len(system_failures.failed),
                len(system_failures.failed) / system_failures.queries,
            ),
            *(
                system_failures.found_deeper,
                len(system_failures.failed) - system_failures.found_deeper,
                system_failures.without_relevant,
            ),
        )
        for system_failures in failures_of.values()
    )
    title = f"Queries with nothing relevant in the top {cutoff}"
    return Table("failures", title, columns, rows, facts={"cutoff": cutoff}, summary=TableSummary())


def failed_table(inputs: AnalysisInput, failures: Failures, cutoff: int, most: int) -> Table:
    """The first `most` failed queries of one system, with the retrieved documents and known texts."""
    columns = [
        *(Column("query"), Column("text"), Column("rank", "count", "of the first relevant document; none: not retrieved")),
        *(Column("relevant"), Column("relevant text"), Column("top result"), Column("top result text")),
    ]
    rows = [_failed_row(failure, inputs) for failure in failures.failed[:most]]
    kept = [at for at in range(len(columns)) if at in (0, 2, 3, 5) or any(row[at] is not None for row in rows)]
    count = len(failures.failed)
    some = f", {most} shown" if count > most else ""
    queries = pluralise(failures.queries, "query", "queries")
    what = f"{count} of n = {queries} ({count / failures.queries:.1%}) have nothing relevant in the top {cutoff}{some}"
    return Table(
        name="failed queries",
        title=f"Failed queries of {for_message(failures.system)}: {what}",
        columns=tuple(columns[at] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in rows),
        sentences=_describe_deeper(failures),
        facts={"system": failures.system, "n": failures.queries, "failed": count, "cutoff": cutoff},
        verdict_first=True,
        summary=TableSummary(("query", "text", "rank", "relevant"), tuple(range(len(rows)))),
    )


def _describe_deeper(failures: Failures) -> tuple[str, ...]:
    nowhere = len(failures.failed) - failures.found_deeper
    if not failures.failed:
        return ("No query fails.",)
    return (
        f"{failures.found_deeper} of them have a relevant document at a lower rank, which a reranker could fix;"
        f" {nowhere} have none in the ranking, which only retrieval could fix.",
    )


def _failed_row(failure: Failure, inputs: AnalysisInput) -> tuple[CellValue, ...]:
    first = failure.retrieved_instead[0] if failure.retrieved_instead else None
    text = inputs.texts[failure.query].text if inputs.texts and failure.query in inputs.texts else None
    target, instead = inputs.snippets.get(failure.target), inputs.snippets.get(first or "")
    return failure.query, _clip(text), failure.rank, failure.target, _clip(target), first, _clip(instead)


def _clip(text: str | None) -> str | None:
    return None if text is None else clip_text(text, _LENGTH)
