"""A JSON file of a model's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import WorldError, visible
from .checksums import unreadable


def read_json(path: Path) -> Any:
    """What the file holds; a file that is no JSON is named."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, RecursionError) as error:
        raise WorldError(visible(f"{path}: no JSON ({error}); get the model anew")) from None


def read_object(path: Path) -> dict[str, Any]:
    """The object that the file holds, and an empty one where there is no file."""
    if not path.exists():
        return {}
    found = read_json(path)
    if not isinstance(found, dict):
        raise WorldError(visible(f"{path}: no JSON object; get the model anew"))
    return found
