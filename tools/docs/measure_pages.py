"""One page for each family of measures: a section for each measure from its class, and worked examples."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof._io.escape import for_markdown
from rankproof._render.measure_list import STAGES, notation, parameter_texts, short_notation, value_range
from rankproof.measures import ANSWER_MEASURES, MEASURES, TEXT_MEASURES, Measure
from rankproof.measures._base import FamilyName
from rankproof.measures._citations import ABSTAINING_ANSWER, CITATION_MARKS, AnswerStateMeasure
from rankproof.measures._claim_base import ClaimMeasure
from rankproof.measures._contexts import USEFUL_CONTEXT
from rankproof.measures._continuation import SCALED_GAIN, WANTED_GAIN
from rankproof.measures._criterion import RubricGrade
from rankproof.measures._diversity import ALPHA_GAIN, COVERED_SUBTOPIC, GREEDY_IDEAL
from rankproof.measures._registry import FAMILIES

from .weight_charts import pictures_of
from .worked_rows import answer_examples, ranking_examples, worked_value

_TERMS = (
    *(SCALED_GAIN, WANTED_GAIN, ALPHA_GAIN, COVERED_SUBTOPIC, GREEDY_IDEAL),
    *(ABSTAINING_ANSWER, USEFUL_CONTEXT, CITATION_MARKS),
)
"""Parts of definitions that a page with several of them says once."""


def all_measures() -> list[Measure]:
    """Every measure of the package, rankings first."""
    return [*MEASURES.values(), *ANSWER_MEASURES.values(), *TEXT_MEASURES.values()]


def family_files() -> list[str]:
    """The names of the pages."""
    return [f"{name}.md" for name in FAMILIES]


def link_of(measure: Measure) -> str:
    """The page and the section of the measure."""
    return f"{measure.family}.md#{measure.name.lower()}"


def measure_pages() -> dict[str, str]:
    """The text of each page by the name of its file."""
    return {f"{name}.md": _page(name) for name in FAMILIES}


def index_table() -> str:
    """The measures by family, with links to their sections."""
    rows = ["| family | measures |", "| :--- | :--- |"]
    for name, family in FAMILIES.items():
        links = ", ".join(f"[{measure.name}](measures/{link_of(measure)})" for measure in _members(name))
        rows.append(f"| [{family.title}](measures/{name}.md) | {links} |")
    return "\n".join(rows)


def _members(name: FamilyName) -> list[Measure]:
    return [measure for measure in all_measures() if measure.family == name]


def _page(name: FamilyName) -> str:
    family, members = FAMILIES[name], _members(name)
    numbers = [measure for measure in members if measure.kind != "text" and not isinstance(measure, RubricGrade)]
    examples = answer_examples if numbers[0].kind == "answer" else ranking_examples
    terms = [term for term in _TERMS if sum(term in measure.definition for measure in members) > 1]
    head = f"# {family.title}\n\n{family.about} Notation and defaults: [Measures](../measures.md#notation).\n"
    sections = [_section(measure, terms) for measure in members]
    return "\n".join((head, *pictures_of(name), *_terms(terms), examples(numbers), *sections))


def _terms(terms: Sequence[str]) -> list[str]:
    """The common parts of the definitions."""
    lines = [f"- {for_markdown(term.strip(' ;.'))}\n" for term in terms]
    return ["".join(["In the definitions below:\n\n", *lines])] if terms else []


def _definition(measure: Measure, terms: Sequence[str]) -> str:
    """The definition without the terms that the page explains."""
    text = measure.definition
    for term in terms:
        text = text.replace(term, "")
    return for_markdown(text.strip(" ;.") + ".")


def _section(measure: Measure, terms: Sequence[str]) -> str:
    formula = f"`{short_notation(measure)} = {measure.formula}`\n\n" if measure.formula else ""
    value = "" if measure.kind in ("answer", "text") else worked_value(measure)
    return (
        f"## {measure.name}\n\n**{measure.title}.** {_facts(measure)}.\n\n{formula}{_definition(measure, terms)}{value}\n\n"
        f"{_advice(measure)}{_names(measure)}"
    )


def _facts(measure: Measure) -> str:
    """What differs from the defaults, the judgements, and the stage."""
    usual = measure.is_fraction or measure.kind == "text"
    better = {True: [], False: ["lower is better"], None: ["neither high nor low is better"]}[measure.higher_is_better]
    stage = STAGES[measure.advice.stage if measure.advice else "checking"]
    facts = [*([] if usual else [value_range(measure)]), *better, _judgements(measure), f"for {stage}"]
    text = "; ".join([*facts, *(["equal to trec_eval 10"] if measure.parity else [])])
    return text[0].upper() + text[1:]


def _judgements(measure: Measure) -> str:
    if measure.kind != "answer":
        kinds = {"binary": "binary judgements", "graded": "graded judgements", "count": "describes the data", "text": "a text"}
        return f"{kinds[measure.kind]}{' for [subtopics](../formats.md#subtopics)' if measure.needs_subtopics else ''}"
    if isinstance(measure, AnswerStateMeasure):
        return "states and wording of answers; AbstainP and AbstainR need references"
    if measure.name == "Evidence":
        return "binary judgements, or reference contexts"
    if not isinstance(measure, ClaimMeasure):
        return "reference answers"
    if isinstance(measure, RubricGrade):
        return "a language model that reads a [rubric](../rag-scores.md#criteria-of-your-own)"
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
    rows = cutoff_rows(measure)
    return f"**Use it** when {advice.use}\n**Avoid it** when {advice.avoid}\n\n" + (f"{rows}\n\n" if rows else "")


def cutoff_rows(measure: Measure) -> str:
    """The cutoffs of the advice with their meaning, as a table; empty if the advice does not say it."""
    readings = () if measure.advice is None else measure.advice.by_cutoff
    rows = [f"| `{measure}@{cutoff}` | {text} |" for cutoff, text in readings]
    return "\n".join(["| measure | for a person who searches |", "| :--- | :--- |", *rows]) if rows else ""


_SPELLINGS = {"RBP": "none; `rbp` is [GradedRBP](#gradedrbp)", "GradedRBP": "`trec_rbp`, `rbp`"}
"""Of measures whose name is another measure in lower case."""


def _names(measure: Measure) -> str:
    """How the measure is written, its parameters, other names, and source."""
    written = "" if measure.formula else f"`{notation(measure)}`".replace(", ", "`, `")
    parameters = ", ".join(f"`{text}`" for text in parameter_texts(measure) if text != measure.at)
    others = _SPELLINGS.get(measure.name) or ", ".join(f"`{name}`" for name in measure.aliases)
    texts = {"Written": written, "Parameters": parameters, "Other names": others, "Source": for_markdown(measure.source)}
    return ". ".join(f"{label}: {text}" for label, text in texts.items() if text) + ".\n"
