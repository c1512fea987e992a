"""One answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rankproof._analysis.answers.inputs import cited_documents
from rankproof._analysis.explain.score import system_run_of
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import Answer, Reference, references_from_queries
from rankproof._data.dataset import Queries
from rankproof._data.table import Column, Table
from rankproof._data.text import clip_text
from rankproof.errors import UsageError, escape_invisible, for_message
from rankproof.measures._answers import (
    AnswerCase,
    AnswerMeasure,
    normalise_answer,
    rouge_words,
    shared_words,
    token_bag_f1,
    word_bag,
)
from rankproof.measures._parse import parse_measure


def explain_answer(answer: str, reference: str) -> Table:
    """Every word with where it stands; 2 x shared / (words of the answer + words of the reference)."""
    words = shared_words(answer, reference)
    order = sorted(words.answer | words.reference, key=lambda word: (word not in words.shared, word not in words.answer, word))
    rows = tuple((word, word in words.answer, word in words.reference, word in words.shared) for word in order)
    shared, ours, theirs = len(words.shared), len(words.answer), len(words.reference)
    return Table(
        name="explain-answer",
        title=f"F1(tokens='set') of an answer: {words.f1:.4f}",
        columns=(Column("word"), Column("in the answer", "flag"), Column("in the reference", "flag"), Column("shared", "flag")),
        rows=rows,
        sentences=(f"2 x {shared} shared / ({ours} in the answer + {theirs} in the reference) = {words.f1:.4f}.",),
        facts={"n": 1, "shared": shared, "answer": ours, "reference": theirs, "f1": words.f1},
    )


def explain_token_bag(answer: str, reference: str) -> Table:
    """Every word with how often it stands on either side; articles are left out, as SQuAD has it."""
    said, wanted = word_bag(answer), word_bag(reference)
    both = said & wanted
    order = sorted(said | wanted, key=lambda word: (not both[word], not said[word], word))
    f1 = token_bag_f1(answer, reference)
    counts = both.total(), said.total(), wanted.total()
    return Table(
        name="explain-answer",
        title=f"F1(tokens='bag') of an answer: {f1:.4f}",
        columns=(Column("word"), *(Column(name, "count") for name in ("in the answer", "in the reference", "shared"))),
        rows=tuple((word, said[word], wanted[word], both[word]) for word in order),
        sentences=("2 x {} shared / ({} in the answer + {} in the reference) = ".format(*counts) + f"{f1:.4f}.",),
        facts={"n": 1, "shared": counts[0], "answer": counts[1], "reference": counts[2], "f1": f1},
    )


_MAX_TEXT_LENGTH = 400


@dataclass(frozen=True, slots=True)
class ExplainedAnswer:
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
        return max(self.reference.expected_texts, key=lambda each: measure.value(AnswerCase(self.text, (each,))) or 0.0)


def explain_answer_value(inputs: AnalysisInput, system: str, query: str, measure: str) -> Table:
    """The value of a system's answer to one query: question, answer and reference first, then the parts."""
    asked = parse_measure(measure)
    if not isinstance(asked, AnswerMeasure) or measure not in EXPLAINERS:
        raise UsageError(f"{measure} of one answer has no parts", fix=f"choose from: {', '.join(EXPLAINERS)}")
    said = _explained_answer(inputs, system, query)
    found = EXPLAINERS[measure](said, asked)
    whose = f"{for_message(system)} on query {for_message(query)}"
    told = (
        f"Question: {_quote(inputs.texts[query].text if inputs.texts else '')}",
        f"Answer: {_quote(said.text) if said.text else 'it abstains'}",
        f"Reference: {_quote(said.best(asked)) or 'there is no answer'}",
    )
    title = found.title.replace(" of an answer", f" of {whose}")
    return replace(
        found, title=title, sentences=(*told, *found.sentences), facts={**found.facts, "query": query, "system": system}
    )


def _explained_answer(inputs: AnalysisInput, system: str, query: str) -> ExplainedAnswer:
    answers = system_run_of(inputs, system).answers
    references = references_from_queries(inputs.texts or Queries([]))
    if answers is None or query not in answers or query not in references:
        raise UsageError(f"no answer to query {for_message(query)} can be explained", fix="name a query that has a reference")
    if answers[query].state == "failed":
        raise UsageError(f"the answer to query {for_message(query)} failed, and has no value", fix="name another query")
    judged = inputs.qrels.get(query, {})
    documents = {row.doc for row in inputs.runs[system].rows() if row.query == query} | set(judged)
    wholes = cited_documents([answers[query]], documents)
    cited = tuple(dict.fromkeys(wholes.get(doc, doc) for doc in answers[query].cited))
    relevant = frozenset(doc for doc, grade in judged.items() if grade >= inputs.rel)
    return ExplainedAnswer(answers[query], references[query], cited, relevant)


def _token_set_tables(explained: ExplainedAnswer, measure: AnswerMeasure) -> Table:
    return explain_answer(explained.text, explained.best(measure))


def _token_bag_tables(explained: ExplainedAnswer, measure: AnswerMeasure) -> Table:
    return explain_token_bag(explained.text, explained.best(measure))


def _reference_tables(explained: ExplainedAnswer, measure: AnswerMeasure) -> Table:
    """Both sides as they are compared, and the value against each reference; the best counts."""
    wanted = explained.reference.expected_texts
    values = [measure.value(AnswerCase(explained.text, (each,))) or 0.0 for each in wanted]
    rows = tuple(
        (_compared_text(explained.text, measure), _compared_text(each, measure), value)
        for each, value in zip(wanted, values, strict=True)
    )
    columns = (Column("answer as compared"), Column("reference as compared"), Column(str(measure), "value"))
    best = (f"The best of {len(rows)} references counts.",) if len(rows) > 1 else ()
    return Table("explain-answer", f"{measure} of an answer: {max(values):.4f}", columns, rows, best)


def _compared_text(text: str, measure: AnswerMeasure) -> str:
    return " ".join(rouge_words(text)) if measure.name == "ROUGE-L" else normalise_answer(text)


def _citation_tables(explained: ExplainedAnswer, measure: AnswerMeasure) -> Table:
    """Every document that is cited or relevant."""
    value = measure.value(AnswerCase(explained.text, explained.reference.expected_texts, explained.cited, explained.relevant))
    if value is None:
        raise UsageError("the query has no relevant document, and is left out of citations", fix="name another query")
    docs = [*explained.cited, *sorted(explained.relevant - set(explained.cited))]
    columns = (Column("document"), Column("cited", "flag"), Column("relevant", "flag"))
    rows = tuple((doc, doc in explained.cited, doc in explained.relevant) for doc in docs)
    both, of = len(explained.relevant & set(explained.cited)), explained.cited if measure.name == "CiteP" else explained.relevant
    told = f"{both} cited and relevant / {len(of)} {'cited' if measure.name == 'CiteP' else 'relevant'} = {value:.4f}."
    return Table("explain-answer", f"{measure} of an answer: {value:.4f}", columns, rows, (told,))


def _quote(text: str) -> str:
    return clip_text(escape_invisible(text), _MAX_TEXT_LENGTH)


EXPLAINERS: dict[str, Callable[[ExplainedAnswer, AnswerMeasure], Table]] = {
    "F1(tokens='set')": _token_set_tables,
    "F1(tokens='bag')": _token_bag_tables,
    "EM": _reference_tables,
    "Contains": _reference_tables,
    "ROUGE-L": _reference_tables,
    "CiteP": _citation_tables,
    "CiteR": _citation_tables,
}
"""How the value of each measure is taken apart; that of an encoder is not."""
