"""Faults of rerank servers by name: the response of each, and what rankproof must do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from support.chat_server import NEVER, Request, Sent
from support.rerank_server import APIS, well

Ending = Literal["failed", "refused", "unusable", "healed", "accepted"]
"""What must happen: the request fails after retries; the server refuses it; an error at once that ends the run; a retry gets a
good reply; or the reply is accepted."""
QUICK = 0.1
"""Seconds that a client waits for a server that never answers."""


@dataclass(frozen=True)
class RerankFault:
    """`answer` gets the name of the API and the request; `noted` is the count that must not be 0."""

    answer: Callable[[str, Request], Sent]
    ending: Ending
    timeout: float = 20.0
    noted: str = ""


def _always(sent: Sent) -> Callable[[str, Request], Sent]:
    return lambda api, request: sent


def _then_well(sent: Sent) -> Callable[[str, Request], Sent]:
    return lambda api, request: sent if request.number == 1 else well(api, request)


def _body(api: str, request: Request) -> Any:
    return json.loads(well(api, request).body)


def results_of(api: str, body: Any) -> list[dict[str, Any]]:
    """The results of a reply of that API."""
    found: list[dict[str, Any]] = body if api == "tei" else body["data" if api in ("voyage", "mixedbread") else "results"]
    return found


def score_key(api: str) -> str:
    return "score" if api in ("tei", "mixedbread") else "relevance_score"


def _changed(change: Callable[[str, list[dict[str, Any]]], object]) -> Callable[[str, Request], Sent]:
    """A good reply after a change of its results."""

    def answer(api: str, request: Request) -> Sent:
        body = _body(api, request)
        change(api, results_of(api, body))
        return Sent(body=json.dumps(body).encode())

    return answer


def _with(key: str, value: Any) -> Callable[[str, Request], Sent]:
    """A good reply whose last result has that value for its index or score."""

    def change(api: str, results: list[dict[str, Any]]) -> None:
        results[-1][score_key(api) if key == "score" else key] = value

    return _changed(change)


def _without(key: str) -> Callable[[str, Request], Sent]:
    return _changed(lambda api, results: results[-1].pop(score_key(api) if key == "score" else key))


def _usage(value: Any) -> Callable[[str, Request], Sent]:
    """A good reply with other numbers of tokens and search units."""

    def answer(api: str, request: Request) -> Sent:
        body = _body(api, request)
        if isinstance(body, dict):
            body |= {"usage": {"total_tokens": value}, "meta": {"billed_units": {"search_units": value}}}
        return Sent(body=json.dumps(body).encode())

    return answer


def _cut(api: str, request: Request) -> Sent:
    return Sent(body=well(api, request).body[:-10])


def _echo_key(status: int) -> Callable[[str, Request], Sent]:
    def answer(api: str, request: Request) -> Sent:
        why = f"wrong key {request.headers.get('Authorization')}"
        return Sent(status, json.dumps({"message": why, "error": why}).encode())

    return answer


def _echo_key_in_model(api: str, request: Request) -> Sent:
    body = _body(api, request)
    if isinstance(body, dict):
        body["model"] = request.headers.get("Authorization")
    return Sent(body=json.dumps(body).encode())


def _echo_documents(api: str, request: Request) -> Sent:
    body, texts = _body(api, request), request.body[APIS[api].documents]
    for result in results_of(api, body):
        result |= {"document": {"text": texts[result["index"]]}, "text": texts[result["index"]], "input": texts[result["index"]]}
    return Sent(body=json.dumps(body).encode())


_TOO_MANY = Sent(429, b'{"message": "rate"}', {"Retry-After": "1"})
FAULTS: dict[str, RerankFault] = {
    "500": RerankFault(_always(Sent(500, b"oops")), "failed"),
    "never answers": RerankFault(_always(NEVER), "failed", QUICK),
    "429": RerankFault(_always(_TOO_MANY), "failed"),
    "429 then well": RerankFault(_then_well(_TOO_MANY), "healed"),
    "503 then well": RerankFault(_then_well(Sent(503)), "healed"),
    "424 of the model": RerankFault(_always(Sent(424, b'{"error": "inference failed", "error_type": "Backend"}')), "refused"),
    "413": RerankFault(_always(Sent(413, b'{"error": "too long", "error_type": "Validation"}')), "refused"),
    "422": RerankFault(_always(Sent(422, b'{"error": "tokenization", "error_type": "Tokenizer"}')), "refused"),
    "400 with the key": RerankFault(_echo_key(400), "refused"),
    "401 with the key": RerankFault(_echo_key(401), "unusable"),
    "404": RerankFault(_always(Sent(404)), "unusable"),
    "redirect": RerankFault(_always(Sent(302, b"", {"Location": "/elsewhere"})), "unusable"),
    "200 as HTML": RerankFault(_always(Sent(body=b"<html>")), "failed"),
    "empty body": RerankFault(_always(Sent()), "failed"),
    "null": RerankFault(_always(Sent(body=b"null")), "failed"),
    "cut JSON": RerankFault(_cut, "failed"),
    "an error with status 200": RerankFault(_always(Sent(body=b'{"error": {"message": "overloaded"}}')), "failed"),
    "index twice": RerankFault(_changed(lambda api, results: results[-1].update(index=results[0]["index"])), "failed"),
    "index missing": RerankFault(_without("index"), "failed"),
    "index out of range": RerankFault(_with("index", 99), "failed"),
    "index negative": RerankFault(_with("index", -1), "failed"),
    "index as text": RerankFault(_with("index", "0"), "failed"),
    "score NaN": RerankFault(_with("score", float("nan")), "failed"),
    "score infinite": RerankFault(_with("score", float("inf")), "failed"),
    "score null": RerankFault(_with("score", None), "failed"),
    "score as text": RerankFault(_with("score", "0.5"), "failed"),
    "score missing": RerankFault(_without("score"), "failed"),
    "one result too few": RerankFault(_changed(lambda api, results: results.pop()), "failed"),
    "one result more": RerankFault(_changed(lambda api, results: results.append(dict(results[0]))), "failed"),
    "no results": RerankFault(_changed(lambda api, results: results.clear()), "failed"),
    "results in another order": RerankFault(_changed(lambda api, results: results.reverse()), "accepted"),
    "documents echoed": RerankFault(_echo_documents, "accepted"),
    "key in the model's name": RerankFault(_echo_key_in_model, "accepted", noted="masked"),
    "usage null": RerankFault(_usage(None), "accepted", noted="estimated"),
    "usage zero": RerankFault(_usage(0), "accepted", noted="estimated"),
    "usage negative": RerankFault(_usage(-5), "accepted", noted="estimated"),
    "usage a billion": RerankFault(_usage(10**9), "accepted", noted="estimated"),
    "usage text": RerankFault(_usage("500"), "accepted", noted="estimated"),
}
