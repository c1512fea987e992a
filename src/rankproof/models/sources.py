"""A model's source, a folder or a name on the model hub, as a folder that is here."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import UsageError, shown
from .kept_folder import models_home

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def folder_of(source: str) -> Path:
    """The folder; a hub name is fetched where it is not here yet."""
    path = os.path.expanduser(source)
    if os.path.isdir(path):
        return Path(path).absolute()
    if not is_hub_name(source):
        raise UsageError(
            f"{shown(source)} is neither a model's folder nor a name on the hub", fix="name a folder, or ORGANISATION/MODEL"
        )
    from .hub import fetch

    return fetch(source)


def is_here(source: str) -> bool:
    """Whether the source needs no network."""
    return os.path.isdir(os.path.expanduser(source)) or (is_hub_name(source) and hub_folder(source).is_dir())


def is_hub_name(source: str) -> bool:
    """Whether it is spelt ORGANISATION/MODEL."""
    return _HUB_NAME.fullmatch(source) is not None and ".." not in source and len(source) <= 200


def hub_folder(name: str) -> Path:
    """Where a model of the hub is kept."""
    return models_home() / "hub" / name.replace("/", "--")
