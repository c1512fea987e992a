"""What a language model is called, and the mark of what it made."""

from __future__ import annotations

from pathlib import PurePath

from ...data.identity import kind_name
from ...data.marks import mark_text
from .port import ChatModel

_DIGEST = 8


def chat_name(model: ChatModel) -> str:
    """As its server calls it, else as its file or its kind."""
    named = (getattr(model, part, None) for part in ("model", "name"))
    path = getattr(model, "path", None)
    file = PurePath(path).stem if isinstance(path, str) else kind_name(type(model))
    return next((name for name in named if isinstance(name, str) and name), file)


def model_mark(model: ChatModel, digest: str) -> str:
    """llm:NAME:DIGEST, of the key of all that a reply depends on: the model itself, the prompts and the settings."""
    return mark_text("llm:", chat_name(model), digest[:_DIGEST])
