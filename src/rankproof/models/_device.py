"""Where models run: the option `device`, the precision on each kind of device, and GPUs that are not used."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from rankproof._extras import extra
from rankproof._registry import Option
from rankproof.errors import UsageError, for_message
from rankproof.models._base import PRECISIONS, Precision

DeviceOption = Annotated[str, Option("where the model runs: auto (a GPU if there is one), cpu, cuda or cuda:N")]
ChosenPrecision = Literal["auto", "int8", "fp32", "bf16", "fp16"]
PrecisionOption = Annotated[
    ChosenPrecision, Option("precision of the numbers: int8 or fp32 on the CPU; bf16, fp16 or fp32 on a GPU; auto chooses")
]
TorchPrecision = Literal["auto", "fp32", "bf16", "fp16"]
TorchPrecisionOption = Annotated[
    TorchPrecision, Option("precision of the numbers: fp32 on the CPU; bf16, fp16 or fp32 on a GPU; auto chooses")
]
GPU_PRECISIONS = ("bf16", "fp16", "fp32")
_DEVICE = re.compile(r"auto|cpu|cuda(:\d{1,3})?")
_GPU_FILES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd")


def check_device(name: str) -> None:
    """Raises an error for a value that is not the name of a device."""
    if not isinstance(name, str) or not _DEVICE.fullmatch(name):
        raise UsageError(f"device is {for_message(str(name))}", fix="choose auto, cpu, cuda or cuda:N, such as cuda:1")


@dataclass(frozen=True, slots=True)
class Placement:
    """The device that a model runs on, `cpu` or `cuda:N`, and the precision of its numbers."""

    device: str
    precision: str

    @property
    def on_gpu(self) -> bool:
        """Whether the device is a GPU."""
        return self.device != "cpu"

    @property
    def kind(self) -> str:
        """The kind of device and the precision, for cache keys; the number of a GPU does not change results."""
        return f"{self.device.partition(':')[0]} {self.precision}"

    def facts(self) -> dict[str, Any]:
        """The precision, the kind of device and the name of a GPU, as JSON."""
        facts = {"precision": self.precision, "device": self.device.partition(":")[0]}
        if not self.on_gpu:
            return facts
        with extra("torch"):
            import torch

        return {**facts, "gpu": torch.cuda.get_device_name(self.device)}

    @property
    def graph_precision(self) -> Precision:
        """The precision of the ONNX graph, on the CPU."""
        assert self.precision in PRECISIONS
        return self.precision


def place(device: str, precision: str, *, on_cpu: Precision) -> Placement:
    """Resolves device and precision; `on_cpu` is the precision that auto chooses there, and a GPU runs bf16."""
    resolved = chosen_device(device) if precision != "int8" or device != "auto" else "cpu"
    chosen = (on_cpu if resolved == "cpu" else "bf16") if precision == "auto" else precision
    allowed: tuple[str, ...] = PRECISIONS if resolved == "cpu" else GPU_PRECISIONS
    if chosen not in allowed:
        where = "the CPU" if resolved == "cpu" else "a GPU"
        raise UsageError(f"{chosen} does not run on {where}", fix=f"choose the precision {' or '.join(allowed)}, or auto")
    return Placement(resolved, chosen)


@cache
def chosen_device(name: str) -> str:
    """The device as `cpu` or `cuda:N`; auto is the first GPU if torch can use one, otherwise the CPU."""
    if name == "cpu" or (name == "auto" and not (has_gpu_files() and find_spec("torch") is not None)):
        return "cpu"
    with extra("torch"):
        import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda:0" if count else "cpu"
    number = int(name.partition(":")[2] or 0)
    if number >= count:
        fix = "choose the device cpu or auto" if not count else f"choose a number below {count}"
        raise UsageError(f"device is {name}, but torch finds {count or 'no'} GPU{'' if count == 1 else 's'}", fix=fix)
    return f"cuda:{number}"


@cache
def has_gpu_files() -> bool:
    """Whether the driver of a GPU is installed and the environment does not hide all GPUs; quick, without torch."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    if sys.platform == "win32":
        from ctypes.util import find_library

        return find_library("nvcuda") is not None
    return any(Path(path).exists() for path in _GPU_FILES)


def torch_dtype(precision: str) -> Any:
    """The type of torch for a precision."""
    with extra("torch"):
        import torch

    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]


def idle_gpu_note(device: str, precision: str = "auto") -> str | None:
    """A note if this machine has a GPU and a model with these settings does not use it."""
    if not has_gpu_files() or chosen_device(device if device == "cpu" or precision != "int8" else "cpu") != "cpu":
        return None
    return f"a GPU is idle: {_idle_reason(device, precision)}"


def _idle_reason(device: str, precision: str) -> str:
    if device == "cpu":
        return 'device is "cpu"; set device to "auto" to use the GPU'
    if precision == "int8":
        return 'the precision int8 runs on the CPU; set precision to "auto" to use the GPU'
    if find_spec("torch") is None:
        return "torch is not installed; run: pip install 'rankproof[torch]'"
    return "torch finds none; install a build of torch for the driver of this machine"


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
