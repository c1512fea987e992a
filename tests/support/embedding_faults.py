"""Faults of embedding servers by name: the response of each, and what rankproof must do."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from support.chat_faults import FAULTS_BY_KIND
from support.key_spellings import KEY
from support.scripted_server import Fault, Request, Sent

FaultyAnswer = Callable[[str, Request, Any], Any]
WITH_INDEX = ("openai-embeddings", "voyage")
WITH_TOKENS = ("openai-embeddings", "voyage", "ollama")


EmbeddingFault = Fault[FaultyAnswer]


def rows_of(api: str, body: Any) -> list[Any]:
    """The list of vectors, or of objects with vectors, of a good reply."""
    found: list[Any] = {
        "tei": lambda: body,
        "ollama": lambda: body["embeddings"],
        "cohere": lambda: body["embeddings"]["float"],
        "gemini": lambda: body["embeddings"],
    }.get(api, lambda: body["data"])()
    return found


def _rows(change: Callable[[list[Any]], object]) -> FaultyAnswer:
    """The good reply after a change of its list of vectors."""

    def answer(api: str, request: Request, good: Any) -> Any:
        body = json.loads(json.dumps(good))
        change(rows_of(api, body))
        return body

    return answer


def _first_vector(made: Callable[[list[float]], Any]) -> FaultyAnswer:
    """The good reply with another first vector."""

    def answer(api: str, request: Request, good: Any) -> Any:
        body = json.loads(json.dumps(good))
        rows, name = rows_of(api, body), "values" if api == "gemini" else "embedding"
        if isinstance(rows[0], dict):
            rows[0][name] = made(rows[0][name])
        else:
            rows[0] = made(rows[0])
        return body

    return answer


def _body(change: Callable[[str, Any], Any]) -> FaultyAnswer:
    return lambda api, request, good: change(api, json.loads(json.dumps(good)))


def _once(sent: Sent) -> FaultyAnswer:
    return lambda api, request, good: sent if request.number == 1 else good


def _tokens(value: Any) -> FaultyAnswer:
    """The good reply with this number of tokens, and no other."""
    return _body(
        lambda api, body: {**body, **({"prompt_eval_count": value} if api == "ollama" else {"usage": _usage(api, value)})}
    )


def _usage(api: str, value: Any) -> dict[str, Any]:
    return {"prompt_tokens" if api == "openai-embeddings" else "total_tokens": value}


def _from_chat(kind: str) -> dict[str, EmbeddingFault]:
    """The faults of connections and statuses, which do not depend on what a server is asked for."""
    return {
        name: Fault(lambda api, request, good, fault=fault: fault.answer(request, ""), fault.ending, fault.timeout)  # type: ignore[misc]
        for name, fault in FAULTS_BY_KIND[kind].items()
        if fault.ending in ("failed", "unusable")
    }


_REPLIES: Mapping[str, EmbeddingFault] = {
    "no JSON": Fault(lambda api, request, good: Sent(body=b"<html>"), "failed"),
    "cut JSON": Fault(lambda api, request, good: Sent(body=json.dumps(good).encode()[:-9]), "failed"),
    "null": Fault(_body(lambda api, body: None), "failed"),
    "an empty object": Fault(_body(lambda api, body: {}), "failed"),
    "no vectors": Fault(_rows(list.clear), "failed"),
    "too few vectors": Fault(_rows(list.pop), "failed"),
    "too many vectors": Fault(_rows(lambda rows: rows.append(rows[0])), "failed"),
    "a vector is too short": Fault(_first_vector(lambda row: row[:-1]), "failed"),
    "a vector is empty": Fault(_first_vector(lambda row: []), "failed"),
    "a vector is null": Fault(_first_vector(lambda row: None), "failed"),
    "a vector is an object": Fault(_first_vector(lambda row: dict(enumerate(row))), "failed"),
    "a vector in a list": Fault(_first_vector(lambda row: [row]), "failed"),
    "a vector of zeros": Fault(_first_vector(lambda row: [0.0] * len(row)), "failed"),
    "a number is NaN": Fault(_first_vector(lambda row: [math.nan, *row[1:]]), "failed"),
    "a number is infinite": Fault(_first_vector(lambda row: [math.inf, *row[1:]]), "failed"),
    "a number is text": Fault(_first_vector(lambda row: ["NaN", *row[1:]]), "failed"),
    "a number is true": Fault(_first_vector(lambda row: [True, *row[1:]]), "failed"),
    "a number is huge": Fault(_first_vector(lambda row: [10**400, *row[1:]]), "failed"),
    "a vector is text": Fault(_first_vector(lambda row: "%%"), "failed"),
    "an index twice": Fault(_rows(lambda rows: rows[0].update(index=1)), "failed", apis=WITH_INDEX),
    "no index": Fault(_rows(lambda rows: rows[0].pop("index")), "failed", apis=WITH_INDEX),
    "an index out of range": Fault(_rows(lambda rows: rows[0].update(index=99)), "failed", apis=WITH_INDEX),
    "permuted": Fault(_rows(list.reverse), "accepted", apis=WITH_INDEX),
    "429 once": Fault(_once(Sent(429, headers={"Retry-After": "1"})), "healed"),
    "500 once": Fault(_once(Sent(500)), "healed"),
    "no tokens": Fault(_tokens(0), "accepted", noted="estimated", apis=WITH_TOKENS),
    "too many tokens": Fault(_tokens(10**9), "accepted", noted="estimated", apis=WITH_TOKENS),
    "tokens are text": Fault(_tokens("12"), "accepted", noted="estimated", apis=WITH_TOKENS),
    "the key in a reply": Fault(
        _body(lambda api, body: {**body, "note": KEY}),
        "accepted",
        noted="masked",
        apis=("openai-embeddings", "ollama", "cohere", "voyage", "gemini"),
    ),
    "the key in a rejection": Fault(
        lambda api, request, good: Sent(400, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()), "failed"
    ),
}
FAULTS: Mapping[str, EmbeddingFault] = {**_from_chat("connection"), **_from_chat("status"), **_REPLIES}
