"""A search engine that follows a script and counts its requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof.stages._base import BuildContext
from rankproof.stages._engines.base import EngineError, EngineReply, EngineStage

Scripted = EngineReply | EngineError | list[str]
Script = Callable[[Query, int], Scripted]


@dataclass(frozen=True)
class ScriptedEngine(EngineStage):
    """Replies with what the script gives; an EngineError is raised. `log` gets the name and the query of each request."""

    script: Script = field(metadata=NOT_IN_IDENTITY, hash=False, compare=False)
    name: str = "engine"
    log: list[Any] = field(default_factory=list, metadata=NOT_IN_IDENTITY, hash=False, compare=False)

    def connect(self, context: BuildContext) -> OpenScriptedEngine:
        return OpenScriptedEngine(self)


class OpenScriptedEngine:
    def __init__(self, stage: ScriptedEngine) -> None:
        self._stage = stage

    def ask(self, query: Query, size: int) -> EngineReply:
        self._stage.log.append((self._stage.name, query.id))
        found = self._stage.script(query, size)
        if isinstance(found, EngineError):
            raise found
        return EngineReply(tuple(found)) if isinstance(found, list) else found

    def close(self) -> None:
        self._stage.log.append((self._stage.name, "closed"))
