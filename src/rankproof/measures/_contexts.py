"""Measures of the contexts that an answer was generated from, and of what the answer makes of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.claims import ClaimTable, ClaimVerdict
from rankproof._registry import Option
from rankproof.measures._answers import AnswerCase
from rankproof.measures._base import CUTOFF, Advice
from rankproof.measures._claim_base import (
    USEFUL_SHARE,
    ClaimMeasure,
    Outcome,
    UnitMeasure,
    Verdicts,
    Words,
    all_words,
    best_outcome,
    by_reference,
    checkable_verdicts,
    content_words,
    grade_share,
    mean_credit,
    sentence_words,
    stated_words,
    without_answer,
    without_reference,
    word_share,
)

_FROM_CONTEXTS = " 0 if nothing was retrieved; no value if the question has no answer. Abstaining changes nothing."
_BY_WORDS = " judge='overlap': "


class _AgainstContexts(UnitMeasure):
    """A measure of the reference's claims against the contexts; the answer does not matter."""

    tables: ClassVar[tuple[ClaimTable, ...]] = ("reference-contexts",)
    inputs = ("contexts",)

    def settled(self, case: AnswerCase) -> Outcome | None:
        if reason := without_reference(case):
            return reason
        return "no_contexts" if case.contexts is None else None if case.contexts else 0.0


class ContextRecall(_AgainstContexts):
    """Claims of the reference that the contexts support together, divided by its claims."""

    name = "ContextR"
    title = "Context recall"
    formula = "claims of the reference in the contexts / claims of the reference"
    definition = (
        "Claims of the reference that the contexts, taken together, support, divided by its claims; the best reference counts."
        f"{_FROM_CONTEXTS}{_BY_WORDS}share of the reference's content words in the contexts."
    )
    source = "Es et al. 2023 (ragas); claim recall of Ru et al. 2024 (RAGChecker)"
    aliases = ("context_recall",)
    advice = Advice(
        "finding",
        "there are reference answers but no judgements of documents.",
        "documents are judged: R and nDCG are cheaper and need no judge of claims.",
    )

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        return best_outcome(map(mean_credit, by_reference(verdicts.get("reference-contexts", ())).values()))

    def by_words(self, case: AnswerCase) -> Outcome:
        context_words = all_words(case.contexts or ())
        shares = [word_share(stated_words(reference), context_words) for reference in case.references]
        return best_outcome("no_claim" if share is None else share for share in shares)


def named_contexts(verdicts: Iterable[ClaimVerdict]) -> frozenset[int]:
    """The contexts that supported claims name as evidence."""
    return frozenset(context for verdict in verdicts if verdict.verdict == "supported" for context, _ in verdict.evidence)


def lacks_evidence(verdicts: Iterable[ClaimVerdict]) -> bool:
    """Whether the judge names no context: a claim is supported, or has a score, without evidence."""
    return any((verdict.verdict == "supported" or verdict.score is not None) and not verdict.evidence for verdict in verdicts)


def useful_contexts(case: AnswerCase) -> frozenset[int] | None:
    """The contexts with at least half of the words of a reference sentence; None where no reference has words."""
    wanted = [words for reference in case.references for words in sentence_words(reference)]
    if not wanted:
        return None
    contexts = enumerate(map(content_words, case.contexts or ()), 1)
    return frozenset(n for n, context_words in contexts if any(_has_share(words, context_words) for words in wanted))


def _has_share(words: Words, present: Words) -> bool:
    return len(words & present) >= USEFUL_SHARE * len(words)


@dataclass(frozen=True, kw_only=True, repr=False)
class _UsefulContexts(_AgainstContexts):
    """A measure of the contexts that support a claim of a reference, among the first `cutoff`."""

    cutoff: Annotated[int | None, CUTOFF] = None
    at: ClassVar[str | None] = "cutoff"

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        reference_verdicts = verdicts.get("reference-contexts", ())
        if not checkable_verdicts(reference_verdicts):
            return "no_claim"
        return (
            "no_evidence"
            if lacks_evidence(reference_verdicts)
            else self.of_useful(self._flags(case, named_contexts(reference_verdicts)))
        )

    def by_words(self, case: AnswerCase) -> Outcome:
        useful = useful_contexts(case)
        return "no_claim" if useful is None else self.of_useful(self._flags(case, useful))

    def _flags(self, case: AnswerCase, useful: frozenset[int]) -> list[bool]:
        """Whether each of the first contexts is useful."""
        return [n in useful for n in range(1, len(case.contexts or ()) + 1)][: self.cutoff]

    @abstractmethod
    def of_useful(self, flags: list[bool]) -> float:
        """The value of these contexts, best first."""


USEFUL_CONTEXT = (
    "A context is useful if a supported claim of a reference names it as evidence"
    " (judge='overlap': if it has at least half of the content words of a reference sentence)."
)


class ContextPrecision(_UsefulContexts):
    """Useful contexts, divided by the contexts given."""

    name = "ContextP"
    title = "Context precision"
    formula = "useful contexts / contexts"
    definition = f"Useful contexts, divided by the contexts given; with @k of the first k. {USEFUL_CONTEXT}{_FROM_CONTEXTS}"
    source = "context precision of Ru et al. 2024 (RAGChecker)"
    advice = Advice(
        "finding",
        "long contexts cost money or mislead the model.",
        "several contexts say the same: a judge may name only one of them as evidence.",
    )

    def of_useful(self, flags: list[bool]) -> float:
        return sum(flags) / len(flags)


class ContextAveragePrecision(_UsefulContexts):
    """Average precision over the useful contexts that were retrieved."""

    name = "ContextAP"
    title = "Average precision of useful contexts"
    formula = "mean of P@i over the ranks i of useful contexts"
    definition = (
        "Mean of the precision at the rank of each useful context, over the useful contexts that were retrieved; 0 if none is"
        f" useful. {USEFUL_CONTEXT}{_FROM_CONTEXTS}"
    )
    source = "called context precision in ragas and DeepEval"
    advice = Advice(
        "checking",
        "values of ragas or DeepEval must be compared.",
        "systems are compared: one useful context at rank 1 gives 1, whatever else is missing. Use nDCG on judgements.",
    )

    def of_useful(self, flags: list[bool]) -> float:
        precisions = [sum(flags[:rank]) / rank for rank, useful in enumerate(flags, 1) if useful]
        return sum(precisions) / len(precisions) if precisions else 0.0


class QuestionContexts(ClaimMeasure):
    """The mean grade of the contexts for the question."""

    name = "ContextRelevance"
    title = "Relevance of the contexts to the question"
    formula = "mean grade of the contexts / 3"
    definition = (
        "Mean grade of the contexts by the rubric of rankproof judge, divided by 3; needs no reference. 0 if nothing was"
        f" retrieved.{_BY_WORDS}the grades of judge --by keywords."
    )
    source = "grades as in Thomas et al. 2024 and Upadhyay et al. 2024 (UMBRELA)"
    advice = Advice(
        "finding",
        "there are neither references nor judgements.",
        "the order of contexts matters: use nDCG on the grades of rankproof judge.",
    )
    tables: ClassVar[tuple[ClaimTable, ...]] = ("context-question",)
    inputs = ("contexts", "question")
    with_reference = False

    def settled(self, case: AnswerCase) -> Outcome | None:
        if case.contexts is None:
            return "no_contexts"
        return 0.0 if not case.contexts else None if case.question.strip() else "no_question"

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        return mean_credit(verdicts.get("context-question", ()))

    def by_words(self, case: AnswerCase) -> Outcome:
        question = content_words(case.question)
        grades = [grade_share(question, content_words(context)) for context in case.contexts or ()]
        known = [grade for grade in grades if grade is not None]
        return sum(known) / len(known) if known else "no_question"


class ContextUtilisation(UnitMeasure):
    """Claims of the reference that contexts and answer have, divided by those that the contexts have."""

    name = "Utilisation"
    title = "Use of what was found"
    formula = "claims of the reference in contexts and answer / claims of the reference in the contexts"
    definition = (
        "Claims of the reference that the contexts support and the answer states, divided by those that the contexts support;"
        " the best reference counts. No value if the contexts support none. 0 if the answer abstains or is missing."
        f"{_BY_WORDS}the same over content words."
    )
    source = "context utilization of Ru et al. 2024 (RAGChecker), which gives 0 if nothing was found"
    aliases = ("utilization", "context_utilization")
    advice = Advice(
        "answering",
        "the generator should be measured apart from the retriever.",
        "contexts rarely contain the answer: few questions then have a value.",
    )
    tables: ClassVar[tuple[ClaimTable, ...]] = ("reference-contexts", "reference-answer")
    inputs = ("contexts",)

    def settled(self, case: AnswerCase) -> Outcome | None:
        if reason := without_reference(case):
            return reason
        return "no_contexts" if case.contexts is None else None if case.contexts else "nothing_found"

    def needed(self, case: AnswerCase) -> tuple[ClaimTable, ...]:
        return self.tables[:1] if without_answer(case) else self.tables

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        in_answer = verdicts.get("reference-answer", ())
        stated = {_claim_number(verdict): verdict.credit for verdict in in_answer}
        empty = {_claim_number(verdict) for verdict in in_answer if verdict.verdict == "nothing_to_check"}
        counted = [
            verdict
            for verdict in checkable_verdicts(verdicts.get("reference-contexts", ()))
            if _claim_number(verdict) not in empty
        ]
        return best_outcome((_used_share(group, stated) for group in by_reference(counted).values()), "nothing_found")

    def by_words(self, case: AnswerCase) -> Outcome:
        contexts, answer = all_words(case.contexts or ()), frozenset() if without_answer(case) else stated_words(case.text)
        shares = [word_share(stated_words(reference) & contexts, answer) for reference in case.references]
        return best_outcome(("nothing_found" if share is None else share for share in shares), "nothing_found")


def _claim_number(verdict: ClaimVerdict) -> tuple[int, int]:
    return verdict.claim.reference, verdict.claim.n


def _used_share(verdicts: Iterable[ClaimVerdict], stated: dict[tuple[int, int], float]) -> Outcome:
    pairs = [(verdict.credit, stated.get(_claim_number(verdict), 0.0)) for verdict in verdicts]
    whole = sum(credit for credit, _ in pairs)
    return sum(map(min, pairs)) / whole if whole else "nothing_found"


NoiseSource = Literal["relevant", "irrelevant"]


@dataclass(frozen=True, kw_only=True, repr=False)
class NoiseSensitivity(UnitMeasure):
    """Claims of the answer that the reference does not support and such a context does, divided by its claims."""

    from_: Annotated[NoiseSource, Option("the contexts that mislead")] = "relevant"
    name = "Noise"
    title = "Noise sensitivity"
    formula = "wrong claims of the answer in a relevant context / claims of the answer"
    definition = (
        "Claims of the answer that no reference supports and a relevant context does (from='irrelevant': only irrelevant contexts"
        " do), divided by its claims; 0 is best. A context is relevant if a supported claim of a reference names it as evidence."
        f" No value if there is no such context.{_BY_WORDS}the same over content words."
    )
    source = "Ru et al. 2024 (RAGChecker); also in ragas"
    aliases = ("noise_sensitivity",)
    higher_is_better = False
    advice = Advice(
        "answering",
        "contexts contain errors, or facts beside the question, and answers repeat them.",
        "references are short: true claims that they lack count as noise.",
    )
    tables: ClassVar[tuple[ClaimTable, ...]] = ("answer-contexts", "answer-reference", "reference-contexts")
    inputs = ("contexts",)

    def settled(self, case: AnswerCase) -> Outcome | None:
        if reason := without_answer(case):
            return reason
        if not case.references:
            return "no_reference"
        if case.contexts is None:
            return "no_contexts"
        none_relevant = without_reference(case) == "unanswerable" and self.from_ == "relevant"
        return "no_such_context" if not case.contexts or none_relevant else None

    def needed(self, case: AnswerCase) -> tuple[ClaimTable, ...]:
        return self.tables if case.answerable else self.tables[:1]

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        ours, wanted = verdicts.get("answer-contexts", ()), verdicts.get("reference-contexts", ())
        if lacks_evidence([*ours, *wanted]):
            return "no_evidence"
        relevant = named_contexts(wanted)
        if not self._chosen(case, relevant):
            return "no_such_context"
        right, empty = set[int](), {our.claim.n for our in ours if our.verdict == "nothing_to_check"}
        for verdict in verdicts.get("answer-reference", ()):
            right |= {verdict.claim.n} if verdict.verdict == "supported" else set()
            empty |= {verdict.claim.n} if verdict.verdict == "nothing_to_check" else set()
        claims = [our for our in ours if our.claim.n not in empty - right]
        wrong = [claim for claim in claims if claim.claim.n not in right and claim.verdict == "supported"]
        misled = [verdict for verdict in wrong if bool(named_contexts([verdict]) & relevant) == (self.from_ == "relevant")]
        return len(misled) / len(claims) if claims else "no_claim"

    def by_words(self, case: AnswerCase) -> Outcome:
        relevant = (useful_contexts(case) if case.answerable else frozenset()) or frozenset()
        if not self._chosen(case, relevant):
            return "no_such_context"
        texts = {n: content_words(context) for n, context in enumerate(case.contexts or (), 1)}
        from_relevant = frozenset[str]().union(*(texts[n] for n in relevant))
        from_irrelevant = frozenset[str]().union(*(texts[n] for n in texts.keys() - relevant)) - from_relevant
        answer = stated_words(case.text)
        wrong = answer - all_words(case.references)
        misled = word_share(answer, wrong & (from_relevant if self.from_ == "relevant" else from_irrelevant))
        return "no_claim" if misled is None else misled

    def _chosen(self, case: AnswerCase, relevant: frozenset[int]) -> bool:
        """Whether there is a context of the chosen kind."""
        return bool(relevant) if self.from_ == "relevant" else len(relevant) < len(case.contexts or ())

    def _changed(self) -> dict[str, Any]:
        return {"from": self.from_, **{name: value for name, value in super()._changed().items() if name != "from"}}


ContextR = ContextRecall()
ContextP = ContextPrecision()
ContextAP = ContextAveragePrecision()
ContextRelevance = QuestionContexts()
Utilisation = ContextUtilisation()
Noise = NoiseSensitivity()
