"""What a server's answer means: a body in the shape of OpenAI's chat completions, read as if a stranger wrote it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from .port import Ask, Finish
from .tokens import tokens_of

_FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length", "max_tokens": "length", "content_filter": "refusal"}
_MOST_TOKENS = 10**9
_LONGEST_NAME = 200


class WrongShapeError(ValueError):
    """The body is no chat completion: what is wrong with it, in a few words and without its text."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the body says; `is_estimated` where it does not say how many tokens there were."""

    text: str
    finish: Finish
    tokens_in: int
    tokens_out: int
    is_estimated: bool
    model: str
    first: tuple[tuple[str, float], ...] | None


def completion_of(body: str, ask: Ask) -> Completion:
    """The first choice, its tokens and its log-probabilities."""
    document = _object(_parsed(body), "the body")
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices:
        raise WrongShapeError("there are no choices")
    choice = _object(choices[0], "the choice")
    message = _object(choice.get("message"), "the message")
    refusal = _text(message.get("refusal"), "the refusal")
    text = _text(message.get("content"), "the content") or refusal
    finish = "refusal" if refusal else _FINISHES.get(str(choice.get("finish_reason")), "other")
    usage = document.get("usage")
    told = [_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else [None]
    tokens_in, tokens_out = (None, None) if None in told else told
    return Completion(
        text=text,
        finish=finish,
        tokens_in=sum(tokens_of(each.text) for each in ask.messages) if tokens_in is None else tokens_in,
        tokens_out=tokens_of(text) if tokens_out is None else tokens_out,
        is_estimated=None in told,
        model=_sound(document["model"])[:_LONGEST_NAME] if isinstance(document.get("model"), str) else "",
        first=_first(choice.get("logprobs")),
    )


def reason_of(body: str) -> str:
    """Why a request was refused, as servers say it; "" where they do not."""
    try:
        document = _parsed(body)
    except WrongShapeError:
        return ""
    error = document.get("error", document) if isinstance(document, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return _sound(message) if isinstance(message, str) else ""


def _parsed(body: str) -> Any:
    if not body.strip():
        raise WrongShapeError("the body is empty")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise WrongShapeError("the body is no JSON") from None


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongShapeError(f"{what} is no object")
    return value


def _text(value: Any, what: str) -> str:
    if value is not None and not isinstance(value, str):
        raise WrongShapeError(f"{what} is no text")
    return _sound(value or "")


def _sound(text: str) -> str:
    """The text with lone surrogates replaced: JSON can spell them, files cannot hold them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def _first(logprobs: Any) -> tuple[tuple[str, float], ...] | None:
    """The likeliest first tokens, None where there are none of use; an infinite log-probability is none."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    token = content[0] if isinstance(content, list) and content else None
    top = token.get("top_logprobs") if isinstance(token, dict) else None
    pairs: list[tuple[Any, Any]] = []
    if isinstance(top, list):
        pairs = [(each.get("token"), each.get("logprob")) for each in top if isinstance(each, dict)]
    found = tuple((_sound(text), float(value)) for text, value in pairs if isinstance(text, str) and _is_logprob(value))
    return found or None


def _is_logprob(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e9 < value < 1e9 and math.isfinite(value)
