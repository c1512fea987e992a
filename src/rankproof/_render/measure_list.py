"""The list of measures: what each is, what it ranges over, where it comes from, and what others call it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rankproof._io.escape import for_markdown
from rankproof._render.grid import RenderOptions
from rankproof.measures._base import Measure


def as_json(measures: Iterable[Measure], options: RenderOptions) -> str:
    """An object for each measure by its name, with parameters where another has the same."""
    listed: dict[str, object] = {}
    for measure in measures:
        listed[str(measure) if measure.name in listed else measure.name] = _facts(measure)
    return json.dumps(listed, ensure_ascii=False, indent=2) + "\n"


def as_markdown(measures: Iterable[Measure], options: RenderOptions) -> str:
    """A table, a measure a row."""
    rows: list[tuple[str, ...]] = [("measure", "definition", "range", "source", "also accepted"), (":---",) * 5]
    for measure in measures:
        texts = (
            notation(measure),
            f"{measure.title}. {measure.definition}",
            value_range(measure),
            measure.source,
            ", ".join(measure.aliases),
        )
        rows.append(tuple(for_markdown(text) for text in texts))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


STAGES = {
    "finding": "where documents are found",
    "ordering": "where documents are put in order",
    "answering": "where answers are written",
    "checking": "before a value is believed",
}
KINDS = {
    "binary": "binary: relevant or not, rel says from which grade on",
    "graded": "graded",
    "count": "neither: it counts, and is no quality",
    "answer": "neither: reference answers; for citations, documents that are relevant or not",
}


def as_table(measures: Iterable[Measure], options: RenderOptions) -> str:
    """A paragraph for each measure, its name first."""
    from rankproof._render.terminal_tables import TablePrinter

    printer = TablePrinter(options)
    for measure in measures:
        printer.line(f"{notation(measure)}  {measure.title}", style="bold")
        printer.paragraph(measure.definition)
        printer.paragraph(f"{value_range(measure)}; {measure.source}", style="dim")
        if measure.aliases:
            printer.paragraph(f"also accepted: {', '.join(measure.aliases)}", style="dim")
        printer.line()
    return printer.text().rstrip("\n") + "\n"


def as_advice(measures: Iterable[Measure], options: RenderOptions) -> str:
    """The same, and when to use each, when not, what it is judged by and where it matters."""
    from rankproof._render.terminal_tables import TablePrinter

    shown = []
    for measure in measures:
        printer = TablePrinter(options)
        for line in advice_lines(measure):
            printer.paragraph(line)
        shown.append(as_table([measure], options) + printer.text())
    return "\n".join(shown)


def advice_lines(measure: Measure) -> list[str]:
    """When to use it, when not, what it is judged by and where it matters."""
    advice = measure.advice
    told = [] if advice is None else [f"use it where {advice.use}", f"not where {advice.avoid}"]
    where = [] if advice is None else [f"matters {STAGES[advice.stage]}"]
    return [*told, KINDS[measure.kind], *where]


def notation(measure: Measure) -> str:
    """How the measure is written, with its cutoff where it takes one."""
    place = {"cutoff": "@k", "recall": "@r"}.get(measure.at or "", "")
    if not place or measure.needs:
        return f"{measure}{place}"
    return f"{measure}, {measure}{place}"


def value_range(measure: Measure) -> str:
    """The least and the greatest value, and how queries are summed up."""
    least, greatest = measure.range
    return f"{least:g} to {greatest:g}, {measure.summary}".replace("inf", "any")


def _facts(measure: Measure) -> dict[str, object]:
    advice = measure.advice
    least, greatest = (None if abs(bound) == float("inf") else bound for bound in measure.range)
    return {
        "written": notation(measure),
        "title": measure.title,
        "definition": measure.definition,
        "range": [least, greatest],
        "summary": measure.summary,
        "higher_is_better": measure.higher_is_better,
        "parameters": list(measure.parameters()),
        "source": measure.source,
        "trec_eval": measure.parity is not None,
        "aliases": list(measure.aliases),
        "kind": measure.kind,
        "stage": advice.stage if advice else None,
        "use": advice.use if advice else None,
        "avoid": advice.avoid if advice else None,
    }
