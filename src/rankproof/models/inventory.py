"""What is kept in the cache folder of models, for a reader to see."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import WorldError
from .checksums import sha256_of
from .kept_folder import MANIFEST, facts_of, models_home
from .wordllama_model import WordLlama, weights_file


@dataclass(frozen=True, slots=True)
class Kept:
    """One folder: whose it is, what it holds, which revision, its bytes and where it is."""

    model: str
    kind: str
    revision: str
    bytes: int
    path: Path


def inventory() -> list[Kept]:
    """Weights and graphs, by model; static vectors that came with their package first."""
    manifests = [*models_home().glob(f"*/{MANIFEST}"), *models_home().glob(f"hub/*/{MANIFEST}")]
    found = [_kept(manifest.parent) for manifest in manifests if not manifest.parent.name.startswith(".")]
    return [*_packaged(), *sorted(found, key=lambda one: (one.model, one.kind, str(one.path)))]


def _packaged() -> list[Kept]:
    if not WordLlama().is_ready():
        return []
    weights = weights_file()
    return [Kept("wordllama", "weights", sha256_of(weights), weights.stat().st_size, weights.parent)]


def _kept(folder: Path) -> Kept:
    try:
        facts = facts_of(folder)
    except WorldError:
        facts = {}
    kind = " ".join(str(facts[part]) for part in ("precision", "kind") if part in facts)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Kept(str(facts.get("model", "?")), kind or "?", str(facts.get("revision", "?")), size, folder)
