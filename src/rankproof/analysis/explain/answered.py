"""One answer's value taken apart: what was asked, said and expected, and what of it counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...data.answers import Answer
from ...data.queries import Queries
from ...data.references import Reference, references_of
from ...errors import UsageError, shown, visible
from ...measures import parse
from ...measures.answers import AnswerMeasure, Case, normalised, rouge_words
from ..answers.cited import documents_of
from ..evidence import Evidence
from ..table import Column, Table
from ..wording import clipped
from .answer import explain_answer, explain_bag
from .score import rung_of

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Said:
    """An answer with what it is held against; `cited` and `relevant` are judged documents."""

    answer: Answer
    reference: Reference
    cited: tuple[str, ...]
    relevant: frozenset[str]

    @property
    def text(self) -> str:
        """What counts of the answer: nothing where it abstains."""
        return "" if self.answer.state == "abstained" else self.answer.text

    def best(self, measure: AnswerMeasure) -> str:
        """The reference that the answer is nearest to."""
        return max(self.reference.wanted, key=lambda each: measure.value(Case(self.text, (each,))) or 0.0)


def explain_answered(evidence: Evidence, system: str, query: str, measure: str) -> Table:
    """The value of a system's answer to one query: question, answer and reference first, then the parts."""
    asked = parse(measure)
    if not isinstance(asked, AnswerMeasure) or measure not in WAYS:
        raise UsageError(f"{measure} of one answer has no parts", fix=f"choose from: {', '.join(WAYS)}")
    said = _said(evidence, system, query)
    found = WAYS[measure](said, asked)
    whose = f"{shown(system)} on query {shown(query)}"
    told = (
        f"Question: {_quoted(evidence.texts[query].text if evidence.texts else '')}",
        f"Answer: {_quoted(said.text) if said.text else 'it abstains'}",
        f"Reference: {_quoted(said.best(asked)) or 'there is no answer'}",
    )
    title = found.title.replace(" of an answer", f" of {whose}")
    return replace(
        found, title=title, sentences=(*told, *found.sentences), facts={**found.facts, "query": query, "system": system}
    )


def _said(evidence: Evidence, system: str, query: str) -> Said:
    answers = rung_of(evidence, system).answers
    references = references_of(evidence.texts or Queries([]))
    if answers is None or query not in answers or query not in references:
        raise UsageError(f"no answer to query {shown(query)} can be explained", fix="name a query that has a reference")
    if answers[query].state == "failed":
        raise UsageError(f"the answer to query {shown(query)} failed, and has no value", fix="name another query")
    judged = evidence.qrels.get(query, {})
    documents = {row.doc for row in evidence.runs[system].rows() if row.query == query} | set(judged)
    wholes = documents_of([answers[query]], documents)
    cited = tuple(dict.fromkeys(wholes.get(doc, doc) for doc in answers[query].cited))
    relevant = frozenset(doc for doc, grade in judged.items() if grade >= evidence.rel)
    return Said(answers[query], references[query], cited, relevant)


def _set(said: Said, measure: AnswerMeasure) -> Table:
    return explain_answer(said.text, said.best(measure))


def _bag(said: Said, measure: AnswerMeasure) -> Table:
    return explain_bag(said.text, said.best(measure))


def _references(said: Said, measure: AnswerMeasure) -> Table:
    """Both sides as they are compared, and the value against each reference; the best counts."""
    wanted = said.reference.wanted
    values = [measure.value(Case(said.text, (each,))) or 0.0 for each in wanted]
    rows = tuple(
        (_compared(said.text, measure), _compared(each, measure), value) for each, value in zip(wanted, values, strict=True)
    )
    columns = (Column("answer as compared"), Column("reference as compared"), Column(str(measure), "value"))
    best = (f"The best of {len(rows)} references counts.",) if len(rows) > 1 else ()
    return Table("explain-answer", f"{measure} of an answer: {max(values):.4f}", columns, rows, best)


def _compared(text: str, measure: AnswerMeasure) -> str:
    return " ".join(rouge_words(text)) if measure.name == "ROUGE-L" else normalised(text)


def _citations(said: Said, measure: AnswerMeasure) -> Table:
    """Every document that is cited or relevant."""
    value = measure.value(Case(said.text, said.reference.wanted, said.cited, said.relevant))
    if value is None:
        raise UsageError("the query has no relevant document, and is left out of citations", fix="name another query")
    docs = [*said.cited, *sorted(said.relevant - set(said.cited))]
    columns = (Column("document"), Column("cited", "flag"), Column("relevant", "flag"))
    rows = tuple((doc, doc in said.cited, doc in said.relevant) for doc in docs)
    both, of = len(said.relevant & set(said.cited)), said.cited if measure.name == "CiteP" else said.relevant
    told = f"{both} cited and relevant / {len(of)} {'cited' if measure.name == 'CiteP' else 'relevant'} = {value:.4f}."
    return Table("explain-answer", f"{measure} of an answer: {value:.4f}", columns, rows, (told,))


def _quoted(text: str) -> str:
    return clipped(visible(text), _LONGEST)


WAYS: dict[str, Callable[[Said, AnswerMeasure], Table]] = {
    "F1(tokens='set')": _set,
    "F1(tokens='bag')": _bag,
    "EM": _references,
    "Contains": _references,
    "ROUGE-L": _references,
    "CiteP": _citations,
    "CiteR": _citations,
}
"""How the value of each measure is taken apart; that of an encoder is not."""
