"""Search functions for the tests of `Function`."""

from __future__ import annotations


def nothing(text: str) -> list[str]:
    """No document for any query."""
    return []
