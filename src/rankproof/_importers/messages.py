"""Messages of language models: their role and their text, in the shapes of several APIs.

Typed parts are those of OpenTelemetry's GenAI conventions, OpenAI and Anthropic; pictures, files and reasoning are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rankproof._importers.cells import items_in, object_in

_ROLES: Mapping[str, str] = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "model"), "assistant"),
    **dict.fromkeys(("tool", "function"), "tool"),
    **dict.fromkeys(("system", "developer"), "system"),
}
_TEXTS = (None, "text", "input_text", "output_text")
_CALLS = ("tool_call", "tool_use")
_RESULTS = ("tool_call_response", "tool_result")
_ROLES_OF_EVENTS = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_CHOICE, _CONTENT = "gen_ai.choice", "gen_ai.event.content"


def message_role(message: Mapping[str, Any]) -> str | None:
    """Who wrote a message; None if it does not say so by a name that is known."""
    name = message.get("role", message.get("type"))
    return _ROLES.get(name.lower()) if isinstance(name, str) else None


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a message, of parts those of text."""
    content = message.get("content")
    return content if isinstance(content, str) else _text_of_parts(items_in(content))


def plain_messages(messages: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """The messages with their text as `content` and their calls as `tool_calls`; each result of a tool is one of its own."""
    for message in messages:
        if isinstance(message, Mapping):
            yield from _plain(_unwrapped(message))


def messages_of_events(events: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The messages in the events of a span, one event each, by the attribute that has them in later conventions."""
    sent, written = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    for event in events:
        name = event.get("name")
        content = {**event, **(object_in(event.get(_CONTENT)) or {}), **(object_in(event.get("body")) or {})}
        if name == _CHOICE:
            written.append({"role": "assistant", **_unwrapped(content)})
        elif name in _ROLES_OF_EVENTS:
            sent.append({**content, "role": _ROLES_OF_EVENTS[name]})
    messages = {"gen_ai.input.messages": sent, "gen_ai.output.messages": written}
    return {key: own for key, own in messages.items() if own}


def _unwrapped(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message itself: of a choice, of a serialised object of LangChain, or of keys such as `message.content`."""
    inside = next((own for key in ("message", "kwargs") if (own := object_in(message.get(key))) is not None), message)
    return {key.removeprefix("message."): value for key, value in inside.items() if isinstance(key, str)}


def _plain(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    content = message.get("parts", message.get("content"))
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    calls = [part for part in parts if part.get("type") in _CALLS]
    results = [part for part in parts if part.get("type") in _RESULTS]
    for part in results:
        yield {**part, "role": "tool", "content": _result(part)}
    if not calls and "parts" not in message:
        if not results or message_text(message):
            yield message
        return
    text = _text_of_parts(parts)
    if text or calls or not results:
        yield {**message, "content": text, **({"tool_calls": calls} if calls else {})}


def _text_of_parts(parts: Iterable[Any]) -> str:
    texts = (part if isinstance(part, str) else _text_of_part(part) for part in parts if isinstance(part, str | dict))
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _text_of_part(part: Mapping[str, Any]) -> Any:
    return part.get("text", part.get("content")) if part.get("type") in _TEXTS else None


def _result(part: Mapping[str, Any]) -> str:
    """What a tool returned, as text: of parts of text their texts, of any other value its JSON."""
    value = next((part[key] for key in ("response", "result", "content") if part.get(key) is not None), "")
    if isinstance(value, str):
        return value
    texts = value if isinstance(value, list) else []
    if texts and all(isinstance(item, dict) and item.get("type") == "text" for item in texts):
        return _text_of_parts(texts)
    return json.dumps(value, ensure_ascii=False, default=str)
