"""One page for each measure: its registry record and worked examples."""

from __future__ import annotations

from rankproof._io.escape import for_markdown
from rankproof._render.grid import RenderOptions
from rankproof._render.measure_list import KINDS, STAGES, as_markdown, notation, parameter_texts, value_range
from rankproof.measures import ANSWER_MEASURES, MEASURES, TEXT_MEASURES, Measure
from rankproof.measures._claim_base import ClaimMeasure
from rankproof.measures._nuggets import AnswerStateMeasure

from .worked_rows import answer_rows, ranking_rows

_NAV = {"ordering": "Ranking", "finding": "Retrieval", "answering": "Answers", "checking": "Checks"}


def all_measures() -> list[Measure]:
    """Every measure of the package, rankings first."""
    return [*MEASURES.values(), *ANSWER_MEASURES.values()]


def file_of(measure: Measure) -> str:
    """The name of its page."""
    prefix = "answer-" if measure.kind == "answer" and measure.name in MEASURES else ""
    return f"{prefix}{measure.name.lower()}.md"


def measure_pages() -> dict[str, str]:
    """The text of each page by the name of its file."""
    return {file_of(measure): _page(measure) for measure in all_measures()}


def definitions_table() -> str:
    """What `rankproof measures --format markdown` prints."""
    return as_markdown([*MEASURES.values(), *TEXT_MEASURES.values(), *ANSWER_MEASURES.values()], RenderOptions())


def index_table() -> str:
    """The measures by retrieval stage, with links to their pages."""
    rows = ["| stage | measures |", "| :--- | :--- |"]
    for stage, where in STAGES.items():
        links = [f"[{_label(one)}](measures/{file_of(one)})" for one in all_measures() if _stage(one) == stage]
        rows.append(f"| {where} | {', '.join(links)} |")
    return "\n".join(rows)


def measures_nav() -> list[dict[str, list[str]]]:
    """The pages of measures by retrieval stage, as the navigation of mkdocs has them."""
    found = {title: [one for one in all_measures() if (_stage(one) or "checking") == stage] for stage, title in _NAV.items()}
    return [{title: [f"measures/{file_of(one)}" for one in measures]} for title, measures in found.items()]


def _stage(measure: Measure) -> str | None:
    return measure.advice.stage if measure.advice else None


def _label(measure: Measure) -> str:
    return "F1 of answers" if file_of(measure).startswith("answer-") else measure.name


def _page(measure: Measure) -> str:
    rows = answer_rows(measure) if measure.kind == "answer" else ranking_rows(measure)
    head = f"# {_label(measure)}\n\n{measure.title}. {for_markdown(measure.definition)}\n"
    return "\n".join((head, _facts(measure), _advice(measure), rows))


_ANY_CASE = "the name in upper or lower case"
_SPELLINGS = {"RBP": "none; `rbp` is [GradedRBP](gradedrbp.md)", "GradedRBP": "`trec_rbp`, `rbp`"}
"""Of measures whose name is another measure in lower case."""


def _facts(measure: Measure) -> str:
    name = f"`{notation(measure)}`".replace(", ", "`, `")
    facts = {
        "range": value_range(measure),
        "kind": _kind(measure),
        "stage": STAGES[_stage(measure) or "checking"],
        "better": {True: "higher", False: "lower", None: "neither"}[measure.higher_is_better],
        "parameters": ", ".join(f"`{text}`" for text in parameter_texts(measure)) or "none",
        "source": for_markdown(measure.source),
        "also accepted": _SPELLINGS.get(measure.name) or ", ".join(f"`{name}`" for name in measure.aliases) or _ANY_CASE,
        "trec_eval 10": "equal within 1e-9" if measure.parity else "no equivalent",
    }
    return f"| written | {name} |\n| :--- | :--- |\n" + "".join(f"| {name} | {value} |\n" for name, value in facts.items())


def _kind(measure: Measure) -> str:
    if measure.needs_subtopics:
        return "judgements for [subtopics](../formats.md#subtopics): a document covers a subtopic if its grade is at least rel"
    if measure.kind != "answer":
        return KINDS[measure.kind]
    if isinstance(measure, AnswerStateMeasure):
        return "states and wording of answers; AbstainP and AbstainR need references"
    if not isinstance(measure, ClaimMeasure):
        return "reference answers instead of judgements"
    if measure.name in ("CiteP", "CiteR"):
        return "binary judgements of the cited documents, or a judge of claims"
    return f"a judge of claims, and {_needed_texts(measure)}"


_INPUT_NAMES = {"contexts": "the texts of contexts", "question": "questions", "nuggets": "nuggets"}


def _needed_texts(measure: ClaimMeasure) -> str:
    inputs = [_INPUT_NAMES[name] for name in measure.inputs]
    return " and ".join([*inputs, *(["reference answers"] if measure.needs_reference else [])])


def _advice(measure: Measure) -> str:
    advice = measure.advice
    if advice is None:
        return ""
    return f"**Use it** when {advice.use}\n\n**Avoid it** when {advice.avoid}\n{_by_cutoff(measure)}"


def _by_cutoff(measure: Measure) -> str:
    """A table of what each cutoff means for a person; empty if the advice does not say it."""
    rows = cutoff_rows(measure)
    return f"\n## What each k means\n\n{rows}\n" if rows else ""


def cutoff_rows(measure: Measure) -> str:
    """The cutoffs of the advice with their meaning, as a table."""
    readings = () if measure.advice is None else measure.advice.by_cutoff
    rows = [f"| `{measure}@{cutoff}` | {text} |" for cutoff, text in readings]
    return "\n".join(["| measure | for a person who searches |", "| :--- | :--- |", *rows]) if rows else ""
