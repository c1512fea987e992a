"""`python -m rankproof` is the `rankproof` command."""

from __future__ import annotations

from rankproof._cli.main import entry

entry()
