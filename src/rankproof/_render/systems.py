"""ExperimentResult as text, JSON, CSV, Markdown."""

from __future__ import annotations

from collections.abc import Collection
from textwrap import wrap

from rankproof._data.text import shown_time
from rankproof._io.escape import for_markdown
from rankproof._render.grid import Cell, Grid, RenderOptions, format_value
from rankproof._render.systems_grid import (
    CHUNKS_TITLE,
    COST_COLUMNS,
    COUNT_MARK,
    answers_grid,
    answers_title,
    chunk_grid,
    main_measure,
    stage_measures,
    systems_grid,
)
from rankproof._render.terminal_tables import TablePrinter, fits_width
from rankproof._results.csv_files import summary_csv
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._results.to_json import document_text, results_document


def failed_call_notes(results: ExperimentResult) -> list[str]:
    """A sentence for each rung with asks, its own or of what it rests on, that no reply of use came to."""
    return [
        _failed_call_note(system_run)
        for system_run in results.system_runs
        if system_run.total("failed") or system_run.total("given_up")
    ]


def _failed_call_note(system_run: SystemRun) -> str:
    failed, given_up = system_run.total("failed"), system_run.total("given_up")
    parts = ([f"{failed} without a reply"] if failed else []) + ([f"{given_up} without a reply of use"] if given_up else [])
    return f"{system_run.name} rests on asks that brought nothing: {', '.join(parts)}; its notes and those below it say more."


_UNTESTED_NOTE = "These are differences of means; `rankproof compare` tells which of them are more than chance."


def render_systems(results: ExperimentResult, options: RenderOptions) -> str:
    """The table, what its marks mean, what approximate searches miss, and the rungs that add nothing."""
    printer = TablePrinter(options)
    printer.line(_headline(results), style="bold")
    printer.line()
    grid = systems_grid(results, lambda grid: fits_width(grid, options))
    printer.summary(grid)
    for sentence in (
        *_legend(results, options),
        *_hidden_columns_note(grid),
        *approximate_search_notes(results),
        *system_sentences(results),
        *failed_call_notes(results),
    ):
        for line in wrap(sentence, options.width):
            printer.line(line)
    if results.chunks:
        printer.line()
        printer.line(CHUNKS_TITLE)
        printer.summary(chunk_grid(results.chunks, lambda grid: fits_width(grid, options)))
    if results.answers:
        printer.line()
        for line in wrap(answers_title(results.answers), options.width):
            printer.line(line)
        printer.summary(answers_grid(results.answers))
    return printer.text()


def system_sentences(results: ExperimentResult, unsure: Collection[str] | None = None) -> list[str]:
    """A sentence for each rung that answers, and for each other whose first measure is not above that of the one below it.

    `unsure` are the rungs that no test tells from the one below; None where none was made, and the last sentence says so.
    """
    answers = [_answers_sentence(system_run) for system_run in results.system_runs if system_run.kind == "answer"]
    others = [system_run for system_run in results.system_runs if system_run.kind != "answer"]
    found = [said for system_run in others if (said := _no_gain_sentence(results, system_run, unsure or ()))]
    return [*found, *([_UNTESTED_NOTE] if found and unsure is None else []), *answers]


def approximate_search_notes(results: ExperimentResult) -> list[str]:
    """A sentence for each rung whose search is approximate: what it finds of the exact nearest, and how fast."""
    found = [(system_run, share) for system_run in results.system_runs if (share := system_run.recall_of_exact()) is not None]
    return [
        f"{system_run.name} searches approximately: it finds {share:.2%} of the exact nearest"
        f" in {shown_time(system_run.time_of('search')['p50'])} ms a query (p50 of searching)."
        for system_run, share in found
    ]


def _answers_sentence(system_run: SystemRun) -> str:
    """Answers leave the ranking as it is, so that they are measured by themselves."""
    below = "" if system_run.baseline is None else f" from the ranking of {system_run.baseline}, which stays as it is"
    return (
        f"{system_run.name} answers{below}; answering takes {shown_time(system_run.time_of('generate')['p50'])} ms a query (p50)."
    )


def _no_gain_sentence(results: ExperimentResult, system_run: SystemRun, unsure: Collection[str]) -> str | None:
    name = main_measure(results)
    one = results.result.systems[0].measures[name]
    gain = results.gain(system_run, name)
    less_is_better = one.measure.higher_is_better is False
    if gain is None or system_run.baseline is None or (gain < 0 if less_is_better else gain > 0):
        return None
    more = system_run.time_of("total")["p50"] - results.system_run(system_run.baseline).time_of("total")["p50"]
    size = f"{100 * abs(gain):.2f} pp" if one.measure.is_fraction else format_value(abs(gain), one)
    if gain and _is_zero(size):
        if _is_zero(shown_time(abs(more))):
            return None
        size = "less than 0.01 pp" if one.measure.is_fraction else "a little"
    told = _increase_sentence if less_is_better else _loss_sentence
    verdict = told(size, name, system_run.baseline) if gain else _no_change_sentence(name, system_run.baseline, less_is_better)
    doubt = ", which these queries cannot tell from chance," if gain and system_run.name in unsure else ""
    return f"{system_run.name} {verdict}{doubt} and {_latency_cost(more)}."


def _is_zero(number: str) -> bool:
    """Whether nothing but noughts is shown."""
    return not any(digit in number for digit in "123456789")


def _loss_sentence(size: str, name: str, baseline: str) -> str:
    return f"loses {size} {name} against {baseline}"


def _increase_sentence(size: str, name: str, baseline: str) -> str:
    return f"raises {name}, of which less is better, by {size} over {baseline}"


def _no_change_sentence(name: str, baseline: str, less_is_better: bool) -> str:
    return f"{'takes nothing from' if less_is_better else 'adds nothing to'} the {name} of {baseline}"


def _latency_cost(more: float) -> str:
    if _is_zero(shown_time(abs(more))):
        return "takes as long a query (p50)"
    return f"costs {shown_time(more)} ms more a query (p50)" if more >= 0 else f"saves {shown_time(-more)} ms a query (p50)"


def _headline(results: ExperimentResult) -> str:
    documents = results.provenance.get("documents")
    dataset = results.provenance.get("dataset")
    parts = [
        f"{results.name}{f' on {dataset}' if dataset else ''}",
        *([f"{documents} {'document' if documents == 1 else 'documents'}"] if documents is not None else []),
        f"{len(results.queries)} {'query' if len(results.queries) == 1 else 'queries'}",
        f"{len(results.system_runs)} {'system' if len(results.system_runs) == 1 else 'systems'}",
    ]
    return ", ".join(parts)


def _legend(results: ExperimentResult, options: RenderOptions) -> list[str]:
    name = main_measure(results)
    unit = "pp: percentage points" if results.result.systems[0].measures[name].measure.is_fraction else "gain:"
    best = f"{'In bold' if options.colour else '*'}: the best of its measure."
    return [f"{best} {unit} of {name} gained over the rung in brackets.", *_stage_measure_notes(results)]


def _hidden_columns_note(grid: Grid) -> list[str]:
    """Which costs had no room."""
    gone = [title for title in COST_COLUMNS if title not in grid.columns]
    return [f"No room here for {', '.join(gone)}: summary.csv has all, a wider terminal more."] if gone else []


def _stage_measure_notes(results: ExperimentResult) -> list[str]:
    """Which measure matters at which stage, for the stages that are there."""
    finders = [system_run for system_run in results.system_runs if system_run.kind != "rerank"]
    orderers = [system_run for system_run in results.system_runs if system_run.kind == "rerank"]
    parts = []
    if finders and (found := stage_measures(results, finders[0])):
        parts.append(f"where documents are found, {found[0]}, the ceiling of any reranker")
    if orderers and (ordered := stage_measures(results, orderers[0])):
        parts.append(f"where they are put in order, {' and '.join(ordered)}")
    return [f"{COUNT_MARK} what matters at its stage: {'; '.join(parts)}."] if parts else []


def systems_json(results: ExperimentResult, options: RenderOptions) -> str:
    """What `result.json` holds, without the values of single queries."""
    return document_text(results_document(results, per_query=False))


def systems_csv(results: ExperimentResult, options: RenderOptions) -> str:
    """What `summary.csv` holds."""
    return summary_csv(results)


def systems_markdown(results: ExperimentResult, options: RenderOptions) -> str:
    """The ladder as a table with every column, the best of each measure in bold, and the sentences below it."""
    said = "".join(
        f"\n{for_markdown(sentence)}\n"
        for sentence in (*approximate_search_notes(results), *system_sentences(results), *failed_call_notes(results))
    )
    chunks = f"\n{CHUNKS_TITLE}\n\n{_markdown_table(chunk_grid(results.chunks))}" if results.chunks else ""
    answers = f"\n{answers_title(results.answers)}\n\n{_markdown_table(answers_grid(results.answers))}" if results.answers else ""
    return f"{_markdown_table(systems_grid(results))}{said}{chunks}{answers}"


def _markdown_table(grid: Grid) -> str:
    head = " | ".join(for_markdown(text) for text in (grid.corner, *grid.columns))
    rule = " | ".join([":---"] + ["---:"] * len(grid.columns))
    lines = [
        " | ".join([for_markdown(row), *map(_markdown_cell, cells)]) for row, cells in zip(grid.rows, grid.cells, strict=True)
    ]
    return "".join(f"| {line} |\n" for line in (head, rule, *lines))


def _markdown_cell(cell: Cell) -> str:
    text = cell.text.strip()
    return f"**{text}**" if cell.best else text
