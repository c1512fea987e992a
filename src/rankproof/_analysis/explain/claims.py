"""The value of one answer by its claims: each claim with its verdict and evidence, and the arithmetic of the value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rankproof._analysis.answers.quality import count_words, judge_words
from rankproof._data.claims import ClaimTable, ClaimVerdict
from rankproof._data.sentences import sentence_spans
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import clip_text, pluralise
from rankproof._data.wording.remarks import without_thinking
from rankproof._evaluation.answer_notes import REASONS
from rankproof._evaluation.claim_judges import OverlapJudge
from rankproof._evaluation.claim_verdicts import VerdictSource, known_verdicts, label_of, unit_of
from rankproof._evaluation.result import MeasureResult
from rankproof.errors import escape_invisible, for_message
from rankproof.measures._answers import AnswerCase
from rankproof.measures._base import Measure
from rankproof.measures._citations import AnswerStateMeasure, cited_sentences
from rankproof.measures._claim_base import (
    OVERLAP,
    ClaimMeasure,
    Verdicts,
    all_words,
    by_reference,
    checkable_verdicts,
    claim_words,
    stated_words,
    without_answer,
)
from rankproof.measures._claims import ClaimFScore, ClaimPrecision, ClaimRecall, agreement_words
from rankproof.measures._contexts import named_contexts, useful_contexts

_MAX_TEXT_LENGTH = 400
_MAX_TERMS = 12
_TABLE_TITLES: Mapping[ClaimTable, str] = {
    "answer-contexts": "Claims of the answer, checked against its contexts",
    "answer-reference": "Claims of the answer, checked against the reference",
    "reference-contexts": "Claims of the reference, checked against the contexts",
    "reference-answer": "Claims of the reference, checked against the answer",
    "answer-question": "The answer, checked against the question",
    "context-question": "Contexts, checked against the question",
    "answer-cited": "Claims of the answer, checked against the passages that it cites",
    "nugget-answer": "Nuggets, checked against the answer",
}


@dataclass(frozen=True, eq=False, slots=True)
class ExplainedClaims:
    """One value of a measure of claims: the measure over all questions, the case, and the verdicts of its judge by table."""

    one: MeasureResult
    case: AnswerCase
    verdicts: Verdicts

    @property
    def value(self) -> float | None:
        """The value; None if the answer has none."""
        return self.one.per_query.get(self.case.query)

    @property
    def used(self) -> tuple[ClaimTable, ...]:
        """The tables that the value rests on."""
        measure = self.one.measure
        if not isinstance(measure, ClaimMeasure) or measure.settled(self.case) is not None:
            return ()
        return tuple(table for table in measure.needed(self.case) if self.verdicts.get(table))


def case_verdicts(case: AnswerCase, measure: Measure, claims: Sequence[ClaimVerdict]) -> Verdicts:
    """The verdicts that the value of a case rests on; for judge='overlap', words are compared again."""
    if not isinstance(measure, ClaimMeasure) or measure.settled(case) is not None:
        return {}
    unit = unit_of(measure)
    judge = OverlapJudge() if measure.judge == OVERLAP else None
    known = {} if judge is not None else known_verdicts(claims, unit, label_of(measure.judge, claims))
    source = VerdictSource(measure.judge, judge, unit, known, lambda label, done, total: None)
    source.ask([case], [measure])
    return source.of(case)


def explain_claims(explained: ExplainedClaims) -> list[Table]:
    """The value with its arithmetic, then the claims of each table, then the sentences that the verdicts rest on."""
    claims = [table for name in explained.used for table in _claim_tables(name, explained)]
    evidence = _evidence_table(explained)
    return [_value_table(explained), *claims, *([evidence] if evidence.rows else [])]


def _value_table(explained: ExplainedClaims) -> Table:
    result, case = explained.one, explained.case
    shown = "no value" if explained.value is None else f"{explained.value:.4f}"
    judge = getattr(result.measure, "judge", None)
    texts = [
        f"Question: {_quote(case.question)}",
        f"Answer: {_quote(case.text) if case.state == 'answered' else f'none ({case.state})'}",
        *([f"Judge: {judge_words(judge)}."] if judge and explained.used else []),
        _reason(explained),
        *_mean_sentences(explained),
    ]
    facts = {"n": 1, "query": case.query, "system": case.system, "measure": str(result.measure), "value": explained.value}
    title = f"{result.measure} of {for_message(case.system)} on query {for_message(case.query)}: {shown}"
    return Table("explain-answer", title, (Column("text"),), (), tuple(texts), facts=facts)


def _reason(explained: ExplainedClaims) -> str:
    """The arithmetic of the value, or why there is none."""
    measure, case = explained.one.measure, explained.case
    assert isinstance(measure, ClaimMeasure | AnswerStateMeasure), "the caller checks this"
    outcome = measure.outcome(case) if isinstance(measure, AnswerStateMeasure) else measure.outcome(case, explained.verdicts)
    if isinstance(outcome, str) or explained.value is None:
        reason = outcome if isinstance(outcome, str) else "missing"
        return f"{'There is' if explained.value is None else 'The first answer has'} no value: {REASONS[reason]}."
    if isinstance(measure, AnswerStateMeasure):
        return f"The answer is {case.state}: {outcome:g}."
    if measure.settled(case) is not None:
        return f"{_settled_text(case)}: {outcome:g}, without asking a judge."
    return f"{_ARITHMETIC[measure.name](explained, measure)} = {outcome:.4f}."


def _settled_text(case: AnswerCase) -> str:
    if case.state != "answered":
        return "The answer is missing" if case.state == "missing" else "The answer abstains"
    if case.contexts is not None and not case.contexts:
        return "Nothing was retrieved"
    return "The question has no answer" if case.answerable is False else "The answer cites no context"


def _mean_sentences(explained: ExplainedClaims) -> Iterator[str]:
    """What the value adds to the mean, and the questions that have none."""
    result, value = explained.one, explained.value
    n = pluralise(result.queries, "question")
    if (repeats := result.repeats.get(explained.case.query)) is not None and len(repeats) > 1:
        every = ", ".join(f"{own:.4f}" for own in repeats[:_MAX_TERMS].tolist())
        rest = f" and {len(repeats) - _MAX_TERMS} more" if len(repeats) > _MAX_TERMS else ""
        yield f"The value of the question is the mean of its {len(repeats)} answers: {every}{rest}."
    if value is not None:
        yield f"It adds {value / result.queries:.6f} to the mean of {result.value:.4f} over n = {n}."
    if counts := count_words(result.counts):
        yield f"Questions without a value: {counts}."
    if result.bounds is not None:
        yield f"With all failed questions at 0 and at 1, the mean is from {result.bounds[0]:.4f} to {result.bounds[1]:.4f}."


def _claim_tables(name: ClaimTable, explained: ExplainedClaims) -> Iterator[Table]:
    """The claims of a table, by reference where the table has references."""
    groups = by_reference(explained.verdicts[name])
    for reference, verdicts in groups.items():
        title = _TABLE_TITLES.get(name, "The answer, graded by the rubric")
        if len(groups) > 1:
            title = title.replace("the reference", f"reference {reference}")
        columns = (
            *(Column("claim", "count"), Column("verdict"), Column("credit", "value", "its score, else 1 if it is supported")),
            *(Column("evidence", about="text and sentence, from 1"), Column("text")),
        )
        rows = tuple(_claim_row(verdict) for verdict in verdicts)
        yield Table(f"explain-{name}", title, columns, rows, tuple(_verdict_counts(verdicts)), verdict_first=True)


def _claim_row(claim: ClaimVerdict) -> tuple[CellValue, ...]:
    credit = None if claim.verdict in ("nothing_to_check", "failed") else claim.credit
    shown = "" if claim.shown is None else f" (contexts {', '.join(map(str, claim.shown)) or 'none'})"
    importance = "" if claim.importance is None else f" ({claim.importance})"
    reason = claim.reason or claim.claim.remark
    verdict_text = f"{claim.verdict.replace('_', ' ')}{f': {reason}' if reason else ''}"
    text = f"({claim.claim.lead_in}) {claim.claim.text}" if claim.claim.lead_in else claim.claim.text
    evidence = ", ".join(f"{text}.{sentence}" for text, sentence in claim.evidence)
    return claim.claim.n, verdict_text, credit, evidence or None, f"{_quote(text)}{importance}{shown}"


def _verdict_counts(verdicts: Sequence[ClaimVerdict]) -> Iterator[str]:
    counts = {
        kind: sum(verdict.verdict == kind for verdict in verdicts)
        for kind in dict.fromkeys(verdict.verdict for verdict in verdicts)
    }
    words = (f"{count} {kind.replace('_', ' ')}" for kind, count in counts.items())
    yield f"{', '.join(words)}."


def _evidence_table(explained: ExplainedClaims) -> Table:
    """Every sentence that a verdict rests on, once."""
    rows: dict[tuple[str, str], tuple[CellValue, ...]] = {}
    for name in explained.used:
        for verdict in explained.verdicts[name]:
            for text, sentence in verdict.evidence:
                source, words = _source(explained.case, verdict, text)
                rows.setdefault((source, f"{text}.{sentence}"), (f"{text}.{sentence}", source, _sentence(words, sentence)))
    columns = (Column("evidence"), Column("source"), Column("sentence"))
    return Table("explain-evidence", "Evidence", columns, tuple(rows[key] for key in sorted(rows)))


def _source(case: AnswerCase, verdict: ClaimVerdict, number: int) -> tuple[str, str]:
    """What a piece of evidence is from, and its text."""
    if verdict.against in ("contexts", "cited"):
        identity = case.context_ids[number - 1] if number <= len(case.context_ids) else ""
        contexts = case.contexts or ()
        name = f"context {number}{f' ({for_message(identity)})' if identity else ''}"
        return name, contexts[number - 1] if number <= len(contexts) else ""
    if verdict.against == "reference":
        return f"reference {number}", case.references[number - 1] if number <= len(case.references) else ""
    return verdict.against, without_thinking(case.text) if verdict.against == "answer" else case.question


def _sentence(text: str, number: int) -> str:
    spans = sentence_spans(text)
    return _quote(text[slice(*spans[number - 1])]) if number <= len(spans) else ""


def _quote(text: str) -> str:
    return clip_text(escape_invisible(text), _MAX_TEXT_LENGTH)


def _sum(verdicts: Sequence[ClaimVerdict], noun: str = "claim") -> str:
    """The mean credit of claims as a sum: supported claims, or scores where the judge gives them."""
    counted = checkable_verdicts(verdicts)
    n = pluralise(len(counted), noun)
    if all(verdict.score is None for verdict in counted):
        return f"{sum(verdict.verdict == 'supported' for verdict in counted)} supported / {n}"
    credits = [verdict.credit for verdict in counted]
    if len(credits) == 1:
        return f"The score of the one {noun}"
    terms = " + ".join(map(_term, credits)) if len(credits) <= _MAX_TERMS else f"{sum(credits):.4f}"
    return f"({terms}) / {n}" if len(credits) <= _MAX_TERMS else f"{terms} / {n}"


def _term(credit: float) -> str:
    """The score of a claim in a sum, with two decimals if they are exact."""
    return f"{credit:.2f}" if math.isclose(credit, round(credit, 2)) else f"{credit:.4f}"


def _faithful(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
    """The mean of the claims; the words of the one claim that an answer has."""
    counted = checkable_verdicts(measure.used_verdicts(explained.verdicts["answer-contexts"]))
    if measure.judge == OVERLAP and len(counted) == 1:
        words = claim_words(counted[0].claim)
        shared = round(counted[0].credit * len(words))
        if words and math.isclose(shared / len(words), counted[0].credit):
            return f"{pluralise(shared, 'word')} in the contexts / {pluralise(len(words), 'word')} of the one claim"
    return _sum(counted)


def _mean_of(table: ClaimTable, noun: str = "claim") -> Callable[[ExplainedClaims, ClaimMeasure], str]:
    def text(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
        return _sum(measure.used_verdicts(explained.verdicts[table]), noun)

    return text


def _nuggets(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
    """The nuggets that are stated in full; with strict=False the sum of their scores."""
    verdicts = measure.used_verdicts(explained.verdicts["nugget-answer"])
    if not getattr(measure, "strict", True):
        return _sum(verdicts, "nugget")
    counted = checkable_verdicts(verdicts)
    return f"{sum(verdict.verdict == 'supported' for verdict in counted)} stated / {pluralise(len(counted), 'nugget')}"


def _unsupported(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
    verdicts = checkable_verdicts(explained.verdicts["answer-contexts"])
    return f"{sum(verdict.verdict != 'supported' for verdict in verdicts)} of {pluralise(len(verdicts), 'claim')} not supported"


def _best_reference(explained: ExplainedClaims, measure: ClaimMeasure) -> AnswerCase:
    """The case with the reference that counts, for values by words."""
    cases = [replace(explained.case, references=(text,)) for text in explained.case.references]
    known = [(value, case) for case in cases if not isinstance(value := measure.by_words(case), str)]
    return max(known, key=lambda pair: pair[0])[1] if known else cases[0]


def _agreement(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
    if measure.judge == OVERLAP:
        return _word_agreement(_best_reference(explained, ClaimFScore()), measure)
    if len(explained.case.references) == 1 and measure.name != "ClaimF1":
        return _sum(explained.verdicts["answer-reference" if measure.name == "ClaimP" else "reference-answer"])
    unit = unit_of(measure)
    parts = [
        part_measure(judge=measure.judge, unit=unit).outcome(explained.case, explained.verdicts)
        for part_measure in (ClaimPrecision, ClaimRecall)
    ]
    precision, recall = (f"{part:.4f}" if not isinstance(part, str) else "none" for part in parts)
    of = len(explained.case.references)
    best = f" of the best of {of} references" if of > 1 else ""
    how = {"ClaimP": "precision", "ClaimR": "recall"}.get(measure.name, "2 x precision x recall / (precision + recall)")
    return f"Precision {precision}, recall {recall}{best}: {how}"


def _word_agreement(case: AnswerCase, measure: ClaimMeasure) -> str:
    words = agreement_words(case.text, case.references[0])
    shared, ours, theirs = len(words.shared), len(words.answer), len(words.reference)
    if measure.name == "ClaimF1":
        return f"2 x {pluralise(shared, 'shared word')} / ({ours} in the answer + {theirs} in the reference)"
    whose = f"{ours} words of the answer" if measure.name == "ClaimP" else f"{theirs} words of the reference"
    return f"{pluralise(shared, 'shared word')} / {whose}"


def _context_recall(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
    if measure.judge == OVERLAP:
        case = _best_reference(explained, measure)
        words = stated_words(case.references[0])
        return f"{len(words & all_words(case.contexts or ()))} words in the contexts / {len(words)} words of the reference"
    groups = by_reference(explained.verdicts["reference-contexts"])
    best = max(
        groups.values(),
        key=lambda group: sum(verdict.credit for verdict in checkable_verdicts(group)) / max(1, len(checkable_verdicts(group))),
    )
    return f"{_sum(best)}{f', the best of {len(groups)} references' if len(groups) > 1 else ''}"


def _useful(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
    case = explained.case
    verdicts = explained.verdicts.get("reference-contexts", ())
    every = useful_contexts(case) or frozenset() if measure.judge == OVERLAP else named_contexts(verdicts)
    known = range(1, len(case.contexts or ()) + 1)[: getattr(measure, "cutoff", None)]
    useful = [n for n in known if n in every]
    if measure.name == "ContextP":
        return f"{pluralise(len(useful), 'useful context')} ({_numbers(useful)}) / {pluralise(len(known), 'context')}"
    terms = " + ".join(f"{at}/{n}" for at, n in enumerate(useful, start=1)) or "0"
    return f"({terms}) / {pluralise(len(useful), 'useful context')}"


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _used_share(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
    of = len(explained.case.references)
    best = f", for the best of {of} references" if of > 1 else ""
    if measure.judge != OVERLAP:
        return f"Claims of the reference that contexts and answer support / claims that the contexts support{best}"
    case = _best_reference(explained, measure)
    words = stated_words(case.references[0]) & all_words(case.contexts or ())
    stated = 0 if without_answer(case) else len(words & stated_words(case.text))
    return f"{stated} words in contexts and answer / {len(words)} words of the reference in the contexts"


def _misled(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
    kind = getattr(measure, "from_", "relevant")
    whose = "words" if measure.judge == OVERLAP else "claims"
    which = "a relevant context does" if kind == "relevant" else "only irrelevant contexts do"
    return f"{whose.capitalize()} of the answer that no reference supports and {which} / {whose} of the answer"


def _cites(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
    """The credits of cites, or of sentences by all their cites; a sentence with nothing to check is left out."""
    joint = {(verdict.claim.n, verdict.shown): verdict for verdict in explained.verdicts["answer-cited"]}
    sentences = [
        sentence
        for sentence in cited_sentences(explained.case)
        if not sentence.cites or joint[sentence.claim.n, sentence.cites].verdict != "nothing_to_check"
    ]
    number = sum(len(sentence.cites) + sentence.invented for sentence in sentences) if measure.name == "CiteP" else len(sentences)
    noun, invented = ("cite", sum(sentence.invented for sentence in sentences)) if measure.name == "CiteP" else ("sentence", 0)
    outcome = measure.outcome(explained.case, explained.verdicts)
    sum_text = f"{number * (0.0 if isinstance(outcome, str) else outcome):.4g} supported / {pluralise(number, noun)}"
    return f"{sum_text} ({invented} of them no context)" if invented else sum_text


def _grade(explained: ExplainedClaims, measure: ClaimMeasure) -> str:
    """The grade with the reason that the judge gave, on the scale from 0 to 1."""
    (verdict,) = explained.verdicts[measure.every_table[0]]
    return f"{verdict.reason or 'labelled by people'}: on a scale from 0 to 1"


_ARITHMETIC: Mapping[str, Callable[[ExplainedClaims, ClaimMeasure], str]] = {
    "Faithfulness": _faithful,
    "Hallucination": _unsupported,
    "AnswerRelevance": _mean_of("answer-question", "answer"),
    "ClaimP": _agreement,
    "ClaimR": _agreement,
    "ClaimF1": _agreement,
    "ContextR": _context_recall,
    "ContextP": _useful,
    "ContextAP": _useful,
    "ContextRelevance": _mean_of("context-question", "context"),
    "Utilisation": _used_share,
    "Noise": _misled,
    "Criterion": _grade,
    "CiteP": _cites,
    "CiteR": _cites,
    "NuggetR": _nuggets,
}
