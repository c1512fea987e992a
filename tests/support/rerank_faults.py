"""Faults of rerank servers by name: the response of each, and what rankproof must do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from support.rerank_server import APIS, well
from support.scripted_server import NEVER, QUICK, Fault, Request, Sent

_Answer = Callable[[str, Request], Sent]
"""Of the name of the API and the request."""
RerankFault = Fault[_Answer]


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
    "500": Fault(_always(Sent(500, b"oops")), "failed"),
    "never answers": Fault(_always(NEVER), "failed", QUICK),
    "429": Fault(_always(_TOO_MANY), "failed"),
    "429 then well": Fault(_then_well(_TOO_MANY), "healed"),
    "503 then well": Fault(_then_well(Sent(503)), "healed"),
    "424 of the model": Fault(_always(Sent(424, b'{"error": "inference failed", "error_type": "Backend"}')), "refused"),
    "413": Fault(_always(Sent(413, b'{"error": "too long", "error_type": "Validation"}')), "refused"),
    "422": Fault(_always(Sent(422, b'{"error": "tokenization", "error_type": "Tokenizer"}')), "refused"),
    "400 with the key": Fault(_echo_key(400), "refused"),
    "401 with the key": Fault(_echo_key(401), "unusable"),
    "404": Fault(_always(Sent(404)), "unusable"),
    "redirect": Fault(_always(Sent(302, b"", {"Location": "/elsewhere"})), "unusable"),
    "200 as HTML": Fault(_always(Sent(body=b"<html>")), "failed"),
    "empty body": Fault(_always(Sent()), "failed"),
    "null": Fault(_always(Sent(body=b"null")), "failed"),
    "cut JSON": Fault(_cut, "failed"),
    "an error with status 200": Fault(_always(Sent(body=b'{"error": {"message": "overloaded"}}')), "failed"),
    "index twice": Fault(_changed(lambda api, results: results[-1].update(index=results[0]["index"])), "failed"),
    "index missing": Fault(_without("index"), "failed"),
    "index out of range": Fault(_with("index", 99), "failed"),
    "index negative": Fault(_with("index", -1), "failed"),
    "index as text": Fault(_with("index", "0"), "failed"),
    "score NaN": Fault(_with("score", float("nan")), "failed"),
    "score infinite": Fault(_with("score", float("inf")), "failed"),
    "score null": Fault(_with("score", None), "failed"),
    "score as text": Fault(_with("score", "0.5"), "failed"),
    "score missing": Fault(_without("score"), "failed"),
    "one result too few": Fault(_changed(lambda api, results: results.pop()), "failed"),
    "one result more": Fault(_changed(lambda api, results: results.append(dict(results[0]))), "failed"),
    "no results": Fault(_changed(lambda api, results: results.clear()), "failed"),
    "results in another order": Fault(_changed(lambda api, results: results.reverse()), "accepted"),
    "documents echoed": Fault(_echo_documents, "accepted"),
    "key in the model's name": Fault(_echo_key_in_model, "accepted", noted="masked"),
    "usage null": Fault(_usage(None), "accepted", noted="estimated"),
    "usage zero": Fault(_usage(0), "accepted", noted="estimated"),
    "usage negative": Fault(_usage(-5), "accepted", noted="estimated"),
    "usage a billion": Fault(_usage(10**9), "accepted", noted="estimated"),
    "usage text": Fault(_usage("500"), "accepted", noted="estimated"),
}
