"""Results of answers that were made elsewhere, with verdicts on their claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from rankproof._data.answers import Answer, Answers, references_from_queries
from rankproof._data.claims import Against, Claim, ClaimVerdict, Side, Verdict
from rankproof._data.dataset import Queries, Query
from rankproof._data.sentences import sentence_spans
from rankproof._evaluation.answers import evaluate_answers
from rankproof._results.answers_results import answers_results
from rankproof._results.experiment_result import ExperimentResult

JUDGE = "llm:tiny:0123abcd"
CONTEXTS = {
    "c1": "Oslo is the capital of Norway. It lies on a fjord.",
    "c2": "Norway has many fjords. The longest is the Sognefjord.",
    "c3": "Bergen is wet.",
}
QUERIES = Queries(
    [
        Query("q1", "What is the capital of Norway?", fields={"answers": ["Oslo is the capital. It is on a fjord."]}),
        Query("q2", "Which fjord is the longest?", fields={"answers": ["The Sognefjord."]}),
        Query("q3", "Who is the mayor of Bergen?", fields={"answers": []}),
        Query("q4", "Is Bergen wet?"),
    ]
)
ANSWERS = {
    "open": Answers(
        {
            "q1": Answer("Sure! Oslo is the capital. It has a metro. It is in Sweden.", ("c1",), ("c1", "c2")),
            "q2": Answer("The Sognefjord is the longest.", ("c2",), ("c2", "c1")),
            "q3": Answer("", (), ("c3",), "abstained"),
            "q4": Answer("Bergen is wet.", (), ("c3",)),
        }
    ),
    "short": Answers(
        {
            "q1": Answer("Oslo is the capital.", ("c1",), ("c1",)),
            "q2": Answer("Hardanger is the longest.", (), ("c1",)),
            "q3": Answer("The mayor is Kari.", (), ("c3",)),
            "q4": Answer("Bergen is wet.", (), ("c3",)),
        }
    ),
}


def claim_results(
    answers: Mapping[str, Answers] | None = None,
    *,
    measures: Sequence[str] = ("EM", "Contains"),
    claims: tuple[ClaimVerdict, ...] | None = None,
    contexts: Mapping[str, str] = MappingProxyType(CONTEXTS),
) -> ExperimentResult:
    """The answers as results, by default with the verdicts of a language model on their claims."""
    given = answers or ANSWERS
    evaluated = evaluate_answers(
        given,
        references_from_queries(QUERIES),
        None,
        list(measures),
        questions={query: one.text for query, one in QUERIES.items()},
        passage=contexts.get,
        known=claim_verdicts() if claims is None else claims,
    )
    evaluated = replace(evaluated, claims=claim_verdicts() if claims is None else claims)
    return answers_results(evaluated, given, QUERIES, contexts, name="log")


_ANSWER_VERDICTS: dict[tuple[str, str], list[tuple[Verdict, tuple[tuple[int, int], ...]]]] = {
    ("open", "q1"): [
        ("nothing_to_check", ()),
        ("supported", ((1, 1),)),
        ("not_stated", ()),
        ("contradicted", ((1, 1), (2, 1))),
    ],
    ("open", "q2"): [("supported", ((1, 2),))],
    ("open", "q4"): [("supported", ((1, 1),))],
    ("short", "q1"): [("supported", ((1, 1),))],
    ("short", "q2"): [("failed", ())],
    ("short", "q3"): [("not_stated", ())],
    ("short", "q4"): [("supported", ((1, 1),))],
}
_REFERENCE_VERDICTS: dict[tuple[str, str], list[tuple[Verdict, tuple[tuple[int, int], ...]]]] = {
    ("open", "q1"): [("supported", ((1, 1),)), ("supported", ((1, 2),))],
    ("open", "q2"): [("supported", ((1, 2),))],
    ("short", "q1"): [("supported", ((1, 1),)), ("supported", ((1, 2),))],
    ("short", "q2"): [("not_stated", ())],
}


def claim_verdicts() -> tuple[ClaimVerdict, ...]:
    """A language model's verdicts on answers and references against the contexts, among them each kind of verdict."""
    answers = {(system, query): ANSWERS[system][query].text for system, query in _ANSWER_VERDICTS}
    references = {(system, query): QUERIES[query].fields["answers"][0] for system, query in _REFERENCE_VERDICTS}
    return (
        *_verdicts("answer", "contexts", answers, _ANSWER_VERDICTS),
        *_verdicts("reference", "contexts", references, _REFERENCE_VERDICTS),
    )


def _verdicts(
    side: Side,
    against: Against,
    texts: dict[tuple[str, str], str],
    given: dict[tuple[str, str], list[tuple[Verdict, tuple[tuple[int, int], ...]]]],
) -> list[ClaimVerdict]:
    found = []
    for (system, query), verdicts in given.items():
        text = texts[system, query]
        spans = sentence_spans(text)
        for n, ((start, end), (verdict, evidence)) in enumerate(zip(spans, verdicts, strict=True), start=1):
            claim = Claim(side, n, text[start:end], start, end)
            reason = "no reply in 3 attempts" if verdict == "failed" else ""
            found.append(ClaimVerdict(query, system, claim, against, verdict, JUDGE, evidence, reason=reason))
    return found
