"""Worked examples on the page of a measure: a table of values, and the command for one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

import rankproof as rp
from rankproof._data.answers import Answer
from rankproof._data.arrays import Matrix
from rankproof._evaluation.answers import evaluate_answers
from rankproof.measures import Measure
from rankproof.measures._claim_base import ClaimMeasure
from rankproof.measures._nuggets import AnswerStateMeasure
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
from .reference_tools import reference_note


def ranking_rows(measure: Measure) -> str:
    """The rankings of one query, their values, and one value explained."""
    names = shown_as(measure)
    decimals = 0 if measure.summary == "sum" else 4
    rows = [("ranking", "", *(f"`{name}`" for name in names)), (":---", ":---", *("---:",) * len(names))]
    qrels = rp.Qrels.from_subtopics({"q1": SUBTOPICS}) if measure.needs_subtopics else {"q1": GRADES}
    for ranking, what in RANKINGS.items():
        values = rp.evaluate(qrels, {"q1": _scores(ranking)}, names).means["run"]
        rows.append((f"`{ranking}`", what, *(f"{values[name]:.{decimals}f}" for name in names)))
    heading = "One value explained" if _explains(measure) else "From the command line"
    return (
        f"## Worked examples\n\nOne query. {_judged(measure)} The other documents are unjudged.\n\n"
        f"{_table(rows)}\n{reference_note(measure.name, names)}\n\n## {heading}\n\n{_files(measure)}\n"
        f"{_explained(measure, names[0])}"
    )


def _judged(measure: Measure) -> str:
    """A sentence on the judgements of the examples."""
    if not measure.needs_subtopics:
        return f"Judged documents and their grades: {_grades(GRADES)}."
    each = "; ".join(f"subtopic {name}: {_grades(docs)}" for name, docs in SUBTOPICS.items())
    return f"Judged documents and their grades for each subtopic: {each}."


def _grades(docs: Mapping[str, int]) -> str:
    return ", ".join(f"{doc} {grade}" for doc, grade in docs.items())


def _files(measure: Measure) -> str:
    judged = SUBTOPICS if measure.needs_subtopics else {"0": GRADES}
    qrels = "".join(f"q1 {name} {doc} {grade}\n" for name, docs in judged.items() for doc, grade in docs.items())
    run = "".join(f"q1 Q0 {doc} {rank} {score:g} mine\n" for rank, (doc, score) in enumerate(_scores(EXPLAINED).items(), start=1))
    return f'```text title="qrels.txt"\n{qrels}```\n\n```text title="mine.run"\n{run}```\n'


def _explains(measure: Measure) -> bool:
    return measure.kind in ("binary", "graded") and measure.summary == "mean"


def _explained(measure: Measure, name: str) -> str:
    verb = "explain --query q1" if _explains(measure) else "eval"
    files = f"rankproof {verb.split()[0]} qrels.txt mine.run{verb.removeprefix(verb.split()[0])}"
    return f'```console\n$ {files} -m "{name}"\n```\n\nIn Python:\n\n' + _python(
        f'rp.evaluate("qrels.txt", "mine.run", ["{name}"]).means'
    )


def answer_rows(measure: Measure) -> str:
    """Answers to one question and their values."""
    names = ANSWER_VARIANTS.get(measure.name, (str(measure),))
    rows = [("answer", "cites", *(f"`{name}`" for name in names)), (":---", ":---", *("---:",) * len(names))]
    for text, cited in ANSWERS:
        values = _answer_values(Answer(text, cited=cited, given=tuple(CONTEXTS)), names)
        rows.append((text, ", ".join(cited) or "nothing", *(f"{values[name]:.4f}".replace("nan", "–") for name in names)))
    of_claims = isinstance(measure, ClaimMeasure | AnswerStateMeasure)
    call = "" if measure.name.startswith(("Cite", "Abstain")) else _answer_call(names[0], of_claims=of_claims)
    return (
        f"## Worked examples\n\nQuestion: *{QUESTION}* Reference answer: *{REFERENCE}*."
        f" Relevant documents: {' and '.join(RELEVANT)}.{_contexts_text() if of_claims else ''}\n\n{_table(rows)}\n"
    ) + (f"In Python:\n\n{call}" if call else "")


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
    nuggets = ", ".join(f"*{one.text}* ({one.importance})" for one in NUGGETS)
    return f" Contexts of every answer: {contexts} Nuggets: {nuggets}. A dash is no value."


def _answer_call(name: str, *, of_claims: bool) -> str:
    """The Python call for one value; the user passes the encoder."""
    if of_claims:
        return _python(f'{_log_row(nuggets=name.startswith("Nugget"))}\nrp.evaluate_answers([row], measures=["{name}"]).means')
    encodes = name.startswith("Similarity")
    before = (
        "model = rp.models.WordLlama().load()\n\n\ndef encode(name, texts):\n    return model.encode(texts)\n\n\n"
        if encodes
        else ""
    )
    encode = ", encode=encode" if encodes else ""
    given = f'answers = {{"mine": {{"q1": "{ANSWERS[1][0]}"}}}}\nreferences = {{"q1": ["{REFERENCE}"]}}\n'
    return _python(f'{before}{given}rp.evaluate_answers(answers, references, measures=["{name}"]{encode}).means')


def _log_row(*, nuggets: bool) -> str:
    """One row of a RAG log as Python."""
    fields = {"question": QUESTION, "answer": ANSWERS[1][0], "contexts": list(CONTEXTS.values()), "answers": [REFERENCE]}
    given = {"nuggets": [{"text": one.text, "importance": one.importance} for one in NUGGETS]} if nuggets else {}
    lines = [f"    {json.dumps(name)}: {json.dumps(value)},\n" for name, value in {**fields, **given}.items()]
    return f"row = {{\n{''.join(lines)}}}"


def _by_word_vectors(name: str, texts: Sequence[str]) -> Matrix:
    return _loaded(name).encode(texts)


@cache
def _loaded(name: str) -> Encoder:
    return encoder_by_name(name).load()


def _python(call: str) -> str:
    return f"```python\nimport rankproof as rp\n\n{call}\n```\n\n```output\n```\n"


def _scores(ranking: str) -> dict[str, float]:
    docs = ranking.split()
    return {doc: float(len(docs) - place) for place, doc in enumerate(docs)}


def _table(rows: list[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
