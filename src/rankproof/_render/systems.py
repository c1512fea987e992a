"""The systems of an experiment as text, files and a table: quality, gain, and cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.summary import compare_answers, summary_document
from rankproof._analysis.overlap import overlap_table, rankings_table
from rankproof._analysis.values import deepest_recall
from rankproof._data.replies import MASKED_NOTE, changed_notes, failure_notes, reused_sentences
from rankproof._data.table import CellValue, Column, FilledColumn, Table, table_of_columns
from rankproof._data.text import MASK, pluralise, shown_time
from rankproof._evaluation.notes import JUDGED_ONLY_TEXT
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._io.escape import for_markdown
from rankproof._render.comparison import add_comparison, add_left_out
from rankproof._render.formats import RenderOptions
from rankproof._render.result import format_value, summary_table
from rankproof._render.table import MISSING, TABLE_RENDERERS, add_table, markdown_table, shown_rows
from rankproof._render.terminal import TablePrinter, fits_width, wrapped
from rankproof._results.experiment_result import ExperimentResult, SystemRun, timed_queries
from rankproof._results.result_json import document_text, results_document
from rankproof._results.system_files import summary_csv
from rankproof.errors import for_message

COST_COLUMNS = ("index s", "index MB", "queries/s")
STAGE_MARK = "†"
"""Marks the main measure of the system's stage."""


def systems_table(results: ExperimentResult, title: str = "") -> Table:
    """A row for each system with all columns; the least important have the highest drop order."""
    names = [f"{at} {system_run.name}" for at, system_run in enumerate(results.system_runs, start=1)]
    return table_of_columns("systems", title, [FilledColumn(Column("system"), names), *_columns(results)])


def main_measure(results: ExperimentResult) -> str:
    """The measure of gains, which is the first."""
    return next(iter(results.result.systems[0].measures))


def format_gain(gain: float | None, measured: MeasureResult) -> str:
    """A signed gain in percentage points, or the plain difference if the range is not 0 to 1."""
    if gain is None:
        return MISSING
    return f"{100 * gain:+z.2f}" if measured.measure.is_fraction else f"{gain:+.4g}"


def stage_measures(results: ExperimentResult, system_run: SystemRun) -> list[str]:
    """The main measures of the system's stage: nDCG and RR for a reranker, none for a run, else the deepest recall."""
    if system_run.kind == "run":
        return []
    if system_run.kind == "rerank":
        return [*_measures_named(results, "nDCG")[:1], *_measures_named(results, "RR")[:1]]
    return _deepest_recall(results)


def _columns(results: ExperimentResult) -> Iterator[FilledColumn]:
    first, *others = _ordered_measures(results)
    yield _measure_column(results, first, 0)
    gains = [_gain_text(results, system_run) for system_run in results.system_runs]
    yield FilledColumn(Column(_gain_title(results), "number", drop_order=1), gains)
    for place, name in enumerate(others):
        yield _measure_column(results, name, place + (3 if place < 2 else 10))
    is_timed = any(system_run.times for system_run in results.system_runs)
    if is_timed:
        yield _cost_column(results, "ms p50/p95", 2, _time_text)
    yield from _llm_columns(results)
    if is_timed:
        yield _cost_column(results, COST_COLUMNS[0], 6, lambda system_run: _number_text(system_run.index_seconds))
        yield _cost_column(results, COST_COLUMNS[1], 7, lambda system_run: _number_text(system_run.index_bytes, 1e6))
        yield _cost_column(results, COST_COLUMNS[2], 8, lambda system_run: _number_text(system_run.throughput))


def _cost_column(results: ExperimentResult, title: str, drop_order: int, text: Callable[[SystemRun], str]) -> FilledColumn:
    return FilledColumn(Column(title, "number", drop_order=drop_order), [text(system_run) for system_run in results.system_runs])


def _time_text(system_run: SystemRun) -> str:
    total = system_run.time_of("total")
    return MISSING if total is None else f"{shown_time(total.p50)}/{shown_time(total.p95)}"


def _number_text(value: float | None, unit: float = 1.0) -> str:
    return MISSING if value is None else shown_time(value / unit)


def _llm_columns(results: ExperimentResult) -> Iterator[FilledColumn]:
    """The columns of language model calls, if a system makes any; money if a model has a price."""
    tokens = [sum(system_run.total(name) for name in ("tokens_in", "tokens_out")) for system_run in results.system_runs]
    if not any(tokens):
        return
    calls = [
        f"{system_run.total('calls'):,}" if many else None for system_run, many in zip(results.system_runs, tokens, strict=True)
    ]
    yield FilledColumn(Column("calls", "number", drop_order=5), calls)
    yield FilledColumn(Column("tokens", "number", drop_order=9), [f"{many:,}" if many else None for many in tokens])
    if any(system_run.money for system_run in results.system_runs):
        money = [system_run.money or None for system_run in results.system_runs]
        yield FilledColumn(Column("money", "value", drop_order=5), money)


def _measure_column(results: ExperimentResult, name: str, drop_order: int) -> FilledColumn:
    """The values of a measure, with a mark where it matters at the stage of the system."""
    summaries = summary_table(results.result)
    at = list(results.result.systems[0].measures).index(name) + 1
    marked = [name in stage_measures(results, system_run) for system_run in results.system_runs]
    blank = " " if any(marked) else ""
    texts = [f"{row[at].text}{STAGE_MARK if mark else blank}" for row, mark in zip(shown_rows(summaries), marked, strict=True)]
    best = [row for row, place in summaries.best if place == at]
    return FilledColumn(summaries.columns[at]._replace(drop_order=drop_order), texts, best)


def _ordered_measures(results: ExperimentResult) -> list[str]:
    """The first measure, the first reciprocal rank and the deepest recall, then the others in order."""
    names = list(results.result.systems[0].measures)
    return list(dict.fromkeys([names[0], *_measures_named(results, "RR")[:1], *_deepest_recall(results), *names]))


def _deepest_recall(results: ExperimentResult) -> list[str]:
    deepest = deepest_recall(results.result)
    return [] if deepest is None else [deepest]


def _measures_named(results: ExperimentResult, name: str) -> list[str]:
    """The measures of that kind with any cutoff, in order."""
    return [full for full, measure in results.result.systems[0].measures.items() if measure.measure.name == name]


def _gain_title(results: ExperimentResult) -> str:
    measured = results.result.systems[0].measures[main_measure(results)]
    return "pp (vs)" if measured.measure.is_fraction else "gain (vs)"


def _gain_text(results: ExperimentResult, system_run: SystemRun) -> str:
    compared = results.compared_with(system_run)
    if compared is None:
        return MISSING
    name = main_measure(results)
    number = [other.name for other in results.system_runs].index(compared) + 1
    return f"{format_gain(results.gain(system_run, name), results.result.systems[0].measures[name])} ({number})"


def answers_title(answers: Result) -> str:
    """The title of the table of answers."""
    n = len(answers.queries)
    queries = "1 query" if n == 1 else f"{n} queries"
    return f"Answers, over {queries} with a reference answer (details: rankproof answers):"


def answers_table(answers: Result) -> Table:
    """Every measure, with the n of each system if answers failed, and no means if n is 0."""
    table = summary_table(answers)
    sizes = [max(measure.queries for measure in system.measures.values()) for system in answers.systems]
    if all(size == len(answers.queries) for size in sizes):
        return table
    columns = (table.columns[0], Column("n", "count"), *table.columns[1:])
    rows = tuple(_with_size(row, size) for row, size in zip(table.rows, sizes, strict=True))
    return replace(table, columns=columns, rows=rows, best=frozenset((row, at + 1) for row, at in table.best if sizes[row]))


def _with_size(row: Sequence[CellValue], size: int) -> tuple[CellValue, ...]:
    name, *values = row
    return name, str(size), *(values if size else [None] * len(values))


CHUNKS_TITLE = "At chunk level, from the same run:"


def chunks_table(chunks: Result, title: str = "") -> Table:
    """Every measure, the last one left out first; none is marked as best, as systems with other chunks are not comparable."""
    table = summary_table(chunks, title)
    return replace(
        table, columns=tuple(column._replace(drop_order=at) for at, column in enumerate(table.columns)), best=frozenset()
    )


def failed_call_notes(results: ExperimentResult) -> list[str]:
    """A sentence for each system with failed calls of a language model or search engine, its own or those of its inputs."""
    texts = {query.id: query.text for query in results.texts.values()}
    return [note for system_run in results.system_runs for note in _failed_call_notes(system_run, texts)]


def _failed_call_notes(system_run: SystemRun, texts: Mapping[str, str]) -> list[str]:
    if system_run.replies is not None:
        return [f"{system_run.name}: {note}" for note in failure_notes(system_run.replies, texts)]
    failed, given_up = system_run.total("failed"), system_run.total("given_up")
    parts = ([f"{failed} without a reply"] if failed else []) + ([f"{given_up} without a usable reply"] if given_up else [])
    where = "see its notes and those of its inputs"
    return [f"{system_run.name} has failed calls: {', '.join(parts)}; {where}."] if parts else []


def masked_key_notes(results: ExperimentResult) -> list[str]:
    """A sentence with the systems whose servers returned a key."""
    masked = {run.name: run.total("masked") + _masked_replies(run) for run in results.system_runs}
    names = ", ".join(for_message(name) for name, count in masked.items() if count)
    replies = pluralise(sum(masked.values()), "reply", "replies")
    return [f"{names}: {replies} contained a key or token, masked as {MASK}: do not trust this server"] if names else []


def _masked_replies(system_run: SystemRun) -> int:
    return sum(MASKED_NOTE in reply.notes for reply in (system_run.replies or {}).values())


def engine_notes(results: ExperimentResult) -> list[str]:
    """How many rankings of each search engine changed when asked again, and the time that its server reports."""
    changed = [f"{run.name}: {note}" for run in results.system_runs for note in changed_notes((run.replies or {}).values())]
    return [*changed, *_server_times(results)]


def _server_times(results: ExperimentResult) -> list[str]:
    facts = {run.name: (run.facts["round_trip_ms"], run.facts["server_ms"]) for run in results.system_runs if run.replies}
    return [
        f"{name}: the server reports {shown_time(server['p50'])} ms of a round trip of {shown_time(trip['p50'])} ms (p50 of "
        f"{pluralise(server['queries'], 'query', 'queries')})"
        for name, (trip, server) in facts.items()
        if trip and server
    ]


def unjudged_tables(results: ExperimentResult) -> list[Table]:
    """What is known of rankings without judgements: their times and lengths, and their overlap."""
    overlap = overlap_table(results)
    return [rankings_table(results), *([overlap] if overlap else [])]


_UNTESTED_NOTE = "These are differences of means; `rankproof compare` tests their significance."


def render_run(results: ExperimentResult, comparison: Comparison | None, options: RenderOptions) -> str:
    """The decision and the table of systems; the values of chunks and of answers, where there are any."""
    printer = TablePrinter(options)
    _add_head(results, printer, options)
    if not results.is_judged:
        for table in unjudged_tables(results):
            printer.line(f"{table.title}:")
            add_table(table, printer)
    elif comparison is None:
        _add_fitting(printer, systems_table(results), options)
        for note in _latency_notes(results):
            for line in wrapped(note, options.width):
                printer.line(line)
    else:
        decision = replace(comparison.decision, reused_replies=())
        add_comparison(replace(comparison, decision=decision), printer, options)
    if results.chunks:
        printer.line()
        printer.line(CHUNKS_TITLE)
        _add_fitting(printer, chunks_table(results.chunks), options)
    if results.answers:
        printer.line()
        for line in (line for text in _answers_head(results) for line in wrapped(text, options.width)):
            printer.line(line)
        printer.summary(answers_table(results.answers))
    return printer.text()


def _answers_head(results: ExperimentResult) -> Iterator[str]:
    """The decision between the answering systems, and the title of their means."""
    if results.answers is not None:
        comparison = compare_answers(results)
        if comparison is not None:
            first, *others = comparison.decision.sentences
            yield f"Answers by {comparison.primary}: {first}"
            yield from others
        yield answers_title(results.answers)


def _add_head(results: ExperimentResult, printer: TablePrinter, options: RenderOptions) -> None:
    """Adds what was run and, in the second line, which replies of search engines an earlier run recorded."""
    for line in wrapped(_headline(results), options.width):
        printer.line(line, style="bold")
    for sentence in reused_sentences(results.reused_replies, "--ask-again"):
        for line in wrapped(sentence, options.width):
            printer.line(line)
    printer.line()


def _latency_notes(results: ExperimentResult) -> list[str]:
    """On how many queries latency was measured."""
    queries = timed_queries(results.system_runs)
    return [f"Latency: {queries}."] if queries else []


def _add_fitting(printer: TablePrinter, table: Table, options: RenderOptions) -> None:
    """Adds the columns that fit, and the names of the others."""
    fitting = table.narrowed(lambda narrower: fits_width(narrower, options))
    printer.summary(fitting)
    shown = {column.name for column in fitting.columns}
    add_left_out(printer, [column.name for column in table.columns if column.name not in shown], options)


def system_sentences(results: ExperimentResult, not_significant: Collection[str] | None = None) -> list[str]:
    """A sentence for each system without a gain in the first measure, and for each answering system.

    `not_significant` are the systems without a significant difference; None if untested, and the last sentence says so.
    """
    answers = [_answers_sentence(system_run) for system_run in results.system_runs if system_run.kind == "answer"]
    others = [system_run for system_run in results.system_runs if system_run.kind != "answer"]
    sentences = [text for system_run in others if (text := _no_gain_sentence(results, system_run, not_significant or ()))]
    return [*sentences, *([_UNTESTED_NOTE] if sentences and not_significant is None else []), *answers]


def approximate_search_notes(results: ExperimentResult) -> list[str]:
    """A sentence for each approximate search: its recall of the exact neighbours, and its time."""
    recalls = [(system_run, share) for system_run in results.system_runs if (share := system_run.recall_of_exact()) is not None]
    return [
        f"{system_run.name} uses approximate search: it finds {share:.2%} of the exact nearest neighbours"
        f"{_time_phrase(system_run, 'search', 'search p50')}."
        for system_run, share in recalls
    ]


_LOW_RECALL = 0.5


def low_recall_notes(results: ExperimentResult) -> list[str]:
    """A note for each system whose values are those of an index rather than of a model: its recall is below one half."""
    recalls = [(run.name, share) for run in results.system_runs if (share := run.least_recall()) is not None]
    return [
        f"{name}: its vector store returns only {share:.1%} of the exact nearest neighbours, so its values describe the index "
        "rather than the model; raise ef or its like, or use exact search"
        for name, share in recalls
        if share < _LOW_RECALL
    ]


def _time_phrase(system_run: SystemRun, part: str, which: str) -> str:
    """The median of a part of the time, as the end of a sentence; empty for a system that was not timed."""
    time = system_run.time_of(part)
    return "" if time is None else f" in {shown_time(time.p50)} ms per query ({which})"


def _answers_sentence(system_run: SystemRun) -> str:
    """The input and time of an answering system, which does not change the ranking."""
    source = "" if system_run.builds_on is None else f" from the unchanged ranking of {system_run.builds_on}"
    time = _time_phrase(system_run, "generate", "p50")
    return f"{system_run.name} generates answers{source}{',' if time else ''}{time}."


def _no_gain_sentence(results: ExperimentResult, system_run: SystemRun, not_significant: Collection[str]) -> str | None:
    name = main_measure(results)
    measure = results.result.systems[0].measures[name]
    gain, other = results.gain(system_run, name), results.compared_with(system_run)
    less_is_better = measure.measure.higher_is_better is False
    if gain is None or other is None or (gain < 0 if less_is_better else gain > 0):
        return None
    more = _more_time(system_run, results.system_run(other))
    size = f"{100 * abs(gain):.2f} pp" if measure.measure.is_fraction else format_value(abs(gain), measure)
    if gain and _is_zero(size):
        if more is None or _is_zero(shown_time(abs(more))):
            return None
        size = "less than 0.01 pp" if measure.measure.is_fraction else "slightly"
    describe = _increase_text if less_is_better else _loss_text
    verdict = describe(size, name, other) if gain else _no_change_text(name, other)
    doubt = " (not significant)" if gain and system_run.name in not_significant else ""
    return f"{system_run.name} {verdict}{doubt}{'' if more is None else f' and {_latency_cost(more)}'}."


def _more_time(system_run: SystemRun, other: SystemRun) -> float | None:
    """How many ms more than the other it takes per query (p50); None if one of both was not timed."""
    times = system_run.time_of("total"), other.time_of("total")
    return None if times[0] is None or times[1] is None else times[0].p50 - times[1].p50


def _is_zero(number: str) -> bool:
    """Whether all digits are 0."""
    return not any(digit in number for digit in "123456789")


def _loss_text(size: str, name: str, other: str) -> str:
    return f"loses {size} {name} against {other}"


def _increase_text(size: str, name: str, other: str) -> str:
    return f"raises {name} (lower is better) by {size} against {other}"


def _no_change_text(name: str, other: str) -> str:
    return f"does not improve {name} over {other}"


def _latency_cost(more: float) -> str:
    if _is_zero(shown_time(abs(more))):
        return "takes the same time per query (p50)"
    return f"takes {shown_time(more)} ms more per query (p50)" if more >= 0 else f"saves {shown_time(-more)} ms per query (p50)"


def _headline(results: ExperimentResult) -> str:
    documents = results.provenance.get("documents")
    dataset = results.provenance.get("dataset")
    parts = [
        f"{results.name}{f' (dataset {dataset})' if dataset else ''}",
        *([f"{documents} {'document' if documents == 1 else 'documents'}"] if documents is not None else []),
        f"{len(results.queries)} {'query' if len(results.queries) == 1 else 'queries'}",
        f"{len(results.system_runs)} {'system' if len(results.system_runs) == 1 else 'systems'}",
        *([JUDGED_ONLY_TEXT] if results.judged_only else []),
    ]
    return ", ".join(parts)


def run_json(results: ExperimentResult, comparison: Comparison | None, options: RenderOptions) -> str:
    """The content of `result.json` without per-query values, and that of `summary.json` as `summary`.

    Without judgements, `rankings` and `overlap` have the tables of the rankings.
    """
    more: dict[str, Any] = {} if comparison is None else {"summary": summary_document(results, comparison)}
    if not results.is_judged:
        more = {table.name: table.records() for table in unjudged_tables(results)}
    return document_text({**results_document(results, per_query=False), **more})


def run_csv(results: ExperimentResult, comparison: Comparison | None, options: RenderOptions) -> str:
    """The content of `summary.csv`."""
    return summary_csv(results)


def run_markdown(results: ExperimentResult, comparison: Comparison | None, options: RenderOptions) -> str:
    """The decision, then every column of all systems."""
    sentences = reused_sentences(results.reused_replies) if comparison is None else comparison.decision.sentences
    return "".join(f"{for_markdown(sentence)}\n\n" for sentence in sentences) + systems_markdown(results, options)


def systems_markdown(results: ExperimentResult, options: RenderOptions) -> str:
    """A table of all systems with every column, the best of each measure in bold, followed by the sentences."""
    if not results.is_judged:
        return TABLE_RENDERERS["markdown"](unjudged_tables(results), options)
    sentences = "".join(
        f"\n{for_markdown(sentence)}\n"
        for sentence in (
            *_latency_notes(results),
            *approximate_search_notes(results),
            *system_sentences(results),
            *failed_call_notes(results),
        )
    )
    chunks = f"\n{CHUNKS_TITLE}\n\n{markdown_table(chunks_table(results.chunks))}" if results.chunks else ""
    head = "\n".join(f"{for_markdown(text)}\n" for text in _answers_head(results))
    answers = f"\n{head}\n{markdown_table(answers_table(results.answers))}" if results.answers else ""
    return f"{markdown_table(systems_table(results))}{sentences}{chunks}{answers}"
