"""A request in the shape of OpenAI's chat completions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .port import Ask

if TYPE_CHECKING:
    from .openai_chat import OpenAIChat

_MOST_LOGPROBS = 20
"""That OpenAI's servers give."""


def request_body(model: OpenAIChat, ask: Ask) -> bytes:
    """The body, in ASCII; settings below 0 are left to the server."""
    content: dict[str, Any] = {
        "model": model.model,
        "messages": [{"role": each.role, "content": each.text} for each in ask.messages],
        model.limit_key: ask.max_tokens,
        "stream": False,
    }
    if model.temperature >= 0:
        content["temperature"] = model.temperature
    if model.seed >= 0:
        content["seed"] = model.seed
    if ask.schema:
        shape = {"name": "reply", "strict": True, "schema": json.loads(ask.schema)}
        content["response_format"] = {"type": "json_schema", "json_schema": shape}
    if ask.logprobs:
        content |= {"logprobs": True, "top_logprobs": min(ask.logprobs, _MOST_LOGPROBS)}
    return json.dumps(content, allow_nan=False).encode()
