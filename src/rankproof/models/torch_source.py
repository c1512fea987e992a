"""Where a model that PyTorch runs lies, which weights those are, and what is said where it cannot be had."""

from __future__ import annotations

from pathlib import Path

from .._extras import extra, require
from ..errors import WorldError, shown, visible
from .checksums import sha256_of, sha256_of_all

SENTENCE_TRANSFORMERS, TRANSFORMERS = "sentence-transformers", "transformers"
_PATHS = ("/", "./", "../", "~")
_NOT_READ = ["onnx/*", "openvino/*", "*.h5", "*.ot", "*.msgpack"]


def is_folder(source: str) -> bool:
    """Whether it is a folder that is here, and no name on the hub."""
    return Path(source).expanduser().is_dir()


def torch_folder(source: str, revision_name: str | None, *, by: str = SENTENCE_TRANSFORMERS) -> Path:
    """The model's folder; a hub name is fetched by the library of the hub, and its folder is called after the commit."""
    if is_folder(source):
        return Path(source).expanduser()
    if source.startswith(_PATHS):
        raise WorldError(visible(f"{shown(source)}: no such folder; name a model's folder, or a model of the hub"))
    require("torch", "torch", by.replace("-", "_"))
    with extra("torch"):
        from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(source, revision=revision_name, ignore_patterns=_NOT_READ))
    except Exception as error:  # whatever the hub, the network or the name bring about
        raise cannot_load(source, error, by=by) from None


def weights_of(source: str, revision_name: str | None, *, by: str = SENTENCE_TRANSFORMERS) -> str:
    """The commit of the hub, or a sha256 over the folder's files."""
    folder = torch_folder(source, revision_name, by=by)
    if not is_folder(source):
        return folder.name
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return sha256_of_all({path.relative_to(folder).as_posix(): sha256_of(path) for path in files})


def cannot_load(source: str, error: Exception, *, by: str) -> WorldError:
    """The error for whatever the libraries raised, with the first line of their own."""
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return WorldError(
        visible(f"{shown(source)}: {by} cannot load it ({shown(first)}); check the name, the folder and the network")
    )
