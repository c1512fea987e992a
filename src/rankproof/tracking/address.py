"""The address of a tracking store: where its files lie, and how it may be shown."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import UsageError, shown

_SQLITE, _SERVERS = "sqlite:///", ("http://", "https://")


def harmless(uri: str) -> str:
    """The address without user, password and options, which may be secret."""
    try:
        parts = urlsplit(uri)
        place = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the address"
    return shown(f"{parts.scheme}://{place}{port}{parts.path}" if parts.scheme else uri)


def database(uri: str) -> str | None:
    """The file of an SQLite store, refused where its folder is missing; None for a server."""
    if uri.startswith(_SERVERS):
        return None
    if not uri.startswith(_SQLITE):
        raise UsageError(f"{harmless(uri)} is no address of a store", fix=f"write {_SQLITE}FILE.db, or http://HOST:PORT")
    path = uri.removeprefix(_SQLITE).partition("?")[0]
    folder = os.path.dirname(os.path.abspath(path))
    if not path or os.path.isdir(path) or not os.path.isdir(folder):
        raise UsageError(f"{harmless(uri)} is no file in a folder that exists", fix=f"write it like {_SQLITE}mlruns.db")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError(f"{harmless(uri)} cannot be written", fix="name a file that this user may write")
    return os.path.abspath(path)


def artifacts_beside(path: str) -> str:
    """Where the files of an SQLite store go: the folder mlruns beside it, whatever folder the command runs in."""
    return (Path(path).parent / "mlruns").as_uri()
