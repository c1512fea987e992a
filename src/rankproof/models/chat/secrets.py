"""The key of a server: read from the environment, shown nowhere, and taken out of whatever a server sends back."""

from __future__ import annotations

import json
import os
import re
from urllib.parse import quote

from ...errors import UsageError

MASK = "***"
_LEAST = 8
"""Characters of a key that is one: servers on one's own machine are given words such as EMPTY, which replies may hold."""
_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_KEY = re.compile(r"[!-~]{1,4096}")
_BEARER = re.compile(r"(?i)(bearer\s+)(?=[^\s\"']*\d)[\w.~+/=-]{16,}", re.ASCII)


class Secret:
    """A key, "" where there is none; it never shows in a representation, so not in a traceback with its locals either."""

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key

    def __bool__(self) -> bool:
        return bool(self._key)

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def headers(self) -> dict[str, str]:
        """What a request carries."""
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def masked(self, text: str) -> str:
        """The text without the key, however it is written, and without what looks like another's."""
        if len(self._key) >= _LEAST:
            for form in {self._key, quote(self._key, safe=""), json.dumps(self._key)[1:-1]}:
                text = text.replace(form, MASK)
        return _BEARER.sub(rf"\1{MASK}", text)


def variable_name(name: object) -> str:
    """The name of a variable, "" for none; what might be a key itself is refused, and not shown."""
    if isinstance(name, str) and (not name or _NAME.fullmatch(name)):
        return name
    fix = 'give the name in capitals, such as "OPENAI_API_KEY", never the key itself, or "" where the server needs none'
    raise UsageError("key_env is no name of an environment variable", fix=fix)


def secret_of(variable: str, *, needed: bool) -> Secret:
    """The key that the variable holds; where it is not set, an error or none."""
    if variable and needed and not os.environ.get(variable):
        fix = 'set it to the key, or give key_env = "" where the server needs none'
        raise UsageError(f"the environment variable {variable} (key_env) is not set", fix=fix)
    if variable and os.environ.get(variable) and not _KEY.fullmatch(os.environ[variable]):
        raise UsageError(
            f"the environment variable {variable} (key_env) holds blanks, line ends or letters that no key has",
            fix="set it to the key alone",
        )
    return Secret(os.environ.get(variable, "") if variable else "")
