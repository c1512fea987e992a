"""MiniLM's weights for the tests: got once for all workers and all sessions, and kept under pytest's own cache."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rankproof.errors import WorldError
from rankproof.experiment.locks import try_lock
from rankproof.models.fetch_minilm import get_minilm


def minilm_home(config: pytest.Config) -> Path:
    """A cache folder of rankproof's with MiniLM in it; where it cannot be had the test is skipped, in CI it fails."""
    home = config.rootpath / ".pytest_cache" / "rankproof"
    home.mkdir(parents=True, exist_ok=True)
    before = os.environ.get("RANKPROOF_CACHE")
    with open(home / "lock", "w") as lock:
        while not try_lock(lock.fileno()):
            time.sleep(0.1)
        os.environ["RANKPROOF_CACHE"] = str(home)
        try:
            get_minilm(lambda text: None, lambda done, total: None)
        except WorldError as error:
            if os.environ.get("RANKPROOF_TESTS") == "whole":
                raise
            pytest.skip(f"MiniLM cannot be had: {error}")
        finally:
            os.environ.pop("RANKPROOF_CACHE")
            if before is not None:
                os.environ["RANKPROOF_CACHE"] = before
    return home
