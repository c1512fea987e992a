"""What is kept in the cache folder of models, for a reader to see."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import WorldError
from .chat.smollm2 import packaged, smollm2_folder
from .checksums import sha256_of
from .kept_folder import MANIFEST, facts_of, models_home
from .minilm import minilm_folder
from .sources import hub_folder, is_hub_name
from .wordllama_model import wordllama_folder


@dataclass(frozen=True, slots=True)
class Kept:
    """One folder: whose it is, what it holds, which revision, its bytes and where it is."""

    model: str
    kind: str
    revision: str
    bytes: int
    path: Path


def inventory() -> list[Kept]:
    """Weights and graphs, by model; those in an installed package first."""
    manifests = [*models_home().glob(f"*/{MANIFEST}"), *models_home().glob(f"hub/*/{MANIFEST}")]
    found = [_kept(manifest.parent) for manifest in manifests if not manifest.parent.name.startswith(".")]
    return [*_packaged(), *sorted(found, key=lambda one: (one.model, one.kind, str(one.path)))]


def place_of(name: str) -> Path | None:
    """The folder of a model's weights, None where they are not here."""
    if name == "smollm2" and not smollm2_folder().is_dir():
        return path.parent if (path := packaged()) else None
    named = {"wordllama": wordllama_folder, "minilm": minilm_folder, "smollm2": smollm2_folder}
    folder = named[name]() if name in named else hub_folder(name) if is_hub_name(name) else None
    return folder if folder is not None and folder.is_dir() else None


def _packaged() -> list[Kept]:
    """The weights that lie in installed packages."""
    path = packaged()
    return [] if path is None else [Kept("smollm2", "weights", sha256_of(path), path.stat().st_size, path.parent)]


def _kept(folder: Path) -> Kept:
    try:
        facts = facts_of(folder)
    except WorldError:
        facts = {}
    kind = " ".join(str(facts[part]) for part in ("precision", "kind") if part in facts)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Kept(str(facts.get("model", "?")), kind or "?", str(facts.get("revision", "?")), size, folder)
