"""The list of measures: definition, range, source and other names of each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite

from rankproof._io.escape import for_markdown
from rankproof._render.formats import RenderOptions
from rankproof.measures._base import Measure


def as_json(measures: Iterable[Measure], options: RenderOptions) -> str:
    """An object per measure by name, with parameters if the name is not unique."""
    listed: dict[str, object] = {}
    for measure in measures:
        listed[str(measure) if measure.name in listed else measure.name] = _facts(measure)
    return json.dumps(listed, ensure_ascii=False, indent=2) + "\n"


def as_markdown(measures: Iterable[Measure], options: RenderOptions) -> str:
    """A table with a row per measure."""
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
    "finding": "retrieval",
    "ordering": "ranking",
    "answering": "answer generation",
    "checking": "data checks",
}
KINDS = {
    "binary": "binary judgements: a document is relevant if its grade is at least rel",
    "graded": "graded judgements",
    "count": "describes the data; not a measure of quality",
    "text": "a text, shown by rankproof eval alone",
    "answer": "reference answers, contexts or nuggets instead of judgements; CiteP and CiteR by judgements need binary ones",
}


def as_table(measures: Iterable[Measure], options: RenderOptions) -> str:
    """A line per measure, by family."""
    from rankproof._render.terminal import TablePrinter
    from rankproof.measures._registry import FAMILIES

    printer, listed = TablePrinter(options), list(measures)
    width = max(len(short_notation(measure)) for measure in listed)
    titles = [(name, family.title) for name, family in FAMILIES.items()]
    for family, title in (*titles, (None, "Measures of installed packages")):
        members = [measure for measure in listed if measure.family == family]
        if members:
            printer.line(title, style="bold")
        for measure in members:
            printer.line(f"  {short_notation(measure):{width}}  {measure.title}")
    printer.line()
    printer.line("rankproof measures NAME describes a measure: formula, parameters, when to use it.")
    return printer.text()


def _description(measure: Measure, options: RenderOptions) -> str:
    """A paragraph on the measure, with its name first."""
    from rankproof._render.terminal import TablePrinter

    printer = TablePrinter(options)
    printer.line(f"{notation(measure)}  {measure.title}", style="bold")
    if measure.formula:
        printer.paragraph(f"{short_notation(measure)} = {measure.formula}")
    printer.paragraph(measure.definition)
    printer.paragraph(f"{value_range(measure)}; {measure.source}", style="dim")
    if measure.parameters():
        printer.paragraph(f"parameters: {', '.join(parameter_texts(measure))}", style="dim")
    if measure.aliases:
        printer.paragraph(f"also accepted: {', '.join(measure.aliases)}", style="dim")
    return printer.text()


def as_descriptions(measures: Iterable[Measure], options: RenderOptions) -> str:
    """A paragraph per measure, with advice on its use."""
    from rankproof._render.terminal import TablePrinter

    shown = []
    for measure in measures:
        printer = TablePrinter(options)
        for line in advice_lines(measure):
            printer.paragraph(line)
        shown.append(_description(measure, options) + printer.text())
    return "\n".join(shown)


def advice_lines(measure: Measure) -> list[str]:
    """When to use the measure, when not, its kind of judgement, and its stage."""
    advice = measure.advice
    use = [] if advice is None else [f"use it when {advice.use}", f"avoid it when {advice.avoid}"]
    read = [] if advice is None else [f"{measure}@{cutoff}: {text}" for cutoff, text in advice.by_cutoff]
    where = [] if advice is None else [f"stage: {STAGES[advice.stage]}"]
    return [*use, *read, KINDS[measure.kind], *where]


def cutoff_reading(measure: Measure) -> str:
    """What the measure's cutoff means for a person; empty if the advice does not say it."""
    readings = {} if measure.advice is None else dict(measure.advice.by_cutoff)
    return readings.get(getattr(measure, "cutoff", None) or 0, "")


def notation(measure: Measure) -> str:
    """The notation of the measure, with a cutoff if it takes one."""
    place = _place(measure)
    if not place or measure.needs:
        return f"{measure}{place}"
    return f"{measure}, {measure}{place}"


def short_notation(measure: Measure) -> str:
    """The name, with a cutoff if the measure takes one."""
    return f"{measure.name}{_place(measure)}"


def _place(measure: Measure) -> str:
    return {"cutoff": "@k", "recall": "@r", "multiple": "@x"}.get(measure.at or "", "")


def parameter_texts(measure: Measure) -> list[str]:
    """The parameters of the measure, each with its default if it has one."""
    from rankproof.measures._base import format_parameter

    parameters = measure.parameters().items()
    return [name if value is None else f"{name}={format_parameter(value)}" for name, value in parameters]


def value_range(measure: Measure) -> str:
    """The range of values and the summary over queries."""
    if measure.kind == "text":
        return "a text"
    least, greatest = measure.range
    unbounded = "any number" if least == -float("inf") else f"{least:g} or more"
    bounds = unbounded if greatest == float("inf") else f"{least:g} to {greatest:g}"
    return f"{bounds}; {measure.summary}{' mean' if measure.summary == 'geometric' else ''} over queries"


def _facts(measure: Measure) -> dict[str, object]:
    advice = measure.advice
    least, greatest = (bound if isfinite(bound) else None for bound in measure.range)
    return {
        "written": notation(measure),
        "title": measure.title,
        "family": measure.family,
        "formula": measure.formula,
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
        "by_cutoff": {str(cutoff): text for cutoff, text in advice.by_cutoff} if advice else {},
    }
