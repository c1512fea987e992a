"""Models of the hub: names, folders, downloads."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankproof._io.strict_json import read_json_object
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message
from rankproof.models._base import DownloadProgress
from rankproof.models._download.cached_folder import cached_folder, models_cache_folder
from rankproof.models._onnx.config import bert_config
from rankproof.models._onnx.folder import CONFIG, TOKENIZER, WEIGHTS, open_model_folder

if TYPE_CHECKING:
    from rankproof.models._download.client import HubClient, HubResponse

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def model_folder_of(source: str) -> Path:
    """The model's folder; a hub name is downloaded if it is not cached."""
    path = os.path.expanduser(source)
    if os.path.isdir(path):
        return Path(path).absolute()
    if not is_hub_name(source):
        raise UsageError(
            f"{for_message(source)} is neither a model's folder nor a name on the hub", fix="give a folder, or ORGANISATION/MODEL"
        )
    return download_model(source)


def is_local(source: str) -> bool:
    """Whether the source can be read without a network."""
    return os.path.isdir(os.path.expanduser(source)) or (is_hub_name(source) and hub_folder(source).is_dir())


def is_hub_name(source: str) -> bool:
    """Whether the source has the form ORGANISATION/MODEL."""
    return _HUB_NAME.fullmatch(source) is not None and ".." not in source and len(source) <= 200


def hub_folder(name: str) -> Path:
    """The cache folder of a model from the hub."""
    return models_cache_folder() / "hub" / name.replace("/", "--")


REQUIRED_FILES = (TOKENIZER, WEIGHTS)
OPTIONAL_FILES = (
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
)


def _no_progress(done: int, total: int | None) -> None:
    return None


def download_model(name: str, *, progress: DownloadProgress = _no_progress, client: HubClient | None = None) -> Path:
    """The model's folder, downloaded if it is not cached; a cached model is never updated."""
    from rankproof.models._download.client import HubClient

    return cached_folder(
        hub_folder(name), lambda folder: _download_files(client or HubClient.of_environment(), name, folder, progress)
    )


def _download_files(client: HubClient, name: str, folder: Path, progress: DownloadProgress) -> Mapping[str, Any]:
    """Downloads config.json first: it shows whether the model is supported, and its response pins the commit."""
    commit = _download_file(client, name, "main", CONFIG, folder, progress)
    if commit is None:
        raise _missing_file_error(name, CONFIG)
    bert_config(read_json_object(folder / CONFIG), f"{name} on the hub")
    for file in OPTIONAL_FILES:
        _download_file(client, name, commit, file, folder, progress)
    for file in REQUIRED_FILES:
        if _download_file(client, name, commit, file, folder, progress) is None:
            raise _missing_file_error(name, file)
    open_model_folder(folder)
    return {"kind": "weights", "model": name, "revision": commit}


def _download_file(
    client: HubClient, name: str, revision: str, file: str, folder: Path, progress: DownloadProgress
) -> str | None:
    """The commit of the response, None if the hub has no such file."""
    response = client.request(f"{name}/resolve/{revision}/{file}")
    if response is None:
        return None
    target = folder / file
    target.parent.mkdir(exist_ok=True)
    save_response(response, target, progress)
    commit = response.header("X-Repo-Commit")
    return commit if re.fullmatch("[0-9a-f]{40}", commit) else revision


def save_response(response: HubResponse, target: Path, progress: DownloadProgress = _no_progress) -> None:
    """Writes the body to a file; a truncated body or a wrong checksum is an error."""
    from rankproof._io.files import file_sha256

    done = 0
    with open(target, "wb") as file:
        for block in response.blocks():
            done += len(block)
            file.write(block)
            progress(done, response.length)
    digest = response.header("X-Linked-Etag").strip('"')
    if re.fullmatch("[0-9a-f]{64}", digest) and file_sha256(target) != digest:
        raise ExternalError(escape_invisible(f"{response.url}: the checksum does not match the checksum on the hub; try again"))


def _missing_file_error(name: str, file: str) -> ExternalError:
    more = ": only safetensors are read, because .bin files are pickles, which can run any code" if file == WEIGHTS else ""
    return ExternalError(
        escape_invisible(f"{name} on the hub has no {file}{more}; check the name, or use the model as torch:{name}")
    )
