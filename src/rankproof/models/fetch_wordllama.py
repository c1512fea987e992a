"""Getting WordLlama's vectors: from an installed package or a wheel on PyPI, which is never installed."""

from __future__ import annotations

from pathlib import Path

from .hub import Progress
from .kept_folder import kept
from .model_folder import TOKENIZER, WEIGHTS
from .pinned_files import Say, gathered
from .wheel import Wheel
from .wordllama_model import PINNED, wordllama_folder

# Every wheel of the version has the same files; naming one makes it serve every Python and every machine.
_PLATFORM = ("--python-version=3.12", "--implementation=cp", "--abi=cp312", "--platform=manylinux2014_x86_64")
WHEEL = Wheel(
    "wordllama==0.4.0.post1",
    "wordllama",
    {WEIGHTS: "weights/l2_supercat_256.safetensors", TOKENIZER: "tokenizers/l2_supercat_tokenizer_config.json"},
    _PLATFORM,
)


def get_wordllama(say: Say, progress: Progress) -> Path:
    """The folder with vectors and tokenizer; what is there already is only checked."""
    target = wordllama_folder()
    if target.is_dir():
        say("wordllama is here already; checking it")
    roads = {
        f"the installed package {WHEEL.package}": WHEEL.from_installed,
        f"PyPI's wheel {WHEEL.requirement} (19 MB)": WHEEL.from_index,
    }
    return kept(target, lambda unfinished: gathered("wordllama", PINNED, roads, unfinished, say, progress))
