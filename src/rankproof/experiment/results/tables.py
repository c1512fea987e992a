"""`summary.csv`, `per_query.csv` and `chunks.csv`: a climb as tables for a spreadsheet or a data frame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from ...data.order import best_first
from ...data.run import Run
from ...evaluation import Result
from ...formats.harmless import for_csv
from ..rung import TIMES, Climb, Rung
from .document import gains

SHOWN_TIMES = ("mean", "p50", "p95")
TOP = 10
COSTS = ("index_seconds", "index_bytes", "throughput", "recall_of_exact")


def summary_csv(climb: Climb) -> str:
    """A row for each system; numbers at full precision, times in ms, gains in percentage points over `over`."""
    measures = list(climb.result.systems[0].measures)
    times = [f"{part}_ms_{which}" for part in TIMES for which in SHOWN_TIMES]
    gained = [f"gain_pp {name}" for name in measures]
    header = ["system", "kind", "over", *measures, *gained, *times, *COSTS]
    return csv_table(header, (_summary(climb, rung, measures) for rung in climb.rungs))


def per_query_csv(climb: Climb) -> str:
    """A row for each system and query: its values, where the first relevant document stands, what came first, its times."""
    measures = list(climb.result.systems[0].measures)
    times = [f"{part}_ms" for part in TIMES]
    header = ["system", "query", "text", *measures, "first_relevant", "retrieved", f"top_{TOP}", *times]
    return csv_table(header, (row for rung in climb.rungs for row in _queries(climb, rung)))


def chunks_csv(climb: Climb, chunks: Result) -> str:
    """A row for each system that ranks chunks and each of the two levels; numbers at full precision."""
    header = ["system", "level", *chunks.systems[0].measures]
    levels = {"chunk": chunks.means, "document": climb.result.means}
    return csv_table(
        header,
        (
            [for_csv(system.name), level, *map(repr, means[system.name].values())]
            for system in chunks.systems
            for level, means in levels.items()
        ),
    )


def _summary(climb: Climb, rung: Rung, measures: list[str]) -> list[str]:
    means, gain = climb.result.means[rung.name], gains(climb, rung)
    times = [rung.time_of(part) for part in TIMES]
    return [
        *map(for_csv, (rung.name, rung.kind, rung.over or "")),
        *(repr(means[name]) for name in measures),
        *(csv_number(gain.get(name)) for name in measures),
        *(repr(part[which]) for part in times for which in SHOWN_TIMES),
        *map(csv_number, (rung.index_seconds, rung.index_bytes, rung.throughput, rung.recall_of_exact())),
    ]


def _queries(climb: Climb, rung: Rung) -> Iterator[list[str]]:
    values = climb.result.per_query(rung.name)
    rankings = dict(_rankings(rung.run))
    for at, query in enumerate(climb.queries):
        docs = rankings.get(query, [])
        grades = climb.qrels.get(query, {})
        yield [
            for_csv(rung.name),
            for_csv(query),
            for_csv(climb.texts[query].text if query in climb.texts else ""),
            *(csv_number(per_query.get(query)) for per_query in values.values()),
            csv_number(_first_relevant(docs, grades, climb.rel)),
            str(len(docs)),
            for_csv(_listed(docs[:TOP])),
            *(repr(float(rung.times[part][at])) for part in TIMES),
        ]


def _rankings(run: Run) -> Iterator[tuple[str, list[str]]]:
    for index, query in enumerate(run.queries):
        start, end = int(run.offsets[index]), int(run.offsets[index + 1])
        docs = run.docs[start:end]
        yield query, [docs[at] for at in best_first(docs, run.scores[start:end]).tolist()]


def _first_relevant(docs: list[str], grades: Mapping[str, int], rel: int) -> int | None:
    return next((rank for rank, doc in enumerate(docs, start=1) if grades.get(doc, 0) >= rel), None)


def _listed(docs: list[str]) -> str:
    """The ids as a JSON array; only there does no id end where another begins."""
    return json.dumps(docs, ensure_ascii=not all(map(str.isprintable, docs)))


def csv_number(value: float | None) -> str:
    """A cell at full precision, empty for none."""
    return "" if value is None else repr(value)


def csv_table(header: Iterable[str], rows: Iterable[list[str]]) -> str:
    """Rows of cells that are ready, under a header that is not."""
    return "".join(f"{','.join(row)}\n" for row in (list(map(for_csv, header)), *rows))
