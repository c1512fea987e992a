"""Connection strings: where they come from, and how to keep their passwords out of every message."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

from ..errors import UsageError, visible

MASK = "***"
_IN_ADDRESS = re.compile(r"(://[^\s/@:]*):[^\s/]*@")
_IN_PAIRS = re.compile(r"(?i)((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;]+)")


def connection_string(dsn: str, variable: str) -> str:
    """The string itself or what the named environment variable holds; empty where neither is given."""
    refuse_both(dsn, variable)
    if not variable:
        return dsn
    held = os.environ.get(variable, "")
    if not held:
        raise UsageError(f"the environment variable {variable} (dsn_env) is not set", fix="set it to the connection string")
    return held


def refuse_both(dsn: str, variable: str) -> None:
    """One place alone says where the server is."""
    if dsn and variable:
        raise UsageError("both dsn and dsn_env are given", fix="give one of them; dsn_env keeps the password out of files")


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text on one line without the secrets, however they are written, and without anything that looks like a password."""
    forms = {form for secret in secrets if secret for form in _forms(secret)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, MASK)
    text = _IN_PAIRS.sub(rf"\1{MASK}", _IN_ADDRESS.sub(rf"\1:{MASK}@", text))
    return visible(" ".join(text.split()))


def _forms(secret: str) -> tuple[str, ...]:
    return secret, quote(secret, safe=""), quote_plus(secret), secret.replace("\\", "\\\\").replace("'", "\\'")
