"""The value of one answer, explained by its words, references or citations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rankproof._analysis.answers.answer_input import cited_documents
from rankproof._analysis.explain.claims import ExplainedClaims, case_verdicts, explain_claims
from rankproof._analysis.explain.score import system_run_of
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import measure_result
from rankproof._data.answers import HISTORY_FIELD, Answer, Answers, Reference, nuggets_from_queries, references_from_queries
from rankproof._data.dataset import Queries
from rankproof._data.table import Column, Table
from rankproof._data.text import clip_text, example_ids
from rankproof._evaluation.answers import AnswerTexts
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
from rankproof.measures._base import Measure
from rankproof.measures._citations import AnswerStateMeasure
from rankproof.measures._claim_base import judge_of_measure
from rankproof.measures._parse import parse_measure


def explain_answer(answer: str, reference: str) -> Table:
    """Every word with where it occurs; F1 is 2 x shared / (words of the answer + words of the reference)."""
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
        verdict_first=True,
    )


def explain_token_bag(answer: str, reference: str) -> Table:
    """Every word with its counts in answer and reference, without articles, as in SQuAD."""
    answered, wanted = word_bag(answer), word_bag(reference)
    both = answered & wanted
    order = sorted(answered | wanted, key=lambda word: (not both[word], not answered[word], word))
    f1 = token_bag_f1(answer, reference)
    counts = both.total(), answered.total(), wanted.total()
    return Table(
        name="explain-answer",
        title=f"F1(tokens='bag') of an answer: {f1:.4f}",
        columns=(Column("word"), *(Column(name, "count") for name in ("in the answer", "in the reference", "shared"))),
        rows=tuple((word, answered[word], wanted[word], both[word]) for word in order),
        sentences=("2 x {} shared / ({} in the answer + {} in the reference) = ".format(*counts) + f"{f1:.4f}.",),
        facts={"n": 1, "shared": counts[0], "answer": counts[1], "reference": counts[2], "f1": f1},
        verdict_first=True,
    )


_MAX_TEXT_LENGTH = 400
_SHOWN_BEFORE = 2


@dataclass(frozen=True, slots=True)
class ExplainedAnswer:
    """An answer with its reference, the judged documents that it cites, and the relevant documents."""

    answer: Answer
    reference: Reference
    cited: tuple[str, ...]
    relevant: frozenset[str]

    @property
    def text(self) -> str:
        """The evaluated text, empty if the answer abstains."""
        return "" if self.answer.state == "abstained" else self.answer.text

    def best(self, measure: AnswerMeasure) -> str:
        """The reference with the highest value."""
        return max(self.reference.expected_texts, key=lambda text: measure.value(AnswerCase(self.text, (text,))) or 0.0)


def explain_answer_value(inputs: AnalysisInput, system: str, query: str, measure: str) -> list[Table]:
    """The value of a system's answer to one query, with question, searches, answer, reference and parts, or with its claims."""
    first, *others = _value_tables(inputs, system, query, measure)
    question, *more = first.sentences
    return [replace(first, sentences=(question, *_asked(inputs, system, query), *more)), *others]


def _asked(inputs: AnalysisInput, system: str, query: str) -> Iterator[str]:
    """What was said before the question, and what the system searched for: the question as it rewrote it."""
    history = inputs.texts[query].fields.get(HISTORY_FIELD) if inputs.texts else None
    if isinstance(history, list | tuple) and history:
        yield f"Said before: {_quote(' | '.join(map(str, history[-_SHOWN_BEFORE:])))}"
    answer = (system_run_of(inputs, system).answers or Answers({})).get(query)
    searches = [] if answer is None else [search.query for search in answer.searches or () if search.query]
    if searches:
        yield f"Searched for: {_quote(' | '.join(searches))}"


def _value_tables(inputs: AnalysisInput, system: str, query: str, measure: str) -> list[Table]:
    parsed = parse_measure(measure)
    if judge_of_measure(parsed) or isinstance(parsed, AnswerStateMeasure):
        return explain_claims(_explained_claims(inputs, system, query, parsed))
    if not isinstance(parsed, AnswerMeasure) or measure not in EXPLAINERS:
        raise UsageError(f"{measure} of one answer cannot be explained by parts", fix=f"choose from: {', '.join(EXPLAINERS)}")
    explained = _explained_answer(inputs, system, query)
    table = EXPLAINERS[measure](explained, parsed)
    whose = f"{for_message(system)} on query {for_message(query)}"
    texts = (
        f"Question: {_quote(inputs.texts[query].text if inputs.texts else '')}",
        f"Answer: {_quote(explained.text) if explained.text else 'none (abstained)'}",
        f"Reference: {_quote(explained.best(parsed)) or 'none (unanswerable)'}",
    )
    title = table.title.replace(" of an answer", f" of {whose}")
    facts = {**table.facts, "query": query, "system": system}
    return [replace(table, title=title, sentences=(*texts, *table.sentences), facts=facts, verdict_first=True)]


def _explained_claims(inputs: AnalysisInput, system: str, query: str, measure: Measure) -> ExplainedClaims:
    """The case of an answer, and the verdicts on its claims; words are compared again where no verdicts are stored."""
    answers = system_run_of(inputs, system).answers or Answers({})
    texts = inputs.texts or Queries([])
    if query not in inputs.result.queries or query not in texts:
        known = example_ids(inputs.result.queries)
        raise UsageError(f"no evaluated query is called {for_message(query)}", fix=f"there is, for example, {known}")
    references, questions = references_from_queries(texts), {query: texts[query].text}
    judged_documents = cited_documents(answers.values(), {doc for docs in inputs.qrels.values() for doc in docs})
    sources = AnswerTexts(
        references,
        inputs.qrels,
        inputs.rel,
        lambda doc: judged_documents.get(doc, doc),
        questions,
        inputs.contexts.get,
        nuggets_from_queries(texts),
    )
    case = next(iter(sources.cases(system, answers, [query])), None)
    if case is None:
        raise UsageError(f"the answer to query {for_message(query)} failed and has no value", fix="choose another query")
    result = measure_result(inputs, system, str(measure))
    return ExplainedClaims(result, case, case_verdicts(case, measure, inputs.result.claims))


def _explained_answer(inputs: AnalysisInput, system: str, query: str) -> ExplainedAnswer:
    answers = system_run_of(inputs, system).answers
    references = references_from_queries(inputs.texts or Queries([]))
    if answers is None or query not in answers or query not in references or answers[query].state == "missing":
        raise UsageError(f"query {for_message(query)} has no answer or no reference", fix="choose a query that has both")
    if answers[query].state == "failed":
        raise UsageError(f"the answer to query {for_message(query)} failed and has no value", fix="choose another query")
    judged = inputs.qrels.get(query, {})
    documents = {row.doc for row in inputs.runs[system].rows() if row.query == query} | set(judged)
    judged_documents = cited_documents([answers[query]], documents)
    cited = tuple(dict.fromkeys(judged_documents.get(doc, doc) for doc in answers[query].cited))
    relevant = frozenset(doc for doc, grade in judged.items() if grade >= inputs.rel)
    return ExplainedAnswer(answers[query], references[query], cited, relevant)


def _token_set_tables(explained: ExplainedAnswer, measure: AnswerMeasure) -> Table:
    return explain_answer(explained.text, explained.best(measure))


def _token_bag_tables(explained: ExplainedAnswer, measure: AnswerMeasure) -> Table:
    return explain_token_bag(explained.text, explained.best(measure))


def _reference_tables(explained: ExplainedAnswer, measure: AnswerMeasure) -> Table:
    """The normalised answer and references, and the value against each reference; the best counts."""
    wanted = explained.reference.expected_texts
    values = [measure.value(AnswerCase(explained.text, (reference,))) or 0.0 for reference in wanted]
    rows = tuple(
        (_compared_text(explained.text, measure), _compared_text(reference, measure), value)
        for reference, value in zip(wanted, values, strict=True)
    )
    columns = (Column("answer as compared"), Column("reference as compared"), Column(str(measure), "value"))
    best = (f"The best of {len(rows)} references counts.",) if len(rows) > 1 else ()
    return Table("explain-answer", f"{measure} of an answer: {max(values):.4f}", columns, rows, best)


def _compared_text(text: str, measure: AnswerMeasure) -> str:
    return " ".join(rouge_words(text)) if measure.name == "ROUGE-L" else normalise_answer(text)


def _citation_tables(explained: ExplainedAnswer, measure: AnswerMeasure) -> Table:
    """Every cited or relevant document."""
    value = measure.value(AnswerCase(explained.text, explained.reference.expected_texts, explained.cited, explained.relevant))
    if value is None:
        raise UsageError("the query has no relevant document, so its citations have no value", fix="choose another query")
    docs = [*explained.cited, *sorted(explained.relevant - set(explained.cited))]
    columns = (Column("document"), Column("cited", "flag"), Column("relevant", "flag"))
    rows = tuple((doc, doc in explained.cited, doc in explained.relevant) for doc in docs)
    both, of = len(explained.relevant & set(explained.cited)), explained.cited if measure.name == "CiteP" else explained.relevant
    formula = f"{both} cited and relevant / {len(of)} {'cited' if measure.name == 'CiteP' else 'relevant'} = {value:.4f}."
    return Table("explain-answer", f"{measure} of an answer: {value:.4f}", columns, rows, (formula,))


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
"""Measure to its explanation; the similarity of an encoder has none."""
