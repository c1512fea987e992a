"""A run says which device its models use, and when a GPU is idle."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankproof._experiment.checks import UsedDevices, used_devices
from rankproof.errors import UsageError
from rankproof.models import _device
from rankproof.models._bert import CrossEncoder, MiniLM
from rankproof.models._device import Placement, chosen_device
from rankproof.models._wordllama import WordLlama
from rankproof.stages._base import Stage
from rankproof.stages._bm25 import BM25
from rankproof.stages._dense import Dense
from rankproof.stages._fuse import RRF
from rankproof.stages._rerank import Rerank
from rankproof.stages._scorers import CrossEncoderScorer
from rankproof.stages._vectors import encoding_resources

SYSTEMS: dict[str, Stage] = {
    "bm25": BM25(),
    "static": Dense(WordLlama()),
    "dense": Dense(MiniLM()),
    "reranked": Rerank(RRF((BM25(), Dense(MiniLM()))), CrossEncoderScorer(CrossEncoder("acme/cross"))),
}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_device, "has_gpu_files", lambda: True)
    monkeypatch.setattr(_device, "chosen_device", lambda name: "cpu" if name == "cpu" else "cuda:0")
    monkeypatch.setattr(
        Placement, "facts", lambda self: {"precision": self.precision} | ({"gpu": "GPU 9000"} if self.on_gpu else {})
    )


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen_device.cache_clear()
    monkeypatch.setattr(_device, "has_gpu_files", lambda: False)


def test_without_a_gpu_there_is_no_note(no_gpu: None) -> None:
    assert used_devices(SYSTEMS) == UsedDevices({"dense": "CPU int8", "reranked": "CPU int8, CPU fp32"}, ())
    assert used_devices({"bm25": BM25()}).facts() == {}


def test_systems_on_a_gpu_are_named(gpu: None) -> None:
    found = used_devices(SYSTEMS)
    assert found.notes == ("on a GPU: dense (GPU 9000 bf16); reranked (GPU 9000 bf16)",)
    assert found.facts() == {"devices": {"dense": "GPU 9000 bf16", "reranked": "GPU 9000 bf16"}}


def test_an_idle_gpu_is_noted_once(gpu: None) -> None:
    found = used_devices({name: Dense(MiniLM(device="cpu", max_tokens=size)) for name, size in (("one", 64), ("two", 128))})
    assert found.notes == ('a GPU is idle: device is "cpu"; set device to "auto" to use the GPU',)


@pytest.mark.torch
def test_a_gpu_that_is_not_there_is_an_error_before_any_work(tmp_path: Path, no_gpu: None) -> None:
    pytest.importorskip("torch")
    with pytest.raises(UsageError, match="torch finds no GPU"):
        used_devices({"dense": Dense(MiniLM(device="cuda"))})


def test_a_task_asks_for_a_gpu_only_if_its_model_runs_on_one(gpu: None) -> None:
    assert encoding_resources(MiniLM()).gpus == 1
    assert encoding_resources(MiniLM(precision="int8")).gpus == 0
    assert encoding_resources(MiniLM(device="cpu")).gpus == 0
    assert encoding_resources(WordLlama()).gpus == 0
