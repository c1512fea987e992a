"""Measures of citations, and of nuggets that an answer states; how often systems answer and abstain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.claims import Claim, ClaimTable, ClaimVerdict, Nugget, checkable_claims, cites_of_claims, claims_of
from rankproof._data.wording.remarks import without_thinking
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.measures._answers import AnswerCase, AnswerMeasure, Encode
from rankproof.measures._base import Advice
from rankproof.measures._claim_base import (
    NUGGET_SHARE,
    OVERLAP,
    ClaimMeasure,
    Outcome,
    Verdicts,
    all_words,
    checkable_verdicts,
    claim_share,
    claim_words,
    content_words,
    without_answer,
    word_share,
)

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


NuggetChoice = Literal["vital", "all"]


@dataclass(frozen=True, kw_only=True, repr=False)
class NuggetRecall(ClaimMeasure):
    """Nuggets that the answer states, divided by the nuggets."""

    strict: Annotated[bool, Option("whether only a full statement counts")] = True
    of: Annotated[NuggetChoice, Option("the nuggets that count")] = "vital"
    name = "NuggetR"
    title = "Nugget recall"
    formula = "nuggets in the answer / nuggets"
    definition = (
        "Nuggets that the answer states in full, divided by the nuggets; of='vital' counts vital nuggets, of='all' all of them."
        " strict=False: the judge's score of each nugget counts. 0 if the answer abstains or is missing; no value without such a"
        " nugget. judge='overlap': a nugget is stated if 3/4 of its content words are in the answer; strict=False: their share."
    )
    source = "strict vital score of Pradeep et al. 2025 (TREC RAG, AutoNuggetizer)"
    advice = Advice(
        "answering",
        "people wrote or confirmed the facts that a good answer has.",
        "single answers are compared: nuggets rank systems, they are unreliable for one question.",
    )
    tables: ClassVar[tuple[ClaimTable, ...]] = ("nugget-answer",)
    inputs = ("nuggets",)
    with_reference = False

    def settled(self, case: AnswerCase) -> Outcome | None:
        if not self._chosen(case) or case.answerable is False:
            return "no_nugget"
        return 0.0 if without_answer(case) else None

    def _chosen(self, case: AnswerCase) -> list[Nugget]:
        return [nugget for nugget in case.nuggets or () if self.of == "all" or nugget.importance == "vital"]

    def used_verdicts(self, verdicts: Sequence[ClaimVerdict]) -> Sequence[ClaimVerdict]:
        """Those of the nuggets that count."""
        return [verdict for verdict in verdicts if self.of == "all" or verdict.importance == "vital"]

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        checkable = checkable_verdicts(self.used_verdicts(verdicts.get("nugget-answer", ())))
        credits = [float(verdict.verdict == "supported") if self.strict else verdict.credit for verdict in checkable]
        return sum(credits) / len(credits) if credits else "no_nugget"

    def by_words(self, case: AnswerCase) -> Outcome:
        answer = content_words(without_thinking(case.text))
        shares = [word_share(content_words(nugget.text), answer) for nugget in self._chosen(case)]
        known = [share for share in shares if share is not None]
        credits = [float(share >= NUGGET_SHARE) if self.strict else share for share in known]
        return sum(credits) / len(credits) if credits else "no_nugget"


NuggetR = NuggetRecall()


class AnswerStateMeasure(AnswerMeasure):
    """A measure of whether a system answers; it reads no text but the wording of an abstention."""

    with_reference = False

    @abstractmethod
    def outcome(self, case: AnswerCase) -> Outcome:
        """The value, or why there is none."""

    def value(self, case: AnswerCase) -> float | None:
        outcome = self.outcome(case)
        return None if isinstance(outcome, str) else outcome

    def answer_values(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> list[float | None]:
        return [self.value(case) for case in cases]

    def outcomes(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> Sequence[float | str | None]:
        return [self.outcome(case) for case in cases]


ABSTAINING_ANSWER = (
    " An answer abstains by its state, or if its sentences only decline to answer, in one of fourteen languages; a note counts"
    " the latter."
)


class AnsweredShare(AnswerStateMeasure):
    """1 for an answer, 0 where the system abstains or gives none."""

    name = "AnswerRate"
    title = "Answered questions"
    definition = (
        f"1 if the system answers, 0 if it abstains or gives no answer; the mean is the share of answers.{ABSTAINING_ANSWER}"
    )
    source = "coverage in selective prediction (El-Yaniv and Wiener 2010)"
    advice = Advice(
        "answering",
        "other measures leave out abstentions: read it beside them.",
        "many questions have no answer: use AbstainP and AbstainR.",
    )

    def outcome(self, case: AnswerCase) -> Outcome:
        return 0.0 if without_answer(case) else 1.0


class AbstainPrecision(AnswerStateMeasure):
    """Abstentions on questions without an answer, divided by abstentions."""

    name = "AbstainP"
    title = "Right abstentions"
    definition = (
        "Over the questions on which the system abstains: 1 if the question has no answer, else 0. No value where it is not known"
        f" whether there is one.{ABSTAINING_ANSWER}"
    )
    source = "precision of abstention, as for no-answer questions in Rajpurkar et al. 2018 (SQuAD 2.0)"
    advice = Advice(
        "answering",
        "abstaining on a question that has an answer is costly.",
        "few questions are abstained from: the mean is then over few values.",
    )

    def outcome(self, case: AnswerCase) -> Outcome:
        if without_answer(case) != "abstained":
            return "not_abstained"
        return "no_reference" if case.answerable is None else float(not case.answerable)


class AbstainRecall(AnswerStateMeasure):
    """Abstentions on questions without an answer, divided by these questions."""

    name = "AbstainR"
    title = "Unanswerable questions abstained from"
    definition = f"Over the questions that have no answer: 1 if the system abstains, else 0.{ABSTAINING_ANSWER}"
    source = "recall of abstention, as for no-answer questions in Rajpurkar et al. 2018 (SQuAD 2.0)"
    advice = Advice("answering", "a made-up answer is worse than none.", "every question has an answer: there is then no value.")

    def outcome(self, case: AnswerCase) -> Outcome:
        if case.answerable is None:
            return "no_reference"
        return "answerable" if case.answerable else float(without_answer(case) == "abstained")


AnswerRate = AnsweredShare()
AbstainP = AbstainPrecision()
AbstainR = AbstainRecall()
