"""A language model from a gguf file, run on this machine by llama.cpp and asked over HTTP like any other."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from ..._registry import Option
from ...data.identity import NOT_PART
from ...data.versions import behind, version_of
from ...errors import UsageError
from ..checksums import sha256_of
from .llama_server import LlamaServer
from .llama_settings import LlamaSettings
from .openai_chat import OpenAIChat
from .port import Ask, Chat, ChatFailedError, ChatUnusableError, Reply


@dataclass(frozen=True)
class _File:
    """Where the weights are: a base of its own, so that the path comes before all settings."""

    path: Annotated[str, Option("the gguf file with the weights", role="path")] = field(metadata=NOT_PART)


@dataclass(frozen=True)
class Llama(LlamaSettings, _File):
    """A gguf file, and the settings that every model has which llama.cpp runs."""

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path or "\0" in self.path:
            raise UsageError(f"{self.path!r} is no gguf file", fix="give its path")
        super().__post_init__()

    def load(self, *, threads: int = 1) -> LlamaChat:
        """A server of its own, up and ready."""
        return LlamaChat(self, threads)

    def revision(self) -> str:
        """The sha256 of the file, and the library that runs it."""
        return run_by_llama(sha256_of(self.file()))

    def is_ready(self) -> bool:
        """Whether the file is there."""
        return self.file().is_file()

    def file(self) -> Path:
        """Where the file is."""
        return Path(self.path).expanduser().absolute()


class LlamaChat:
    """The server, and the client that asks it."""

    def __init__(self, model: Llama, threads: int) -> None:
        self._model, self._threads = model, threads
        self._server = LlamaServer(model.file(), name=model.file().stem, context=model.context, threads=threads)
        self._clients: dict[int, Chat] = {}
        self._lock = threading.Lock()

    def reply(self, ask: Ask) -> Reply:
        """The reply to one request; where the server's process has ended, no other request will help."""
        try:
            return self._client(ask.attempt).reply(ask)
        except ChatFailedError as failure:
            if ending := self._server.ending():
                raise ChatUnusableError(f"llama.cpp is gone: {ending}; is there memory enough for the model?") from failure
            raise

    def _client(self, attempt: int) -> Chat:
        """Who asks for the first time, the second time and so on."""
        with self._lock:
            if attempt not in self._clients:
                self._clients[attempt] = self._asked(attempt).load()
            return self._clients[attempt]

    def _asked(self, attempt: int) -> OpenAIChat:
        model = self._model
        temperature = max(model.temperature, model.retry_temperature) if attempt else model.temperature
        name, address = model.file().stem, f"{self._server.address}/v1"
        return OpenAIChat(
            name, address, "", temperature, model.seed + attempt, timeout=model.timeout, concurrency=model.concurrency
        )

    def facts(self) -> Mapping[str, Any]:
        """What a reader should know: on one machine the same ask brings the same reply, in any order and after any restart."""
        return {
            "library": version_of("xllamacpp"),
            "revision": self._model.revision(),
            "context": self._model.context,
            "temperature": self._model.temperature,
            "seed": self._model.seed,
            "retry_temperature": self._model.retry_temperature,
            "threads": self._threads,
            "slots": 1,
            "prompt_cache": False,
        }

    def close(self) -> None:
        """Ends the server."""
        with self._lock:
            for client in self._clients.values():
                client.close()
        self._server.close()


def run_by_llama(weights: str) -> str:
    """The revision of weights together with the library that runs them."""
    return f"{weights}, {behind('xllamacpp')}"
