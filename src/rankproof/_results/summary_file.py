"""summary.json of a results folder: written with the sizes of the other files, and read for lists, without loading the rest."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Any

from rankproof._data import format_versions
from rankproof._io import strict_json
from rankproof._io.escape import escape_json
from rankproof._io.files import open_plain_file
from rankproof._io.strict_json import has_own_digest, with_digest
from rankproof._results.result_json import DECISION_FILE
from rankproof.errors import RankproofError

SUMMARY_FORMAT = "rankproof-summary"
_MAX_BYTES = 1 << 22
"""A larger summary is not read: the list loads the results instead."""


def summary_content(document: Mapping[str, Any], folder: str, files: Iterable[str]) -> bytes:
    """The content of the file: the document, the sizes of files of the folder, and a digest of both."""
    sizes = {name: os.stat(os.path.join(folder, *name.split("/"))).st_size for name in files}
    plain = {**document, "files": sizes}
    text = escape_json(json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"
    return with_digest(text.encode(errors="backslashreplace"))


def read_summary(folder: str) -> dict[str, Any] | None:
    """The document, None if it is missing, of another version or edited, or if a listed file is a link or of another size."""
    try:
        with open_plain_file(os.path.join(folder, DECISION_FILE), folder) as file:
            content = file.read(_MAX_BYTES + 1)
        document = _checked(content)
    except (OSError, RankproofError, UnicodeDecodeError):
        return None
    return document if document is not None and _has_files(folder, document.get("files")) else None


def _checked(content: bytes) -> dict[str, Any] | None:
    if len(content) > _MAX_BYTES or not has_own_digest(content):
        return None
    document = strict_json.parse_strict_json(content.decode(), source=DECISION_FILE)
    known = isinstance(document, dict) and (document.get("format"), document.get("schema")) == (
        SUMMARY_FORMAT,
        format_versions.SUMMARY,
    )
    return document if known else None


def _has_files(folder: str, sizes: Any) -> bool:
    """Whether the folder holds these files in these sizes, none of them by a link."""
    if not isinstance(sizes, dict):
        return False
    parents = {name.rpartition("/")[0] for name in sizes} - {""}
    return all(map(stat.S_ISDIR, (_status(folder, name)[0] for name in parents))) and all(
        stat.S_ISREG((status := _status(folder, name))[0]) and status[1] == size for name, size in sizes.items()
    )


def _status(folder: str, name: str) -> tuple[int, int]:
    """The mode and size; a mode of 0 if it is missing."""
    try:
        status = os.lstat(os.path.join(folder, *name.split("/")))
    except (OSError, ValueError):
        return 0, 0
    return status.st_mode, status.st_size
