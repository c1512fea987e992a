"""Finished stages, each in one file named by everything it depends on."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..errors import RankproofError, WorldError
from ..formats.atomic import write_blocks
from .failures import BROKEN, ELSEWHERE, cache_damage, cache_failure
from .outcome import Outcome, outcome_bytes, outcome_of

_MARK = b"rankproof stage 1\n"
_DIGEST = 32


class StageCache:
    """Outcomes under a folder; a file is written whole or not at all, and believed only where its checksum holds."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "stages"

    def find(self, key: str) -> Outcome | None:
        """The outcome of that key, None where there is none; a damaged file is set aside and told."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise cache_failure(path, error) from None
        body = content[len(_MARK) + _DIGEST :]
        if not content.startswith(_MARK) or content[len(_MARK) : len(_MARK) + _DIGEST] != hashlib.sha256(body).digest():
            self._set_aside(path)
            raise cache_damage(path, BROKEN, "it was set aside")
        return outcome_of(body)

    def put(self, key: str, outcome: Outcome) -> None:
        """Keeps the outcome."""
        path = self._path(key)
        body = outcome_bytes(outcome)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_blocks(os.fspath(path), [_MARK, hashlib.sha256(body).digest(), body])
        except OSError as error:
            raise cache_failure(path, error) from None
        except RankproofError as error:
            raise WorldError(f"{error}; or {ELSEWHERE}") from None

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.stage"

    def _set_aside(self, path: Path) -> None:
        try:
            path.replace(path.with_suffix(".damaged"))
        except OSError as error:
            raise cache_failure(path, error) from None
