"""A gate's decisions as a Markdown comment for a pull request."""

from __future__ import annotations

import re

from ..analysis.gate.decide import Gate
from ..analysis.gate.decision import Decision
from ..analysis.gate.table import verdict
from .escape import for_markdown

MOST = 30
"""Lines at most: hosts of pull requests refuse a comment of more than some 65,000 characters."""
_MENTION = re.compile(r"(?<![A-Za-z0-9])@(?=\w)")
_NOBODY = "@&#8203;"


def as_comment(gate: Gate) -> str:
    """What failed, what is worth knowing though it passed, and the rest folded away."""
    failed = [decision for decision in gate.decisions if not decision.passed]
    news = [decision for decision in gate.decisions if decision.passed and decision.is_news]
    quiet = [decision for decision in gate.decisions if decision.passed and not decision.is_news]
    parts = [f"### rankproof: {_safe(verdict(gate))}", *_listed("Failed", failed), *_listed("Passed, worth knowing", news)]
    if quiet:
        lines = _listed("", quiet)
        parts += ["<details>", f"<summary>{len(quiet)} more passed</summary>", *lines, "</details>"]
    parts += [f"> {_safe(note)}" for note in gate.notes]
    return "\n\n".join(parts) + "\n"


def _listed(title: str, decisions: list[Decision]) -> list[str]:
    if not decisions:
        return []
    lines = [f"- {_safe(decision.sentence)}" for decision in decisions[:MOST]]
    if len(decisions) > MOST:
        lines.append(f"- … and {len(decisions) - MOST} more")
    return [f"**{title}**", "\n".join(lines)] if title else ["\n".join(lines)]


def _safe(text: str) -> str:
    """Escaped, and calling nobody by name."""
    return _MENTION.sub(_NOBODY, for_markdown(text))
