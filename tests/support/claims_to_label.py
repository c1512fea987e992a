"""Results of two answering systems with claims in several tables, and the texts that they were checked against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rankproof._data.answers import Answer, Answers, references_from_queries
from rankproof._data.claims import Against, Claim, ClaimVerdict, Side
from rankproof._data.dataset import Queries, Query
from rankproof._data.sentences import sentence_spans
from rankproof._evaluation.answers import evaluate_answers
from rankproof._results.answers_results import answers_results
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.label_tasks import draw_claims
from rankproof._server.label_log import ClaimQueue, build_claim_queue

SYSTEMS = ("secret-one", "secret-two")
JUDGE = "overlap:0.5:secretjudge"
QUESTION = "How long do the batteries of the rover last?"
ANSWERS = (
    "Sure! The batteries last 14 hours at full load. They were replaced in 2021.",
    "The batteries last about 14 hours. A spare set weighs 3 kg.",
)
REFERENCE = "The batteries last 14 hours. They weigh 3 kg."
CONTEXTS = {
    "c1": "The rover has two batteries. At full load they last 14 hours.\n\nCharging takes 5 hours.",
    "c2": "Each battery weighs 1.5 kg. They were never replaced.",
    "c3": "The wheels are made of aluminium.",
}


def claims_in(text: str, side: Side) -> list[Claim]:
    """The sentences of a text as claims."""
    spans = enumerate(sentence_spans(text), start=1)
    return [Claim(side, n, text[start:end], start, end) for n, (start, end) in spans]


def verdicts(query: str, system: str, claims: Sequence[Claim], against: Against, judge: str = JUDGE) -> list[ClaimVerdict]:
    """A verdict on each claim."""
    return [ClaimVerdict(query, system, claim, against, "contradicted", judge, score=0.125) for claim in claims]


def claim_results(
    queries: Sequence[str] = ("q1", "q2"),
    *,
    question: str = QUESTION,
    answers: Sequence[str] = ANSWERS,
    reference: str = REFERENCE,
    contexts: Mapping[str, str] = CONTEXTS,
) -> ExperimentResult:
    """Both systems get the same contexts; the tables are answer-contexts, reference-contexts and reference-answer."""
    found: list[ClaimVerdict] = []
    given = {}
    for system, text in zip(SYSTEMS, answers, strict=True):
        given[system] = Answers({query: Answer(text, (), tuple(contexts)) for query in queries})
        for query in queries:
            found += verdicts(query, system, claims_in(text, "answer"), "contexts")
            found += verdicts(query, system, claims_in(reference, "reference"), "contexts")
            found += verdicts(query, system, claims_in(reference, "reference"), "answer")
    texts = Queries([Query(query, question, fields={"answers": [reference]}) for query in queries])
    evaluated = evaluate_answers(given, references_from_queries(texts), None, ["EM"])
    return answers_results(replace(evaluated, claims=tuple(found)), given, texts, contexts, name="log")


def queue_of(results: ExperimentResult, most: int = 1000, seed: int = 0) -> ClaimQueue:
    """The claims of the first questions of a new draw."""
    return build_claim_queue(results, draw_claims(results, seed), most)


def with_claims(results: ExperimentResult, claims: Sequence[ClaimVerdict]) -> ExperimentResult:
    """The results with other claims."""
    assert results.answers is not None
    return replace(results, answers=replace(results.answers, claims=tuple(claims)))
