"""Every use of a language model, each on a few items; the tests of chat faults run over them.

To add one, write a function that takes a ChatModel and an LLMSession, runs the use on about five items (at least one request
each), and returns a UseOutcome. Put it in USES with the reply of a well-behaved model. The function must

- send every request through `session.client(model, …)`, and count calls (`CallTotals()`, or the QueryTimer of the use);
- return the number of items, and `whole`: whether no item is missing, in whatever state (a ranking has every document, a pair
  has a judgement or is counted as failed, a question has an Answer);
- not catch a RankproofError that ends the run: the tests expect it.

`well` gets the request as the server got it (a dict with "messages", "max_tokens", perhaps "logprobs" and "response_format") and
returns the text of a good reply. If the fault is in the text of the reply, `flagged` must not be 0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from rankproof._data.claims import ClaimTable, ClaimVerdict
from rankproof._data.dataset import Queries, Query
from rankproof._experiment.stage_output import call_count_notes
from rankproof._generate.filters import TermStatistics
from rankproof._generate.generated_queries import FailedDocument, SourceDocument
from rankproof._generate.generators import LLMGenerator
from rankproof._judge.claims.base import judge_of
from rankproof._judge.claims.llm import LLMClaimJudge, LLMClaimSettings
from rankproof._judge.claims.logprob import LogprobJudge
from rankproof._judge.claims.nuggets import NuggetDrafter, NuggetSettings, NuggetSource
from rankproof._judge.judge import grade_pairs
from rankproof._judge.judges import JudgeContext, LLMJudge
from rankproof._judge.pairs import QueryDocPair, sum_counts
from rankproof._llm.budget import COUNT_NAMES, CallTotals
from rankproof._llm.client import ReplyParseError
from rankproof._llm.session import LLMSession
from rankproof.models._chat.base import ChatModel, ChatReply, ChatRequest, Message
from rankproof.stages import BM25, GenerateAnswer, Listwise, Pairwise, Pointwise, Rerank, Rewrite
from rankproof.stages._base import BuildContext, QueryTimer
from rankproof.stages._llm_scorers import LLMScorer
from support.claim_tasks import claim_task, silent
from support.stage_building import PlainBlockCache, corpus_of, ranking_of

FLAGS = ("unreadable", "failed", "given_up", "by_text", "dropped")


@dataclass(frozen=True)
class UseOutcome:
    """The outcome of a use: items, whether none is missing, how often something was flagged, the call counts, and its texts."""

    items: int
    whole: bool
    flagged: int
    counts: Mapping[str, float]
    texts: str


@dataclass(frozen=True)
class Use:
    """One use: how to run it, and what a good model replies."""

    run: Callable[[ChatModel, LLMSession], UseOutcome]
    well: Callable[[Mapping[str, Any]], str]


def flags(counts: Mapping[Any, float]) -> int:
    """How often the counts flag a problem."""
    return int(sum(counts.get(name, 0) for name in FLAGS))


def request_text(request: Mapping[str, Any]) -> str:
    """All messages of a request as one text, for a `well` that looks at the request."""
    return "\n".join(message["content"] for message in request["messages"])


def _plain(model: ChatModel, session: LLMSession) -> UseOutcome:
    """Five requests for a whole number from 0 to 3 in JSON, read strictly."""
    client, sums = session.client(model, "plain"), CallTotals()
    requests = [
        ChatRequest((Message("user", f"Which whole number from 0 to 3 fits the text {number}?"),), 20, '{"type": "object"}')
        for number in range(5)
    ]
    found = [client.read(request, _number, sums) for request in requests]
    lost = sum(each is None for each in found)
    return UseOutcome(5, lost == sums.counts["failed"] + sums.counts["given_up"], flags(sums.counts), sums.plain(), repr(found))


def _number(reply: ChatReply) -> int:
    try:
        value = json.loads(reply.text)["relevance"]
    except (ValueError, TypeError, KeyError) as error:
        raise ReplyParseError(str(error)) from None
    if reply.finish != "stop" or type(value) is not int or not 0 <= value <= 3:
        raise ReplyParseError("no whole number from 0 to 3")
    return value


def _reranked(make: Callable[[ChatModel], LLMScorer], items: int) -> Callable[[ChatModel, LLMSession], UseOutcome]:
    """So many documents, put in order by a language model."""

    def run(model: ChatModel, session: LLMSession) -> UseOutcome:
        corpus = corpus_of({f"d{at}": "pie " * (at + 1) for at in range(items)})
        context, clock = BuildContext(corpus, corpus.fingerprint(), PlainBlockCache(), session=session), QueryTimer()
        stage = Rerank(BM25(), make(model), top=items)  # type: ignore[arg-type]
        below = ranking_of(BM25(), context, "pie")
        docs, _ = stage.build(context).search(Query("q", "pie"), [below], clock)
        counts: dict[str, float] = {str(name): count for name, count in clock.counts.items()}
        requests = counts["windows"] + counts["graded"] + 2 * counts["compared"]
        kept = docs == below[0] or counts["failed"] + counts["given_up"] < requests
        return UseOutcome(items, sorted(docs) == sorted(corpus) and kept, flags(counts), counts, repr(docs))

    return run


def _in_order(request: Mapping[str, Any]) -> str:
    count = request_text(request).count("<<<end of passage ") - 1
    return " > ".join(f"[{number}]" for number in range(count, 0, -1))


def _judged(model: ChatModel, session: LLMSession) -> UseOutcome:
    """Five pairs, each graded or failed with a reason."""
    corpus, queries = corpus_of({f"d{at}": f"pie {at}" for at in range(5)}), Queries([Query("q", "pie")])
    pairs = [QueryDocPair("q", doc) for doc in corpus]
    verdicts = grade_pairs(LLMJudge(model), pairs, JudgeContext(queries, corpus, session), lambda label, done, total: None)
    counts = dict.fromkeys(COUNT_NAMES, 0.0) | sum_counts(verdicts)
    complete = all(verdict.grade in range(4) if verdict.grade is not None else verdict.reason for verdict in verdicts)
    failed = sum(verdict.grade is None for verdict in verdicts) == counts["failed"] + counts["given_up"]
    return UseOutcome(
        5, [verdict.pair for verdict in verdicts] == pairs and complete and failed, flags(counts), counts, repr(verdicts)
    )


def _rewritten(model: ChatModel, session: LLMSession) -> UseOutcome:
    """Five queries, each searched as the model rewrites it, or unchanged."""
    corpus = corpus_of({"d": "pie"})
    context, stage = BuildContext(corpus, corpus.fingerprint(), PlainBlockCache(), session=session), Rewrite(BM25(), model)
    queries, counts = [Query(f"q{at}", f"pie number {at}") for at in range(5)], Counter[str]()
    below = stage.input_queries(context, queries)
    searcher = stage.build(context)
    for query in queries:
        clock = QueryTimer()
        searcher.search(query, [ranking_of(BM25(), context, query.text)], clock)
        counts.update({str(name): count for name, count in clock.counts.items()})
    kept = sum(one == other for one, other in zip(queries, below, strict=True))
    lost = counts["failed"] + counts["given_up"]
    noted = any("were not rewritten" in note for note in _notes(counts)) == bool(lost)
    return UseOutcome(
        5,
        [query.id for query in below] == [query.id for query in queries] and kept == lost and noted,
        flags(counts),
        counts,
        repr(below),
    )


def _notes(counts: Mapping[str, int]) -> tuple[str, ...]:
    return call_count_notes({name: np.array([counts[name]]) for name in COUNT_NAMES})


def _generated(model: ChatModel, session: LLMSession) -> UseOutcome:
    """Queries from five documents, each made or listed as lost."""
    statistics = TermStatistics(
        corpus_of({f"d{at}": f"pie number {at} is baked for an hour at home" for at in range(5)}), ("text",)
    )
    generator = LLMGenerator(model, statistics, session, lambda label, done, total: None)
    sources = [SourceDocument("factual", (doc,)) for doc in statistics.texts]
    found = generator.generate(sources)
    lost, counts = [one.source for one in found if isinstance(one, FailedDocument)], generator.describe()["usage"]
    whole = len(found) == 5 and len(lost) == counts["failed"] + counts["given_up"] and set(lost) <= set(sources)
    return UseOutcome(5, whole, flags(counts), counts, repr(found))


def _answered(model: ChatModel, session: LLMSession) -> UseOutcome:
    """Five questions, each with an answer or one that failed."""
    corpus = corpus_of({f"d{at}": f"pie {at}" for at in range(5)})
    context = BuildContext(corpus, corpus.fingerprint(), PlainBlockCache(), session=session)
    searcher, clock = GenerateAnswer(BM25(), model, top=3).build(context), QueryTimer()
    below = ranking_of(BM25(), context, "pie")
    found = [searcher.answer(Query(f"q{at}", f"pie {at}?"), below, clock) for at in range(5)]
    counts: dict[str, float] = {str(name): count for name, count in clock.counts.items()}
    failed = sum(one.state == "failed" for one in found) == counts["failed"] + counts["given_up"]
    complete = all(bool(one.text.strip()) != (one.state == "failed") and set(one.cited) <= set(one.given or ()) for one in found)
    return UseOutcome(5, failed and complete, flags(counts), counts, repr(found))


def _checked(table: ClaimTable, claims: int, judge: str = "mine") -> Callable[[ChatModel, LLMSession], UseOutcome]:
    """Five tasks, each with the claims of one request; every claim has a verdict, or failed with a reason and without a score."""

    def run(model: ChatModel, session: LLMSession) -> UseOutcome:
        made = judge_of(judge, session, chat=lambda name: model)
        assert isinstance(made, LLMClaimJudge | LogprobJudge)
        tasks = [
            claim_task(table, [f"Pie {at} is hot.", f"Pie {at} is big."][:claims], [f"Pies, {at} of them."]) for at in range(5)
        ]
        found = made.judge(tasks, silent)
        counts = made.calls.counts.plain()
        complete = [len(verdicts) for verdicts in found] == [claims] * 5 and all(map(_is_sound, chain.from_iterable(found)))
        failed = sum(verdict.verdict == "failed" for verdicts in found for verdict in verdicts)
        return UseOutcome(
            5, complete and failed == claims * (counts["failed"] + counts["given_up"]), flags(counts), counts, repr(found)
        )

    return run


def _is_sound(verdict: ClaimVerdict) -> bool:
    """Whether a failed verdict has a reason and neither score nor evidence, and a supported one what it rests on."""
    if verdict.verdict == "failed":
        return bool(verdict.reason) and verdict.score is None and not verdict.evidence
    return not verdict.reason and (verdict.score is not None or bool(verdict.evidence) == (verdict.verdict == "supported"))


def _all_supported(name: str) -> Callable[[Mapping[str, Any]], str]:
    """The verdict on each claim of the request, with the first sentence as evidence."""

    def well(request: Mapping[str, Any]) -> str:
        text = request_text(request)
        claims = text.partition("<<<claims>>>\n")[2].partition("\n<<<end of claims>>>")[0].splitlines()
        each = [{"claim": at, "evidence": ["1.1"], "verdict": name} for at in range(1, len(claims) + 1)]
        return json.dumps({"verdicts": each})

    return well


def _extracted(model: ChatModel, session: LLMSession) -> UseOutcome:
    """Five texts, each split into claims, or failed."""
    made = LLMClaimJudge("mine", LLMClaimSettings(model), session)
    found = made.extract([("Which pie?", f"Pie {at} is hot.") for at in range(5)], silent)
    counts = made.calls.counts.plain()
    lost = sum(claims is None for claims in found)
    whole = (
        len(found) == 5 and lost == counts["failed"] + counts["given_up"] and all(claims is None or claims for claims in found)
    )
    return UseOutcome(5, whole, flags(counts), counts, repr(found))


def _nuggets_drafted(model: ChatModel, session: LLMSession) -> UseOutcome:
    """Five questions, each with a draft of its nuggets, or failed with a reason."""
    drafter = NuggetDrafter(NuggetSettings(model), session)
    sources = [NuggetSource(f"q{at}", f"Which pie {at}?", (f"Pie {at} is hot.",)) for at in range(5)]
    found, counts = drafter.draft(sources, silent), drafter.calls.counts.plain()
    whole = len(found.drafts) + len(found.failed) == 5 and not found.empty and all(found.failed.values())
    honest = len(found.failed) == counts["failed"] + counts["given_up"] and not any(one.confirmed for one in found.drafts)
    return UseOutcome(5, whole and honest and all(one.nuggets for one in found.drafts), flags(counts), counts, repr(found))


USES: dict[str, Use] = {
    "nuggets": Use(_nuggets_drafted, lambda request: '{"nuggets": [{"text": "Pie is hot.", "importance": "vital"}]}'),
    "verdicts on an answer": Use(_checked("answer-contexts", 2), _all_supported("supported")),
    "verdicts on nuggets": Use(_checked("nugget-answer", 2), _all_supported("partial_support")),
    "relevance of an answer": Use(_checked("answer-question", 1), lambda request: '{"reason": "on pies", "grade": 2}'),
    "relevance of a context": Use(_checked("context-question", 1), lambda request: '{"reason": "on pies", "grade": 1}'),
    "verdicts by log-probability": Use(_checked("answer-contexts", 1, "logprob:mine"), lambda request: "Yes"),
    "atomic claims": Use(_extracted, lambda request: '{"claims": ["Pie 1 is hot."]}'),
    "answer": Use(_answered, lambda request: '{"answer": "a pie", "sources": [2]}'),
    "rewrite": Use(_rewritten, lambda request: '{"query": "baked fruit cake"}'),
    "generate": Use(_generated, lambda request: '{"query": "how long is a pie baked", "answer": "an hour"}'),
    "plain": Use(_plain, lambda request: '{"relevance": 2}'),
    "listwise": Use(_reranked(lambda model: Listwise(model, window=3, step=2), 5), _in_order),
    "pointwise": Use(_reranked(Pointwise, 4), lambda request: "Yes"),
    "judge": Use(_judged, lambda request: '{"reason": "on pies", "grade": 2}'),
    "pairwise": Use(_reranked(Pairwise, 3), lambda request: "A"),
}
