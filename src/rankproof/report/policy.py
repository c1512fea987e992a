"""The page's content security policy: its own script and style by their hashes, and nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable


def hash_of(text: str) -> str:
    """The hash of an inline script or style, as a policy writes it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(scripts: Iterable[str], styles: Iterable[str], *, connect: str = "'none'") -> str:
    """Nothing is loaded from anywhere; `connect` is where the page's script may talk to."""
    parts = {
        "default-src": "'none'",
        "script-src": " ".join(map(hash_of, scripts)) or "'none'",
        "style-src": " ".join(map(hash_of, styles)) or "'none'",
        "img-src": "data:",
        "connect-src": connect,
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())
