"""Models from the hub: a handful of named files over HTTPS, checked, and kept under the commit that the hub reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import WorldError, visible
from .bert_shape import shape_of
from .hub_client import Answer, HubClient
from .json_file import read_object
from .kept_folder import kept
from .model_folder import CONFIG, TOKENIZER, WEIGHTS, open_folder
from .sources import hub_folder

NEEDED = (TOKENIZER, WEIGHTS)
OPTIONAL = (
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
)
Progress = Callable[[int, int | None], None]


def _silent(done: int, total: int | None) -> None:
    return None


def fetch(name: str, *, progress: Progress = _silent, client: HubClient | None = None) -> Path:
    """The model's folder, fetched where it is not here yet; what is here stays, whatever the hub has by now."""
    return kept(hub_folder(name), lambda folder: _fetch_all(client or HubClient.of_environment(), name, folder, progress))


def _fetch_all(client: HubClient, name: str, folder: Path, progress: Progress) -> Mapping[str, Any]:
    """config.json first: it tells whether the rest is worth fetching, and its answer pins the commit."""
    commit = _fetch_one(client, name, "main", CONFIG, folder, progress)
    if commit is None:
        raise _lacks(name, CONFIG)
    shape_of(read_object(folder / CONFIG), f"{name} on the hub")
    for file in OPTIONAL:
        _fetch_one(client, name, commit, file, folder, progress)
    for file in NEEDED:
        if _fetch_one(client, name, commit, file, folder, progress) is None:
            raise _lacks(name, file)
    open_folder(folder)
    return {"kind": "weights", "model": name, "revision": commit}


def _fetch_one(client: HubClient, name: str, revision: str, file: str, folder: Path, progress: Progress) -> str | None:
    """The commit that the answer names, or None where the hub has no such file."""
    answer = client.ask(f"{name}/resolve/{revision}/{file}")
    if answer is None:
        return None
    target = folder / file
    target.parent.mkdir(exist_ok=True)
    save(answer, target, progress)
    commit = answer.header("X-Repo-Commit")
    return commit if re.fullmatch("[0-9a-f]{40}", commit) else revision


def save(answer: Answer, target: Path, progress: Progress = _silent) -> None:
    """The body as a file; refused where it is shorter than was told, or not what the hub's checksum says."""
    from .checksums import sha256_of

    done = 0
    with open(target, "wb") as file:
        for block in answer.blocks():
            done += len(block)
            file.write(block)
            progress(done, answer.length)
    told = answer.header("X-Linked-Etag").strip('"')
    if re.fullmatch("[0-9a-f]{64}", told) and sha256_of(target) != told:
        raise WorldError(visible(f"{answer.url}: the checksum is not the one that the hub names; try again"))


def _lacks(name: str, file: str) -> WorldError:
    more = ": only safetensors are read, for .bin files are pickles, which can run any code" if file == WEIGHTS else ""
    return WorldError(visible(f"{name} on the hub has no {file}{more}; check the name, or use the model as torch:{name}"))
