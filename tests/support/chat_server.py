"""A chat server on loopback, which reports the tokens of its completions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rankproof.models._chat.openai import OpenAIChat
from support.scripted_server import Request, ScriptedServer, Sent

TOKENS_OUT = 3
"""The tokens of the reply that every completion reports, more for a long text."""
_BYTES_PER_TOKEN = 5


def prompt_tokens(request: Request) -> int:
    """The tokens of the messages, as the server counts them."""
    return sum(len(message["content"].encode()) for message in request.body.get("messages", ())) // _BYTES_PER_TOKEN + 1


def body_of(text: str | None, *, finish: str = "stop", message: Mapping[str, Any] | None = None, **choice: Any) -> dict[str, Any]:
    """A completion as OpenAI writes it."""
    written = {"role": "assistant", "content": text, **(message or {})}
    return {
        "id": "c-1",
        "object": "chat.completion",
        "model": "loopback-1",
        "choices": [{"index": 0, "message": written, "finish_reason": finish, **choice}],
    }


def completion(text: str | None, **parts: Any) -> Sent:
    """A good reply with that text."""
    return Sent(body=json.dumps(body_of(text, **parts)).encode(), is_completion=True)


def _with_usage(sent: Sent, read: int, written: int) -> Sent:
    """The completion with these tokens, unless it reports some."""
    used = {"prompt_tokens": read, "completion_tokens": written}
    return replace(sent, body=json.dumps({"usage": used, **json.loads(sent.content)}).encode())


def _reply_tokens(sent: Sent) -> int:
    text = json.loads(sent.content)["choices"][0]["message"]["content"] or ""
    return max(TOKENS_OUT, len(text.encode(errors="replace")) // _BYTES_PER_TOKEN)


class ChatServer(ScriptedServer):
    """`with ChatServer(answer) as server:`; it counts completions and their tokens."""

    def __init__(self, answer: Callable[[Request], Sent]) -> None:
        super().__init__(answer)
        self.completions = self.tokens_in = self.tokens_out = 0

    @property
    def address(self) -> str:
        """What a client takes for its base_url."""
        return f"{self.url}/v1"

    def model(self, **settings: Any) -> OpenAIChat:
        """The model on this server, without a key."""
        return OpenAIChat(**{"model": "loopback", "base_url": self.address, "api_key_env": "", "timeout": 20.0, **settings})

    def key_of(self, request: Request) -> str:
        """The messages; without messages the path and the body."""
        return json.dumps(request.body.get("messages", [request.path, request.body]))

    def reply(self, request: Request) -> Sent:
        """The reply of the script, with its tokens."""
        sent = super().reply(request)
        if not sent.is_completion or "messages" not in request.body:
            return sent
        read, written = prompt_tokens(request), _reply_tokens(sent)
        with self._lock:
            self.completions += 1
            self.tokens_in += read
            self.tokens_out += written
        return _with_usage(sent, read, written)
