"""Worked examples on the page of a family: a table of values, and the commands for one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import rankproof as rp
from rankproof._data.answers import Answer
from rankproof._data.arrays import Matrix
from rankproof._evaluation.answers import evaluate_answers
from rankproof.measures import Measure
from rankproof.measures._claim_base import ClaimMeasure
from rankproof.models._base import Encoder
from rankproof.models._registry import encoder_by_name

from .measure_rows import (
    ANSWER_VARIANTS,
    ANSWERS,
    CONTEXTS,
    EXPLAINED,
    GRADES,
    NUGGETS,
    QUESTION,
    RANKINGS,
    REFERENCE,
    RELEVANT,
    SUBTOPICS,
    shown_as,
)
from .reference_tools import checked_against


def ranking_examples(measures: Sequence[Measure]) -> str:
    """The rankings of one query and their values by each measure."""
    rows = [
        ("measure", *(str(number) for number, _ in enumerate(RANKINGS, start=1)), "checked against"),
        (":---", *("---:",) * len(RANKINGS), ":---"),
    ]
    for measure in measures:
        values = [_ranking_values(measure, ranking) for ranking in RANKINGS]
        for name in shown_as(measure):
            shown = (_number(measure, by_name[name]) for by_name in values)
            rows.append((f"[`{name}`](#{measure.name.lower()})", *shown, checked_against(measure.name, name)))
    rankings = "".join(f"{number}. `{ranking}`: {what}\n" for number, (ranking, what) in enumerate(RANKINGS.items(), start=1))
    judged = f"One query. {_judged(measures[0])} The other documents are unjudged. Rankings:"
    return f"## Worked examples\n\n{judged}\n\n{rankings}\n{_table(rows)}"


def _ranking_values(measure: Measure, ranking: str) -> Mapping[str, float]:
    return rp.evaluate(_qrels(measure), {"q1": _scores(ranking)}, shown_as(measure)).means["run"]


def _qrels(measure: Measure) -> Any:
    return rp.Qrels.from_subtopics({"q1": SUBTOPICS}) if measure.needs_subtopics else {"q1": GRADES}


def _number(measure: Measure, value: float) -> str:
    return f"{value:.{0 if measure.summary == 'sum' else 4}f}"


def worked_value(measure: Measure) -> str:
    """How one value of the table is added up; empty if the measure is no sum over documents."""
    name = shown_as(measure)[0]
    if measure.kind not in ("binary", "graded") or measure.summary != "mean":
        return ""
    table = rp.explain(_qrels(measure), {"q1": _scores(EXPLAINED)}, [name], query="q1").tables[0]
    if not table.facts["explained"]:
        return ""
    at = [column.name for column in table.columns].index("term")
    terms = [f"{row[at]:.4f}".rstrip("0").rstrip(".") for row in table.rows if row[at]]
    added = " + ".join(terms) if table.facts["denominator"] == table.facts["scale"] == 1 else f"({' + '.join(terms)})"
    value = table.sentences[0].partition(": ")[2].replace(f"{table.facts['sum']:.4f}", added, 1)
    return f" For `{EXPLAINED}`, `{name}` is {value}"


def _judged(measure: Measure) -> str:
    """A sentence on the judgements of the examples."""
    if not measure.needs_subtopics:
        return f"Judged documents and their grades: {_grades(GRADES)}."
    each = "; ".join(f"subtopic {name}: {_grades(docs)}" for name, docs in SUBTOPICS.items())
    return f"Judged documents and their grades for each subtopic: {each}."


def _grades(docs: Mapping[str, int]) -> str:
    return ", ".join(f"{doc} {grade}" for doc, grade in docs.items())


def answer_examples(measures: Sequence[Measure]) -> str:
    """Answers to one question and their values by each measure."""
    letters = "ABCDE"[: len(ANSWERS)]
    rows = [("measure", *letters), (":---", *("---:",) * len(letters))]
    for measure in measures:
        names = _answer_names(measure)
        values = [_answer_values(Answer(text, cited=cited, given=tuple(CONTEXTS)), names) for text, cited in ANSWERS]
        for name in names:
            shown = (f"{by_name[name]:.4f}".replace("nan", "–") for by_name in values)
            rows.append((f"[`{name}`](#{measure.name.lower()})", *shown))
    answers = "".join(
        f"- {letter}: {text} Cites {', '.join(cited) or 'nothing'}.\n"
        for letter, (text, cited) in zip(letters, ANSWERS, strict=True)
    )
    of_claims = isinstance(measures[0], ClaimMeasure)
    called = [_answer_names(measure)[0] for measure in measures if not measure.name.startswith(("Cite", "Abstain", "Evidence"))]
    call = (_claim_call if of_claims else _text_call)(json.dumps(called, indent=4))
    return (
        f"## Worked examples\n\nQuestion: *{QUESTION}* Reference answer: *{REFERENCE}*."
        f"{_contexts_text() if of_claims else ''} A dash is no value.\n\n{answers}\n{_table(rows)}\n"
        f"Answer B in Python:\n\n```python\nimport rankproof as rp\n\n{call}\n```\n\n```output\n```\n"
    )


def _answer_names(measure: Measure) -> tuple[str, ...]:
    return ANSWER_VARIANTS.get(measure.name, (str(measure),))


def _answer_values(answer: Answer, names: Sequence[str]) -> Mapping[str, float]:
    """The values of one answer, NaN where there is none."""
    return evaluate_answers(
        {"mine": {"q1": answer}},
        {"q1": [REFERENCE]},
        {"q1": dict.fromkeys(RELEVANT, 1)},
        names,
        _by_word_vectors,
        questions={"q1": QUESTION},
        passage=CONTEXTS.get,
        nuggets={"q1": NUGGETS},
    ).means["mine"]


def _contexts_text() -> str:
    contexts = " ".join(f"{name}: *{text}*" for name, text in CONTEXTS.items())
    nuggets = ", ".join(f"*{nugget.text}* ({nugget.importance})" for nugget in NUGGETS)
    return f" Relevant documents: {' and '.join(RELEVANT)}. Contexts of every answer: {contexts} Nuggets: {nuggets}."


def _text_call(names: str) -> str:
    """The Python call for answers with references; the user passes the encoder."""
    return (
        "model = rp.models.WordLlama().load()\n\n\ndef encode(name, texts):\n    return model.encode(texts)\n\n\n"
        f'answers = {{"mine": {{"q1": "{ANSWERS[1][0]}"}}}}\nreferences = {{"q1": ["{REFERENCE}"]}}\n'
        f"measures = {names}\nrp.evaluate_answers(answers, references, measures=measures, encode=encode).means"
    )


def _claim_call(names: str) -> str:
    """The Python call for one row of a RAG log."""
    fields = {
        "question": QUESTION,
        "answer": ANSWERS[1][0],
        "contexts": list(CONTEXTS.values()),
        "answers": [REFERENCE],
        "nuggets": [{"text": nugget.text, "importance": nugget.importance} for nugget in NUGGETS],
    }
    lines = [f"    {json.dumps(name)}: {json.dumps(value)},\n" for name, value in fields.items()]
    return f"row = {{\n{''.join(lines)}}}\nmeasures = {names}\nrp.evaluate_answers([row], measures=measures).means"


def _by_word_vectors(name: str, texts: Sequence[str]) -> Matrix:
    return _loaded(name).encode(texts)


@cache
def _loaded(name: str) -> Encoder:
    return encoder_by_name(name).load()


def _scores(ranking: str) -> dict[str, float]:
    docs = ranking.split()
    return {doc: float(len(docs) - place) for place, doc in enumerate(docs)}


def _table(rows: list[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
