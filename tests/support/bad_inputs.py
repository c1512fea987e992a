"""The bad inputs of tests/bad_inputs: its files are in an archive, so that git and editors leave their bytes alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from support.paths import TESTS

FOLDER = TESTS / "bad_inputs"
ARCHIVE = FOLDER / "files.zip"


def bad_input_cases() -> list[dict[str, Any]]:
    """The cases of the manifest."""
    cases: list[dict[str, Any]] = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))["cases"]
    return cases


def bad_input_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a JSONL file of the archive."""
    with ZipFile(ARCHIVE) as archive:
        return [json.loads(line) for line in archive.read(name).decode().splitlines()]


def harmful_texts() -> list[str]:
    """Texts that do harm where they are taken for more than text."""
    return [row["text"] for row in bad_input_rows("c27_text_payloads/payloads.jsonl")]


def unpack_bad_inputs(folder: Path) -> Path:
    """The folder, with every file of the archive in it."""
    with ZipFile(ARCHIVE) as archive:
        archive.extractall(folder)
    return folder
