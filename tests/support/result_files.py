"""Writes a changed result.json with the digest of its new content, as a program would that knows the format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rankproof._io.strict_json import with_digest


def write_result_file(file: Path, document: Any) -> None:
    plain = {key: value for key, value in document.items() if key != "digest"} if isinstance(document, dict) else document
    content = (json.dumps(plain, indent=1) + "\n").encode()
    file.write_bytes(with_digest(content) if content.endswith(b"\n}\n") else content)
