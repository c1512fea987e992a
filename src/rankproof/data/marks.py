"""The mark of a judgement that a machine made; one by people has none."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import shown

MACHINES = ("llm:", "keywords:", "heuristic:")
"""What a mark begins with: a language model's, a count of words, or rules that made the query from the document."""
SHORTEST = min(map(len, MACHINES))
PEOPLE = "people"
"""What stands in the place of a mark where others have one."""


def mark_of(text: str) -> str:
    """The text where it is a machine's mark, else nothing."""
    return text if text.startswith(MACHINES) and text not in MACHINES else ""


def told(marks: Mapping[str, int], judgements: int) -> str:
    """Who made the judgements, in words with the numbers; `marks` counts those of machines, of so many in all."""
    made = sum(marks.values())
    by = ", ".join(f"{shown(mark)} ({count})" if len(marks) > 1 else shown(mark) for mark, count in marks.items())
    rest = judgements - made
    others = "none by people" if not rest else f"{rest} by people: two kinds of judgements are mixed"
    mixed = "; several judges are mixed" if len(marks) > 1 else ""
    return f"{made} of {judgements} judgements were made by {by}, {others}{mixed}"


def mark_text(machine: str, name: str, digest: str) -> str:
    """The mark of one machine: its kind, its name without white space and control characters, and a digest of its settings."""
    plain = "".join(char if char.isprintable() and not char.isspace() else "_" for char in name)
    return f"{machine}{plain}:{digest}"
