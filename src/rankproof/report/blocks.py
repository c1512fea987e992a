"""Data inside a page: JSON that no text in it can end or turn into markup."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}


def json_block(value: Any) -> Markup:
    """The value for a <script type="application/json"> element, the same bytes for the same value."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPES))
