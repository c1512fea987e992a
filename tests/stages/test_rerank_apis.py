"""Rerankers behind APIs: what goes over the wire, batches, listwise models, costs, faults and recorded replies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.attacks.rerankers import attack_reranker

import rankproof as rp
from rankproof._data.corpus import Document
from rankproof._data.dataset import Query
from rankproof._experiment.stage_output import call_count_notes
from rankproof._io.retry import RetryPolicy
from rankproof._llm.budget import COUNT_NAMES, Budget, BudgetError, Usage
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.client import MAX_CONSECUTIVE_FAILURES
from rankproof._llm.session import LLMSession
from rankproof._sample import sample_folder
from rankproof.errors import ExternalError, UsageError
from rankproof.models import WordLlama
from rankproof.stages import BM25, BiEncoderScorer, CohereRerank, JinaRerank, Rerank, TEIRerank, VLLMRerank, VoyageRerank
from rankproof.stages._base import BuildContext, EstimatesScorerCost, LLMQueryScorer, QueryTimer
from rankproof.stages._fields import passage_text
from rankproof.stages._rerank_apis.apis import LISTWISE_MODELS
from support.chat_server import ChatServer
from support.examples import crossed
from support.hostile_strings import STRINGS
from support.rerank_faults import FAULTS, RerankFault
from support.rerank_server import APIS, MODEL, base_url, cosines, documents_sent, scorer, serving, tokens_of, well
from support.scripted_server import Request, Sent
from support.small_models import HashedWords
from support.stage_building import PlainBlockCache, corpus_of, ranking_of

WORDS = ["apple", "pie", "crust", "pear", "tart", "sugar", "dough", "oven", "butter", "salt", "flour", "plum"]
TEXTS = {f"d{at:02}": f"pie {word} {WORDS[at * 5 % 12]}" for at, word in enumerate(WORDS)}
QUERY = Query("q1", "apple butter pie")
EXTRA: Mapping[str, Mapping[str, Any]] = {
    "cohere": {"max_tokens_per_doc": 4096},
    "jina": {"return_documents": False},
    "voyage": {"return_documents": False, "truncation": True},
    "mixedbread": {"return_input": False, "top_k": 12},
    "tei": {"raw_scores": False, "truncate": True, "return_text": False},
    "infinity": {"raw_scores": False, "return_documents": False},
    "vllm": {},
}


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def session_of(folder: Path | None = None, **settings: Any) -> LLMSession:
    """A session that does not wait before it asks again."""
    caches = ResponseCaches(folder) if folder else None
    return LLMSession(caches, retry_policy=RetryPolicy(max_requests=3, sleep=lambda seconds: None), **settings)


def context_with(session: LLMSession, texts: Mapping[str, str] = TEXTS) -> BuildContext:
    corpus = corpus_of(texts)
    return BuildContext(corpus, corpus.fingerprint(), PlainBlockCache(), session=session)


def asked(
    value: Any, session: LLMSession, texts: Mapping[str, str] = TEXTS, query: Query = QUERY
) -> tuple[list[float], QueryTimer]:
    """The scores of all documents in their order, and the counts."""
    timer = QueryTimer()
    built = value.build(context_with(session, texts))
    return built.scores_counting_calls(query, list(texts), timer.counter("rerank")).tolist(), timer


def kept_order(count: int) -> list[float]:
    """The scores of documents that keep their order."""
    return [float(at) for at in range(count, 0, -1)]


def test_the_scorers_of_all_apis_can_be_estimated_and_count_their_calls(api: str) -> None:
    with serving(api) as server, session_of() as session:
        value = scorer(server, api)
        assert isinstance(value.build(context_with(session)), LLMQueryScorer)
        assert isinstance(value, EstimatesScorerCost)
        assert server.requests == []


def test_a_request_goes_over_the_wire_as_the_api_documents_it(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_KEY", "key-of-the-user-1")
    with serving(api) as server, session_of() as session:
        asked(scorer(server, api, api_key_env="RERANK_KEY"), session)
        (request,) = server.requests
    named = {} if api == "tei" else {"model": MODEL}
    assert request.path == APIS[api].path
    assert request.body == {**named, "query": QUERY.text, APIS[api].documents: list(TEXTS.values()), **EXTRA[api]}
    assert request.headers["Authorization"] == "Bearer key-of-the-user-1"
    assert request.headers["Content-Type"] == "application/json"


def test_the_scores_are_those_of_the_server_in_the_order_of_the_documents(api: str) -> None:
    with serving(api) as server, session_of() as session:
        scores, timer = asked(scorer(server, api), session)
    assert scores == cosines(QUERY.text, list(TEXTS.values()))
    assert timer.counts["calls"] == timer.counts["score_requests"] == 1
    assert timer.milliseconds["rerank"] > 0


def test_a_server_with_an_encoder_ranks_as_the_bi_encoder_does_here(api: str) -> None:
    with serving(api) as server, session_of() as session:
        context = context_with(session)
        by_api = ranking_of(Rerank(BM25(), scorer(server, api, batch_size=5)), context, QUERY.text)
        here = ranking_of(Rerank(BM25(), BiEncoderScorer(HashedWords())), context, QUERY.text)
    assert by_api[0] == here[0]
    assert by_api[1] == pytest.approx(here[1], abs=1e-6)
    assert len(by_api[0]) == len(TEXTS)


def test_a_server_with_a_real_encoder_ranks_the_sample_as_the_encoder_does_here() -> None:
    encoder = WordLlama().load()

    def similarity(query: str, texts: Sequence[str]) -> list[float]:
        vectors = encoder.encode([query, *texts])
        return [float(vectors[0] @ vector) for vector in vectors[1:]]

    with sample_folder() as folder:
        dataset = rp.read_dataset(folder)
    with ChatServer(lambda request: well("tei", request, score=similarity)) as server, session_of() as session:
        corpus = dataset.corpus
        context = BuildContext(corpus, corpus.fingerprint(), PlainBlockCache(), session=session)
        for query in list(dataset.queries.values())[:5]:
            by_api = ranking_of(Rerank(BM25(), scorer(server, "tei"), top=40), context, query.text)
            here = ranking_of(Rerank(BM25(), BiEncoderScorer(WordLlama()), top=40), context, query.text)
            assert by_api[1][:40] == pytest.approx(here[1][:40], abs=1e-5)
            assert set(by_api[0][:40]) == set(here[0][:40])
        assert max(len(texts) for texts in documents_sent(server, "tei")) == 32


@pytest.mark.parametrize("name", ["tei", "infinity"])
def test_raw_scores_are_asked_for(name: str) -> None:
    with serving(name) as server, session_of() as session:
        scores, _ = asked(scorer(server, name, raw_scores=True), session)
        assert server.requests[0].body["raw_scores"] is True
    expected = cosines(QUERY.text, list(TEXTS.values()))
    assert scores == pytest.approx([10 * score for score in expected] if name == "tei" else expected)


SENT_SETTINGS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("cohere", {"max_tokens_per_doc": 512}, {"max_tokens_per_doc": 512}),
    ("voyage", {"truncation": False}, {"truncation": False}),
    ("tei", {"truncate": False}, {"truncate": False}),
    ("vllm", {"truncate_prompt_tokens": -1}, {"truncate_prompt_tokens": -1}),
]


@pytest.mark.parametrize(("name", "settings", "expected"), SENT_SETTINGS)
def test_how_long_texts_are_cut_is_part_of_the_request(name: str, settings: dict[str, Any], expected: dict[str, Any]) -> None:
    with serving(name) as server, session_of() as session:
        asked(scorer(server, name, **settings), session)
        assert expected.items() <= server.requests[0].body.items()


def test_a_document_without_text_is_not_sent_and_ranks_last(api: str) -> None:
    texts = {"d1": "", "d2": "apple pie", "d3": "  ", "d4": "salt"}
    with serving(api) as server, session_of() as session:
        scores, _ = asked(scorer(server, api), session, texts)
        assert documents_sent(server, api) == [["apple pie", "salt"]]
    assert scores[0] == scores[2] == min(scores[1], scores[3]) - 1


def test_a_query_or_documents_without_text_are_not_sent(api: str) -> None:
    with serving(api) as server, session_of() as session:
        for query, texts in ((Query("q", " \n"), TEXTS), (QUERY, {"d1": "", "d2": " "})):
            scores, timer = asked(scorer(server, api), session, texts, query)
            assert len(set(scores)) == 1
            assert timer.counts["calls"] == 0
        assert server.requests == []


def test_more_documents_than_a_batch_go_in_several_requests(api: str) -> None:
    with serving(api) as server, session_of() as session:
        scores, timer = asked(scorer(server, api, batch_size=5), session)
        assert [len(texts) for texts in documents_sent(server, api)] == [5, 5, 2]
    assert scores == cosines(QUERY.text, list(TEXTS.values()))
    assert timer.counts["score_requests"] == 3


@pytest.mark.parametrize("text", STRINGS)
def test_hostile_text_reaches_the_server_as_it_is(text: str) -> None:
    given = passage_text(Document("d", f"pie {text}"), ("text",))
    with serving("cohere") as server, session_of() as session:
        scores, _ = asked(scorer(server, "cohere"), session, {"d1": given, "d2": "salt"}, Query("q", f"apple {text}"))
        assert documents_sent(server, "cohere") == [[given, "salt"]]
        assert server.requests[0].body["query"] == f"apple {text}"
    assert len(scores) == 2


def test_the_default_batch_is_within_the_limit_of_the_api(api: str) -> None:
    with serving(api) as server:
        assert scorer(server, api).batch_size <= APIS[api].limit


def test_a_server_with_smaller_batches_gets_smaller_ones_and_a_note_says_so() -> None:
    with ChatServer(lambda request: well("tei", request, limit=4)) as server, session_of() as session:
        value = scorer(server, "tei")
        context, timer = context_with(session), QueryTimer()
        built = value.build(context)
        docs = list(TEXTS)
        first = built.scores_counting_calls(QUERY, docs, timer.counter("rerank")).tolist()
        assert [len(texts) for texts in documents_sent(server, "tei")] == [12, 6, 3, 3, 6, 3, 3]
        built.scores_counting_calls(Query("q2", "salt"), docs, timer.counter("rerank"))
        assert [len(texts) for texts in documents_sent(server, "tei")[7:]] == [3, 3, 3, 3]
    assert first == cosines(QUERY.text, list(TEXTS.values()))
    assert (timer.counts["calls"], timer.counts["score_requests"], timer.counts["failed"]) == (11, 8, 0)
    assert (
        "the server rejected requests of more documents, so they were split: set batch_size = 3 to send fewer requests"
        in built.notes()
    )


def test_a_text_that_is_too_long_for_the_server_fails_alone_and_keeps_its_rank() -> None:
    def strict(request: Request) -> Sent:
        is_long = any("crust" in text for text in request.body["texts"])
        return (
            Sent(413, b'{"error": "must have less than 512 tokens", "error_type": "Validation"}')
            if is_long
            else well("tei", request)
        )

    long = next(at for at, text in enumerate(TEXTS.values()) if "crust" in text)
    assert sum("crust" in text for text in TEXTS.values()) <= 2
    with ChatServer(strict) as server, session_of() as session:
        value = scorer(server, "tei", truncate=False)
        scores, timer = asked(value, session)
        notes = call_count_notes({name: np.array([timer.counts[name]]) for name in COUNT_NAMES})
        assert value.build(context_with(session)).notes() == ["TEI reports no tokens: they are estimated at four bytes per token"]
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    assert order.index(long) == long
    assert timer.counts["failed"] == timer.counts["refused"] >= 1
    failed, of = timer.counts["failed"], timer.counts["score_requests"]
    assert notes[0].startswith(f"{failed} of {of} requests for scores failed: their documents kept their rank")


def test_a_server_that_refuses_every_document_is_not_asked_for_all_of_them() -> None:
    with ChatServer(lambda request: Sent(422, b'{"error": "unknown field"}')) as server, session_of() as session:
        value = scorer(server, "infinity")
        built, docs = value.build(context_with(session)), list(TEXTS)
        for at in range(5):
            scores = built.scores(Query(f"q{at}", f"apple {at}"), docs)
            assert scores.tolist() == kept_order(12)
        assert len(server.requests) <= 2 * MAX_CONSECUTIVE_FAILURES + 2 * 12 + 4
        assert session.notes()[0].startswith("rerank: the server rejected every request")


def test_a_request_to_voyage_has_no_more_tokens_than_the_api_takes() -> None:
    texts = {f"d{at}": f"{at} " + "x" * 300_000 for at in range(8)}
    with serving("voyage") as server, session_of() as session:
        asked(scorer(server, "voyage"), session, texts)
        sizes = [sum(map(len, sent)) for sent in documents_sent(server, "voyage")]
    assert len(sizes) == 2
    assert max(sizes) / 3 < VoyageRerank("rerank-2.5").max_request_tokens() == 2 * VoyageRerank("rerank-1").max_request_tokens()


@pytest.mark.parametrize("model", sorted(LISTWISE_MODELS))
def test_a_listwise_model_is_known_by_its_exact_name(model: str) -> None:
    assert JinaRerank(model).is_listwise
    assert not JinaRerank(f"{model}-mine").is_listwise
    assert not JinaRerank(f"my-{model}").is_listwise
    assert not JinaRerank(model, listwise=False).is_listwise
    assert VLLMRerank("my-model", listwise=True).is_listwise


def test_a_listwise_model_is_marked_in_facts_and_notes() -> None:
    with serving("jina") as server, session_of() as session:
        built = scorer(server, "jina", model="jina-reranker-v3", max_tokens=9999).build(context_with(session))
        built.scores(QUERY, list(TEXTS))
        assert built.facts()["is_listwise"] is True
        assert built.notes() == [
            "jina-reranker-v3 is listwise: a score depends on the other documents of its request, so it changes with the number "
            "of documents that are reranked"
        ]
        plain = scorer(server, "jina", max_tokens=9999).build(context_with(session))
        assert plain.facts()["is_listwise"] is False
        assert plain.notes() == []


def test_the_documents_of_a_listwise_model_are_never_sent_in_several_requests() -> None:
    value = JinaRerank("jina-reranker-v3", batch_size=20)
    with pytest.raises(UsageError, match="top is 21, but jina-reranker-v3 is listwise and one request has at most 20 documents"):
        Rerank(BM25(), value, top=21)
    assert Rerank(BM25(depth=20), value, top=50).depth == 20
    assert Rerank(BM25(), JinaRerank("jina-reranker-v2-base-multilingual", batch_size=20), top=50).top == 50


def test_a_listwise_request_that_is_too_large_fails_instead_of_being_split() -> None:
    with ChatServer(lambda request: well("jina", request, limit=4)) as server, session_of() as session:
        scores, timer = asked(scorer(server, "jina", listwise=True), session)
        assert [len(texts) for texts in documents_sent(server, "jina")] == [12]
    assert scores == kept_order(12)
    assert timer.counts["failed"] == timer.counts["refused"] == 1


def test_tokens_and_money_are_those_that_the_server_reports(api: str) -> None:
    price = {"price_search": 2.0} if api == "cohere" else {"price_in": 3.0}
    with serving(api) as server, session_of() as session:
        _, timer = asked(scorer(server, api, batch_size=5, **price), session)
        spent = session.meter.spent
        parts = documents_sent(server, api)
    reported = sum(tokens_of(QUERY.text, texts) for texts in parts)
    if api == "cohere":
        assert spent.money == pytest.approx(3 * 2.0 / 1000)
        assert timer.counts["search_units"] == 3
    elif api != "tei":
        assert (spent.tokens_in, timer.counts["tokens_in"]) == (reported, reported)
        assert spent.money == pytest.approx(reported * 3.0 / 1e6)
    assert (spent.calls, spent.tokens_out, spent.unsure) == (3, 0, 0)
    assert timer.counts["estimated"] == 0
    assert timer.counts["tokens_in"] == spent.tokens_in > 0


def test_notes_say_what_the_api_does_not_report(api: str) -> None:
    with serving(api) as server, session_of() as session:
        context = context_with(session)
        notes = scorer(server, api).build(context).notes()
        known = scorer(server, api, max_tokens=512).build(context).notes()
    name = {"tei": "TEI", "mixedbread": "mixedbread"}.get(api, api.capitalize())
    uncounted = f"{name} reports no tokens: they are estimated at four bytes per token"
    uncut = f"{name} may cut long documents without saying so, and max_tokens is not set: whether documents were cut is unknown"
    assert known == ([uncounted] if api in ("cohere", "tei") else [])
    assert notes == [*known, *([uncut] if api not in ("cohere", "vllm") else [])]


def test_cohere_is_paid_by_searches_alone() -> None:
    with pytest.raises(TypeError, match="price_in"):
        CohereRerank("rerank-v3.5", price_in=2.0)  # type: ignore[call-arg]
    with (
        session_of(budget=Budget(money=1.0)) as session,
        pytest.raises(UsageError, match="has no price; set price_search, or limit"),
    ):
        CohereRerank("rerank-v3.5").build(context_with(session))


LONG = {"d1": "apple " * 4000, "d2": "apple pie", "d3": "pie " * 3500}
READ: list[tuple[str, dict[str, Any], int]] = [
    ("cohere", {}, 1),
    ("cohere", {"max_tokens_per_doc": 100}, 2),
    ("voyage", {"model": "rerank-2.5"}, 0),
    ("vllm", {"truncate_prompt_tokens": 512}, 2),
    ("vllm", {}, 0),
    ("jina", {}, 0),
    ("jina", {"max_tokens": 512}, 2),
    ("tei", {"max_tokens": 512}, 2),
    ("tei", {"max_tokens": 512, "truncate": False}, 0),
]


@pytest.mark.parametrize(("name", "settings", "count"), READ)
def test_documents_that_are_probably_cut_are_counted_as_an_estimate(name: str, settings: dict[str, Any], count: int) -> None:
    with serving(name) as server, session_of() as session:
        _, timer = asked(scorer(server, name, **settings), session, LONG)
    notes = call_count_notes({each: np.array([timer.counts[each]]) for each in COUNT_NAMES})
    assert timer.counts["long_documents"] == count
    assert any("an estimated" in note and "it cuts them" in note for note in notes) == bool(count)


def test_voyage_cuts_by_the_limit_of_the_model_unless_truncation_is_off() -> None:
    assert VoyageRerank("rerank-2-lite").read_tokens() == 8000
    assert not VoyageRerank("rerank-2-lite", truncation=False).may_cut
    assert VoyageRerank("rerank-2-lite-mine").read_tokens() == 0


def _faulty(api: str, fault: RerankFault) -> Callable[[Request], Sent]:
    return lambda request: fault.answer(api, request)


@pytest.mark.parametrize(("name", "api"), crossed(dict.fromkeys(FAULTS, tuple(APIS))))
def test_a_fault_of_the_server_never_adds_loses_or_invents_a_score(name: str, api: str) -> None:
    assert list(attack_reranker(FAULTS[name], api).silent_failures()) == []


def test_an_attack_that_nothing_reports_is_found() -> None:
    def quiet(api: str, request: Request) -> Sent:
        return well(api, request, score=lambda query, texts: [0.5] * len(texts))

    made = attack_reranker(RerankFault(quiet, "accepted"), "jina")
    assert list(made.silent_failures()) == ["a score is not the one that the server gave, or a document lost its rank"]


def test_the_pause_that_a_server_demands_is_kept() -> None:
    pauses: list[float] = []
    policy = RetryPolicy(sleep=pauses.append)
    fault = FAULTS["429 then well"]
    with ChatServer(_faulty("jina", fault)) as server, LLMSession(retry_policy=policy) as session:
        asked(scorer(server, "jina"), session)
    assert pauses == [1.0]


def test_a_failed_request_leaves_the_other_batches_of_the_query_in_order() -> None:
    broken = list(TEXTS.values())[4]

    def answer(request: Request) -> Sent:
        return Sent(500) if broken in request.body["documents"] else well("jina", request)

    with ChatServer(answer) as server, session_of() as session:
        scores, timer = asked(scorer(server, "jina", batch_size=4), session)
    order = sorted(range(12), key=lambda at: -scores[at])
    own = cosines(QUERY.text, list(TEXTS.values()))
    assert [at for at in order if at in range(4, 8)] == [4, 5, 6, 7]
    assert [order[at] for at in range(4, 8)] == [4, 5, 6, 7]
    rest = [at for at in order if at not in range(4, 8)]
    assert rest == sorted(rest, key=lambda at: -own[at])
    assert timer.counts["failed"] == 1


def test_a_note_has_the_reason_of_the_last_failed_request() -> None:
    with ChatServer(lambda request: Sent(400, b'{"message": "no such model"}')) as server, session_of() as session:
        built = scorer(server, "jina").build(context_with(session))
        assert not any("failed request" in note for note in built.notes())
        built.scores(QUERY, list(TEXTS))
        (note,) = [note for note in built.notes() if note.startswith("the last failed request: ")]
    assert "(status 400): no such model; likely causes" in note


def test_a_server_that_is_down_ends_the_run() -> None:
    with ChatServer(lambda request: Sent(503)) as server, session_of() as session:
        built = scorer(server, "jina").build(context_with(session))
        for at in range(MAX_CONSECUTIVE_FAILURES - 1):
            built.scores(Query("q", f"apple {at}"), list(TEXTS))
        with pytest.raises(ExternalError, match=f"{MAX_CONSECUTIVE_FAILURES} requests in a row failed"):
            built.scores(QUERY, list(TEXTS))


def test_a_second_run_sends_nothing_and_keeps_the_recorded_latency(api: str, tmp_path: Path) -> None:
    with serving(api) as server:
        runs = []
        for _ in range(2):
            with session_of(tmp_path) as session:
                scores, timer = asked(scorer(server, api, batch_size=5), session)
                runs.append((scores, timer.counts, timer.milliseconds, session.meter.spent))
        assert len(server.requests) == 3
    assert runs[0][:3] == runs[1][:3]
    assert runs[1][3] == Usage(journaled=3)


def test_settings_that_do_not_change_a_reply_use_the_same_recorded_replies(tmp_path: Path) -> None:
    with serving("jina") as server:
        for more in (
            {},
            {"batch_size": 12},
            {"listwise": True},
            {"max_tokens": 9},
            {"fields": ("text",)},
            {"price_in": 2.0},
            {"timeout": 5.0},
        ):
            with session_of(tmp_path) as session:
                asked(scorer(server, "jina", **more), session)
        assert len(server.requests) == 1
        with session_of(tmp_path) as session:
            asked(scorer(server, "jina", model="another"), session)
        assert len(server.requests) == 2


def test_the_budget_stops_before_it_is_exceeded_and_a_later_run_continues(api: str, tmp_path: Path) -> None:
    with serving(api) as server:
        with session_of(tmp_path, budget=Budget(calls=2)) as session, pytest.raises(BudgetError, match="budget of 2 calls"):
            asked(scorer(server, api, batch_size=5), session)
        assert len(server.requests) == 2
        with session_of(tmp_path, budget=Budget(calls=1)) as session:
            scores, _ = asked(scorer(server, api, batch_size=5), session)
            assert session.meter.spent.calls == 1
        assert len(server.requests) == 3
    assert scores == cosines(QUERY.text, list(TEXTS.values()))


@pytest.mark.parametrize(("name", "price"), [("cohere", {"price_search": 1000.0}), ("jina", {"price_in": 1e6})])
def test_a_budget_of_money_is_never_exceeded(name: str, price: dict[str, float]) -> None:
    with serving(name) as server, session_of(budget=Budget(money=1.5 if name == "cohere" else 1200.0)) as session:
        built = scorer(server, name, **price).build(context_with(session))

        def score_all() -> None:
            for at in range(20):
                built.scores(Query("q", f"apple {at}"), list(TEXTS))

        with pytest.raises(BudgetError, match="money"):
            score_all()
        assert 0 < session.meter.spent.money <= (1.5 if name == "cohere" else 1200.0)
        assert len(server.requests) == session.meter.spent.calls


def test_an_estimate_has_the_requests_of_the_run_and_about_its_tokens(api: str) -> None:
    queries = [Query(f"q{at}", f"apple {word}") for at, word in enumerate(WORDS[:4])]
    with serving(api) as server, session_of() as session:
        value, context = scorer(server, api, batch_size=5), context_with(session)
        said = value.estimate_top(queries, context, 11)
        built = value.build(context)
        for query in queries:
            built.scores(query, list(TEXTS)[:11])
        spent = session.meter.spent
        assert said.calls == spent.calls == len(server.requests) == 12
    assert spent.tokens_in / 3 < said.tokens_in < 3 * spent.tokens_in
    assert said.units == (12 if api == "cohere" else said.units)


def test_facts_name_the_api_its_address_the_model_and_the_name_that_the_server_reports(api: str) -> None:
    with serving(api) as server, session_of() as session:
        built = scorer(server, api).build(context_with(session))
        built.scores(QUERY, list(TEXTS))
        facts = built.facts()
        assert facts["address"] == base_url(server, api)
    assert facts["model"] == MODEL
    assert facts["kind"] == "rerank API"
    assert facts["api"].lower() == api
    assert facts["reported_models"] == ([] if api in ("cohere", "tei") else [MODEL])


@pytest.fixture
def slow_server() -> Iterator[tuple[ChatServer, Callable[[], int]]]:
    """A server of Jina's API that counts how many requests it has at once."""
    lock, now, most = threading.Lock(), 0, 0

    def answer(request: Request) -> Sent:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        server.stopped.wait(0.02)
        with lock:
            now -= 1
        return well("jina", request)

    with ChatServer(answer) as server:
        yield server, lambda: most


def test_queries_of_two_apis_at_once_get_their_own_scores(slow_server: tuple[ChatServer, Callable[[], int]]) -> None:
    server, most = slow_server
    queries = [Query(f"q{at}", f"{word} pie") for at, word in enumerate(WORDS)]
    with serving("tei") as other, session_of() as session:
        context = context_with(session)
        built = [scorer(server, "jina", concurrency=3).build(context), scorer(other, "tei").build(context)]
        with ThreadPoolExecutor(8) as pool:
            tasks = [(each, query) for query in queries for each in built]
            found = list(pool.map(lambda task: task[0].scores(task[1], list(TEXTS)).tolist(), tasks))
        assert [each.concurrency for each in built] == [3, 4]
        assert session.meter.spent.calls == 24
    assert 1 < most() <= 3
    for (_, query), scores in zip(tasks, found, strict=True):
        assert scores == cosines(query.text, list(TEXTS.values()))


def test_the_same_request_of_two_threads_is_sent_once(slow_server: tuple[ChatServer, Callable[[], int]]) -> None:
    server, _ = slow_server
    with session_of() as session:
        built = scorer(server, "jina").build(context_with(session))
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: built.scores(QUERY, list(TEXTS)).tolist(), range(4)))
        assert len(server.requests) == 1
    assert found == [found[0]] * 4


BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"model": " "}, "model is empty"),
    ({"batch_size": 0}, "batch_size is 0"),
    ({"base_url": "http://user:pw@host"}, "base_url is not a plain http or https address"),
    ({"base_url": "http://other.host/v1", "api_key_env": "K"}, "plain http address on another machine"),
    ({"listwise": "yes"}, "listwise is"),
    ({"concurrency": 0}, "concurrency is 0"),
]


@pytest.mark.parametrize(("settings", "why"), BAD_SETTINGS)
def test_a_setting_that_is_wrong_is_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        TEIRerank(**{"model": "m", **settings})


def test_an_api_needs_its_key_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    with session_of() as session, pytest.raises(UsageError, match="COHERE_API_KEY"):
        asked(CohereRerank("rerank-v3.5"), session)
