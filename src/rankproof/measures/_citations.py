"""Measures of citations: by judgements of the cited documents, or by what the cited passages support."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.claims import Claim, ClaimTable, ClaimVerdict, checkable_claims, cites_of_claims, claims_of
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.measures._answers import AnswerCase
from rankproof.measures._base import Advice
from rankproof.measures._claim_base import ClaimMeasure, Outcome, Verdicts, without_answer
from rankproof.measures._overlap import OVERLAP, all_words, claim_share, claim_words, content_words

CitedBy = Literal["judgements", "support"]


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of an answer with the contexts that it cites, and the number of its cites that are no context."""

    claim: Claim
    cites: tuple[int, ...]
    invented: int


def cited_sentences(case: AnswerCase) -> list[CitedSentence]:
    """Every sentence of the answer that states something; without marks in its text, each has all cited passages."""
    claims = claims_of(case.text, "answer")
    by_mark = cites_of_claims(case.text, claims)
    if by_mark is None:
        by_mark = [case.cited_contexts] * len(claims)
    known = len(case.contexts or ())
    sentences = []
    for claim, cites in zip(claims, by_mark, strict=True):
        cited = tuple(n for n in dict.fromkeys(cites) if 1 <= n <= known)
        if claim.remark is None:
            sentences.append(CitedSentence(claim, cited, sum(not 1 <= n <= known for n in cites)))
    return sentences


@dataclass(frozen=True, kw_only=True, repr=False)
class _CitationMeasure(ClaimMeasure):
    """A measure of citations; by='support' asks a judge whether the cited passages support the sentences."""

    by: Annotated[CitedBy, Option("what makes a citation right")] = "judgements"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by == "judgements" and self.judge != OVERLAP:
            raise UsageError(
                f"{self.name} by judgements has no judge", fix=f"write {self.name}(by='support',judge='{self.judge}')"
            )

    @property
    def asks(self) -> bool:
        return self.by == "support"

    @property
    def needs_reference(self) -> bool:
        return self.by == "judgements"

    def settled(self, case: AnswerCase) -> Outcome | None:
        if self.by == "judgements":
            return self.by_judgements(case)
        if case.state == "missing":
            return 0.0
        if reason := without_answer(case):
            return reason
        if case.contexts is None:
            return "no_contexts"
        claims = checkable_claims(case.text)
        if not (any(map(claim_words, claims)) if self.judge == OVERLAP else claims):
            return "no_claim"
        cites = any(sentence.cites for sentence in cited_sentences(case))
        return None if case.contexts and cites else 0.0

    def by_judgements(self, case: AnswerCase) -> Outcome:
        """The value by the relevant documents."""
        if not case.relevant:
            return "no_relevant"
        return 0.0 if case.state == "missing" else self.of_documents(frozenset(case.cited), case.relevant)

    @abstractmethod
    def of_documents(self, cited: frozenset[str], relevant: frozenset[str]) -> float:
        """The value of the cited documents."""

    def needed(self, case: AnswerCase) -> tuple[ClaimTable, ...]:
        return ("answer-cited",) if self.by == "support" else ()

    def value(self, case: AnswerCase) -> float | None:
        if self.by == "judgements":
            outcome = self.by_judgements(case)
            return None if isinstance(outcome, str) else outcome
        return super().value(case)

    def _changed(self) -> dict[str, Any]:
        return {"by": self.by, "judge": self.judge} if self.by == "support" else {}


_BY_DOCUMENTS = "by='judgements': "
_BY_SUPPORT = " by='support': "
_LEFT_OUT = " Questions without a relevant document are left out."
CITATION_MARKS = " Marks such as [1] in the answer are its cites; without marks, every sentence has the answer's cites."
_SOURCE = "Gao et al. 2023 (ALCE); here every cite is read, and an invented one counts as wrong"


class CitationPrecision(_CitationMeasure):
    """Right citations, divided by citations."""

    name = "CiteP"
    title = "Citation precision"
    definition = (
        f"{_BY_DOCUMENTS}cited relevant documents, divided by all cited documents; 0 if nothing is cited.{_LEFT_OUT}"
        f"{_BY_SUPPORT}needed cites, divided by all cites. A cite is needed if the cites of its sentence support it together,"
        " and it does so alone or they do not without it."
        f"{CITATION_MARKS} judge='overlap', or a judge with scores: mean score of each cite alone."
    )
    source = _SOURCE
    advice = Advice(
        "answering",
        "users check sources: every citation should be correct.",
        "answers cite nothing: the value is then 0 because citations are missing, not because they are wrong.",
    )
    tables: ClassVar[tuple[ClaimTable, ...]] = ("answer-cited",)

    def of_documents(self, cited: frozenset[str], relevant: frozenset[str]) -> float:
        return len(cited & relevant) / len(cited) if cited else 0.0

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        shown = _by_shown(verdicts.get("answer-cited", ()))
        credits: list[float] = []
        for sentence in cited_sentences(case):
            joint = shown.get((sentence.claim.n, sentence.cites))
            if joint is not None and joint.verdict == "nothing_to_check":
                continue
            credits += [_cite_credit(sentence, cite, shown) for cite in sentence.cites] + [0.0] * sentence.invented
        return sum(credits) / len(credits) if credits else "no_claim"

    def by_words(self, case: AnswerCase) -> Outcome:
        contexts = [content_words(context) for context in case.contexts or ()]
        credits: list[float] = []
        for sentence in cited_sentences(case):
            if claim_words(sentence.claim):
                credits += [claim_share(sentence.claim, contexts[cite - 1]) or 0.0 for cite in sentence.cites] + [
                    0.0
                ] * sentence.invented
        return sum(credits) / len(credits) if credits else "no_claim"


Shown = dict[tuple[int, tuple[int, ...]], ClaimVerdict]


def _by_shown(verdicts: Sequence[ClaimVerdict]) -> Shown:
    """The verdicts by the sentence and the contexts that it was checked against."""
    return {(verdict.claim.n, verdict.shown or ()): verdict for verdict in verdicts}


def _cite_credit(sentence: CitedSentence, cite: int, shown: Shown) -> float:
    """The credit of one cite: 1 if it is needed; the score of the cite alone where the judge gives scores."""
    joint, alone = shown[sentence.claim.n, sentence.cites], shown.get((sentence.claim.n, (cite,)))
    if alone is not None and alone.score is not None:
        return alone.score
    if joint.verdict != "supported":
        return 0.0
    if alone is not None and alone.verdict == "supported":
        return 1.0
    return float(shown[sentence.claim.n, other_cites(sentence, cite)].verdict != "supported")


def other_cites(sentence: CitedSentence, cite: int) -> tuple[int, ...]:
    """The cites of a sentence without one of them."""
    return tuple(other for other in sentence.cites if other != cite)


class CitationRecall(_CitationMeasure):
    """What the citations support or find, divided by all there is."""

    name = "CiteR"
    title = "Citation recall"
    definition = (
        f"{_BY_DOCUMENTS}cited relevant documents, divided by the number of relevant documents.{_LEFT_OUT}"
        f"{_BY_SUPPORT}sentences that their cites support together, divided by the sentences of the answer; a sentence without a"
        f" cite counts 0.{CITATION_MARKS} judge='overlap': mean share of each sentence's content words in its cited passages."
    )
    source = _SOURCE
    advice = Advice("answering", "an answer should cite everything that supports it.", "one good source is enough.")
    tables: ClassVar[tuple[ClaimTable, ...]] = ("answer-cited",)

    def of_documents(self, cited: frozenset[str], relevant: frozenset[str]) -> float:
        return len(cited & relevant) / len(relevant)

    def used_verdicts(self, verdicts: Sequence[ClaimVerdict]) -> Sequence[ClaimVerdict]:
        """The verdicts on all cites of each sentence, which have the most contexts."""
        joint: dict[int, ClaimVerdict] = {}
        for verdict in verdicts:
            joint[verdict.claim.n] = max(joint.get(verdict.claim.n, verdict), verdict, key=attrgetter("contexts_shown"))
        return list(joint.values())

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        shown = _by_shown(verdicts.get("answer-cited", ()))
        credits = []
        for sentence in cited_sentences(case):
            joint = shown[sentence.claim.n, sentence.cites] if sentence.cites else None
            if joint is None or joint.verdict != "nothing_to_check":
                credits.append(0.0 if joint is None else joint.credit)
        return sum(credits) / len(credits) if credits else "no_claim"

    def by_words(self, case: AnswerCase) -> Outcome:
        contexts = case.contexts or ()
        shares = [
            claim_share(sentence.claim, all_words(contexts[cite - 1] for cite in sentence.cites))
            for sentence in cited_sentences(case)
        ]
        credits = [share for share in shares if share is not None]
        return sum(credits) / len(credits) if credits else "no_claim"


CiteP = CitationPrecision()
CiteR = CitationRecall()
