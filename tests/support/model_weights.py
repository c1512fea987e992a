"""Model weights for the tests, downloaded once for all workers and sessions into pytest's cache."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rankproof._io.paths import try_lock
from rankproof.errors import ExternalError
from rankproof.models._bert import download_minilm
from rankproof.models._chat.llama_cpp import download_smollm2
from rankproof.models._wordllama import download_wordllama

Get = Callable[[Callable[[str], None], Callable[[int, int | None], None]], Path]


def minilm_home(config: pytest.Config) -> Path:
    """A cache folder of rankproof's with MiniLM in it."""
    return _downloaded(config, download_minilm)[0]


def wordllama_folder(config: pytest.Config) -> Path | None:
    """The folder of WordLlama's vectors; None if the download fails, and tests that need them fail."""
    try:
        return _downloaded(config, download_wordllama)[1]
    except pytest.skip.Exception:
        return None


def link_wordllama(weights: Path | None, cache: Path) -> None:
    """Puts WordLlama's vectors into a cache folder."""
    place = cache / "models" / "wordllama"
    if weights is not None and not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(weights)


def smollm2_folder(config: pytest.Config) -> Path:
    """The folder of SmolLM2's weights."""
    return _downloaded(config, download_smollm2)[1]


def _downloaded(config: pytest.Config, get: Get) -> tuple[Path, Path]:
    """The cache folder and the folder of the model; the test is skipped if the model is not available, in CI it fails."""
    home = config.rootpath / ".pytest_cache" / "rankproof"
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "download.lock", "w") as lock, pytest.MonkeyPatch.context() as patch:
        while not try_lock(lock.fileno()):
            time.sleep(0.1)
        patch.setenv("RANKPROOF_CACHE", str(home))
        try:
            return home, get(lambda text: None, lambda done, total: None)
        except ExternalError as error:
            if os.environ.get("RANKPROOF_TESTS") == "whole":
                raise
            pytest.skip(f"the weights are not available: {error}")
