"""Devices and precisions: what `auto` chooses, what is refused, and when a GPU is idle."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rankproof._data.identity import identity_key
from rankproof.errors import UsageError
from rankproof.models import _device
from rankproof.models._bert import Bert, CrossEncoder, MiniLM
from rankproof.models._device import Placement, chosen_device, has_gpu_files, idle_gpu_note, place
from rankproof.models._torch import SentenceTransformer
from rankproof.models._trained.checkpoint import TrainedEncoder
from rankproof.models._transformers import ByT5

Machine = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Makes this machine one with so many GPUs that torch can use; `files` if a driver is there, `torch` if it is installed."""

    def make(gpus: int, *, files: bool = True, torch: bool = True) -> None:
        chosen_device.cache_clear()
        cuda = SimpleNamespace(
            is_available=lambda: gpus > 0, device_count=lambda: gpus, get_device_name=lambda device: "GPU 9000"
        )
        monkeypatch.setattr(_device, "has_gpu_files", lambda: files)
        monkeypatch.setattr(_device, "find_spec", lambda name: object() if torch else None)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda) if torch else None)

    yield make
    chosen_device.cache_clear()


def test_auto_is_the_first_gpu_that_torch_can_use(machine: Machine) -> None:
    machine(2)
    assert chosen_device("auto") == chosen_device("cuda") == "cuda:0"
    assert chosen_device("cuda:1") == "cuda:1"
    assert chosen_device("cpu") == "cpu"


@pytest.mark.parametrize("settings", [{"gpus": 0}, {"gpus": 1, "files": False}, {"gpus": 0, "torch": False}])
def test_auto_is_the_cpu_without_a_gpu_for_torch(settings: dict[str, int], machine: Machine) -> None:
    machine(**settings)
    assert chosen_device("auto") == "cpu"


@pytest.mark.parametrize(
    ("gpus", "device", "message"),
    [
        (0, "cuda", "device is cuda, but torch finds no GPUs; choose the device cpu or auto"),
        (1, "cuda:1", "device is cuda:1, but torch finds 1 GPU; choose a number below 1"),
        (2, "cuda:7", "device is cuda:7, but torch finds 2 GPUs; choose a number below 2"),
    ],
)
def test_a_gpu_that_is_not_there_is_an_error(gpus: int, device: str, message: str, machine: Machine) -> None:
    machine(gpus)
    with pytest.raises(UsageError) as caught:
        chosen_device(device)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("gpus", "device", "precision", "found"),
    [
        (1, "auto", "auto", Placement("cuda:0", "bf16")),
        (1, "auto", "fp16", Placement("cuda:0", "fp16")),
        (1, "auto", "int8", Placement("cpu", "int8")),
        (1, "cpu", "auto", Placement("cpu", "int8")),
        (1, "cpu", "fp32", Placement("cpu", "fp32")),
        (0, "auto", "auto", Placement("cpu", "int8")),
    ],
)
def test_the_precision_follows_the_device(gpus: int, device: str, precision: str, found: Placement, machine: Machine) -> None:
    machine(gpus)
    assert place(device, precision, on_cpu="int8") == found


@pytest.mark.parametrize(
    ("device", "precision", "message"),
    [
        ("cuda", "int8", "int8 does not run on a GPU; choose the precision bf16 or fp16 or fp32, or auto"),
        ("cpu", "bf16", "bf16 does not run on the CPU; choose the precision int8 or fp32, or auto"),
    ],
)
def test_a_precision_that_the_device_lacks_is_an_error(device: str, precision: str, message: str, machine: Machine) -> None:
    machine(1)
    with pytest.raises(UsageError) as caught:
        place(device, precision, on_cpu="int8")
    assert str(caught.value) == message


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:-1", "", "cuda:1 ", 0])
@pytest.mark.parametrize("model", [MiniLM, lambda **given: Bert("a/b", **given), lambda **given: ByT5("a/b", **given)])
def test_an_unknown_device_is_refused(model: Callable[..., object], device: object) -> None:
    with pytest.raises(UsageError, match="device"):
        model(device=device)


def test_the_cache_key_has_the_kind_of_device_and_the_precision(machine: Machine) -> None:
    machine(2)
    first, second, chosen = (identity_key(MiniLM(device=device)) for device in ("cuda:0", "cuda:1", "auto"))
    assert first == second == chosen
    others = [MiniLM(device="cpu"), MiniLM(precision="fp16"), MiniLM(precision="fp32"), MiniLM(device="cpu", precision="fp32")]
    assert len({first, *map(identity_key, others)}) == 5
    machine(0)
    assert identity_key(MiniLM()) == identity_key(MiniLM(precision="int8", device="cpu"))


def test_facts_name_the_gpu(machine: Machine) -> None:
    machine(1)
    assert Placement("cuda:0", "bf16").facts() == {"precision": "bf16", "device": "cuda", "gpu": "GPU 9000"}
    assert Placement("cpu", "int8").facts() == {"precision": "int8", "device": "cpu"}


@pytest.mark.parametrize(
    ("settings", "device", "precision", "reason"),
    [
        ({"gpus": 1}, "cpu", "auto", 'device is "cpu"; set device to "auto" to use the GPU'),
        ({"gpus": 1}, "auto", "int8", 'the precision int8 runs on the CPU; set precision to "auto" to use the GPU'),
        ({"gpus": 0, "torch": False}, "auto", "auto", "torch is not installed; run: pip install 'rankproof[torch]'"),
        ({"gpus": 0}, "auto", "auto", "torch finds none; install a build of torch for the driver of this machine"),
    ],
)
def test_an_idle_gpu_is_noted(settings: dict[str, int], device: str, precision: str, reason: str, machine: Machine) -> None:
    machine(**settings)
    assert idle_gpu_note(device, precision) == f"a GPU is idle: {reason}"


@pytest.mark.parametrize(
    ("settings", "device"), [({"gpus": 1}, "auto"), ({"gpus": 1}, "cuda"), ({"gpus": 0, "files": False}, "cpu")]
)
def test_a_gpu_in_use_and_a_machine_without_one_have_no_note(settings: dict[str, int], device: str, machine: Machine) -> None:
    machine(**settings)
    assert idle_gpu_note(device) is None


@pytest.mark.parametrize(("visible", "found"), [("", False), ("-1", False), ("0", True), (None, True)])
def test_gpus_that_the_environment_hides_are_not_there(
    visible: str | None, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(_device, "_GPU_FILES", (str(tmp_path / "nvidia0"),))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert has_gpu_files.__wrapped__() == found


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [(0, ["int8", "int8", "fp32", "fp32", "fp32", "fp32"]), (1, ["bf16", "bf16", "bf16", "bf16", "bf16", "fp32"])],
)
def test_every_model_of_torch_or_onnx_chooses_its_precision(gpus: int, expected: list[str], machine: Machine) -> None:
    machine(gpus)
    models: list[Any] = [
        MiniLM(),
        Bert("a/b"),
        CrossEncoder("a/b"),
        SentenceTransformer("a/b"),
        ByT5(),
        TrainedEncoder("./folder"),
    ]
    assert [model.placement().precision for model in models] == expected
