"""Fixtures for all tests. With RANKPROOF_TESTS=whole a missing native reader or folder of collections is an error, not a skip.

RANKPROOF_TEST_ORDER is a seed for the order of modules and of the tests in each; "random" chooses one and prints it.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest
from tools.shared_folder import DATA, missing_data

from rankproof._align import engine
from rankproof.models._chat.llama_cpp import SMOLLM2_FILE, Llama
from support.examples import register_profiles
from support.hub_server import Hub
from support.model_weights import link_wordllama, minilm_home, smollm2_folder, wordllama_folder
from support.shuffled_tests import shuffle_tests
from support.tiny_bert import write_bert, write_modules

register_profiles()
ORDER = "RANKPROOF_TEST_ORDER"
# ranx, which tests compare with, would compile for a minute what they run in milliseconds.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
# A virtual machine may list AMX and end a process that uses it: PyTorch then computes bfloat16 with AVX-512.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
# GNU readline, which pytest imports, sets the size of a terminal for the workers of pytest-xdist; lines are not wrapped in tests.
for size in ("COLUMNS", "LINES"):
    os.environ.pop(size, None)


def pytest_sessionstart(session: pytest.Session) -> None:
    gc.disable()
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # as in a job in the background; the processes of tests would ignore it too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if (seed := os.environ.get(ORDER)) and not hasattr(session.config, "workerinput"):
        session.config.get_terminal_writer().line(f"the order of tests: {ORDER}={seed}")
    if os.environ.get("RANKPROOF_TESTS") != "whole":
        return
    if engine.NAME != "native":
        raise pytest.UsageError("the native reader was not built")
    if os.environ.get("RANKPROOF_SHARED") and not DATA.is_dir():
        raise pytest.UsageError(missing_data())


def pytest_configure(config: pytest.Config) -> None:
    """Chooses what workers of pytest-xdist inherit: the seed, a configuration folder, and a home where the user has none."""
    if os.environ.get(ORDER) == "random":
        os.environ[ORDER] = str(Random().randrange(1_000_000))
    # What a test trusts stays out of the user's configuration.
    os.environ["RANKPROOF_CONFIG"] = str(config.rootpath / ".pytest_cache" / "config")
    if not os.access(os.path.expanduser("~"), os.W_OK):  # ranx, numba and ir_datasets fail if they cannot write there
        home = config.rootpath / ".pytest_cache" / "home"
        home.mkdir(parents=True, exist_ok=True)
        os.environ["HOME"] = str(home)


def pytest_collection_finish() -> None:
    """Thousands of tests that stay until the end are no garbage: looking at them again takes a third of the collection."""
    gc.enable()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with a real language model is slow. pytest keeps tests of one parametrised fixture together after any shuffle."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "smollm2_weights" in fixtures:
            item.add_marker(pytest.mark.release if "run_systems" in fixtures else pytest.mark.slow)
    if seed := os.environ.get(ORDER):
        items[:] = shuffle_tests(items, seed)


@pytest.fixture
def default_sigterm() -> Iterator[None]:
    """The handler of a fresh process: a library that another test started may have left its own."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


@pytest.fixture(scope="session")
def wordllama_weights(request: pytest.FixtureRequest) -> Path | None:
    """The folder of WordLlama's vectors, for all tests and workers."""
    return wordllama_folder(request.config)


@pytest.fixture(scope="session", autouse=True)
def _no_test_waits_for_the_disk() -> Iterator[None]:
    """A test that needs `os.fsync` to fail replaces it itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True)
def _no_test_touches_the_cache_of_the_user(
    tmp_path_factory: pytest.TempPathFactory, wordllama_weights: Path | None
) -> Iterator[None]:
    cache = tmp_path_factory.getbasetemp() / "cache"
    link_wordllama(wordllama_weights, cache)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKPROOF_CACHE", str(cache))
        yield


@pytest.fixture(scope="session")
def minilm_weights(request: pytest.FixtureRequest) -> Path:
    """A cache folder with MiniLM in it, for all tests and workers."""
    return minilm_home(request.config)


@pytest.fixture
def minilm_cache(minilm_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of the test's own, but for MiniLM and WordLlama."""
    cache = tmp_path / "minilm-cache"
    cache.mkdir()
    (cache / "models").symlink_to(minilm_weights / "models")
    monkeypatch.setenv("RANKPROOF_CACHE", str(cache))
    return cache


@pytest.fixture(scope="session")
def smollm2_weights(request: pytest.FixtureRequest) -> Path:
    """SmolLM2's gguf file."""
    if find_spec("xllamacpp") is None and os.environ.get("RANKPROOF_TESTS") != "whole":
        pytest.skip("xllamacpp is not installed: the extra local brings it")
    return smollm2_folder(request.config) / SMOLLM2_FILE


@pytest.fixture(scope="session")
def smollm2(smollm2_weights: Path) -> Llama:
    """A real language model, small and weak: tests may ask whether it replies, never how well."""
    return Llama(str(smollm2_weights))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with one small model, and an empty cache."""
    folder = write_bert(tmp_path / "served", labels=1)
    write_modules(folder, pooling={"pooling_mode_cls_token": True})
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with Hub(folder) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub
