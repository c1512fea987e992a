"""Foreign text made harmless in files that other programs open: cells of CSV, documents of JSON."""

from __future__ import annotations

import re

from ..errors import is_hidden, visible

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_QUOTED = re.compile("[\",']")
_NOT_ASCII = re.compile("[^\\x00-\\x7e]")


def for_csv(text: str) -> str:
    """A cell that no spreadsheet takes for a formula (OWASP: a leading apostrophe), no reader splits, and nothing hides in."""
    plain = visible(text)
    safe = f"'{plain}" if text.startswith(_FORMULA_STARTS) else plain
    return '"' + safe.replace('"', '""') + '"' if _QUOTED.search(safe) or safe != safe.strip() else safe


def for_json(document: str) -> str:
    """A JSON document whose invisible characters and lone surrogates are written as \\u escapes; it means the same."""
    import json

    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1] if is_hidden(found[0]) else found[0], document)
