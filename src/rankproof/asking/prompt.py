"""Prompts: text with placeholders such as {query}, filled in one go."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..data import checks
from ..errors import UsageError, shown


def filled(prompt: str, **parts: str) -> str:
    """The prompt with each known placeholder replaced; braces in what is filled in, and unknown ones, stay as they are."""
    names = "|".join(map(re.escape, parts))
    return re.sub(rf"\{{({names})\}}", lambda found: parts[found.group(1)], prompt)


def refuse_prompt(name: str, prompt: str, needed: Sequence[str]) -> None:
    """Refuses a prompt that lacks a placeholder without which nothing could be asked."""
    checks.text(name, prompt)
    for part in needed:
        if f"{{{part}}}" not in prompt:
            raise UsageError(f"{name} is {shown(prompt)}", fix=f"let it hold {{{part}}}, where that is filled in")
