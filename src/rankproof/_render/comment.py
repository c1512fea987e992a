"""Markdown for comments on GitHub: folded parts, and the limit on their length."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof._io.escape import for_github_html

MAX_COMMENT = 65_000
"""GitHub rejects comments of more than 65,536 characters."""
_LEFT_OUT = "Left out, because a comment has at most 65,536 characters: {}."


def folded_part(title: str, *lines: str) -> list[str]:
    """One folded part of a comment, as an element of its list of parts."""
    # Markdown in the element needs an empty line before it; the summary is HTML.
    body = "\n\n".join(line.strip("\n") for line in lines)
    return [f"<details>\n<summary>{for_github_html(title)}</summary>\n\n{body}\n\n</details>"]


def limited_comment(parts: Sequence[str], most: int = MAX_COMMENT) -> str:
    """The parts as one comment; parts at the end that do not fit are left out, and the last line says how many."""
    shown, size = [], 0
    for part in parts:
        if size + len(part) + 2 > most - len(_LEFT_OUT) - 20:
            break
        shown.append(part)
        size += len(part) + 2
    left = len(parts) - len(shown)
    if left:
        shown.append(_LEFT_OUT.format(f"{left} part{'' if left == 1 else 's'}"))
    return "\n\n".join(shown) + "\n"
