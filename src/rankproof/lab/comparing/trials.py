"""The checkpoints below a folder: the repeats of one tokenizer together, and whether all were trained alike."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from ...errors import UsageError, shown
from ...formats.opening import path_text
from ...models.trial.checkpoint import CARD, Checkpoint, open_checkpoint
from ...models.trial.kinds import Family, kind_named
from ...models.trial.model import Place
from ...stores.ports import Store
from .contestants import Contestant, trial

_EQUAL = ("trained", "recipe", "data")
"""What the cards of repeats must have in common; under a budget of operations even their steps may differ by one."""


@dataclass(frozen=True, slots=True)
class Trials:
    """The systems, and what must be known of them together."""

    contestants: tuple[Contestant, ...] = ()
    notes: tuple[str, ...] = ()


def trials_in(folder: str, store: Store, device: Place = "cpu") -> Trials:
    """Every checkpoint at or below the folder; those of one tokenizer that lie side by side are repeats."""
    top = Path(path_text(folder)).expanduser()
    places = sorted(path.parent for path in top.rglob(CARD) if not _is_hidden(path, top)) if top.is_dir() else []
    if not places:
        raise UsageError(f"{shown(folder)} has no checkpoint", fix="name a folder that rankproof tokenizers train has written")
    groups: dict[str, dict[Path, Checkpoint]] = {}
    for place, opened in sorted(((place, open_checkpoint(place)) for place in places), key=_fineness):
        groups.setdefault(_name(top, place, opened), {})[place] = opened
    for name, opened_at in groups.items():
        _refuse_mixed(name, opened_at)
    contestants = tuple(trial(name, _labels(name, each), store, device) for name, each in groups.items())
    return Trials(contestants, tuple(_unequal(groups)))


def _is_hidden(path: Path, top: Path) -> bool:
    """Whether it lies in a folder that begins with a dot, as those do that a killed training left."""
    return any(part.startswith(".") for part in path.relative_to(top).parts)


def _fineness(found: tuple[Path, Checkpoint]) -> tuple[Path, int, int, Path]:
    """Finer tokens before coarser ones, those of one folder together."""
    place, opened = found
    kind = kind_named(opened.shape.kind)
    return place.parent, get_args(Family).index(kind.family), kind.size, place


def _name(top: Path, place: Path, opened: Checkpoint) -> str:
    """The tokenizer's name, behind the folders between the top and the checkpoint."""
    between = place.parent.relative_to(top).as_posix() if place != top else "."
    return opened.shape.kind if between == "." else f"{between}/{opened.shape.kind}"


def _labels(name: str, each: Mapping[Path, Checkpoint]) -> dict[str, str]:
    if len(each) == 1:
        return {name: os.fspath(next(iter(each)))}
    return {f"{name} #{opened.card.get('seed')}": os.fspath(place) for place, opened in each.items()}


def _refuse_mixed(name: str, repeats: Mapping[Path, Checkpoint]) -> None:
    """Repeats differ in their seed and in nothing else."""
    seeds: dict[str, Path] = {}
    for place, opened in repeats.items():
        if (other := seeds.setdefault(repr(opened.card.get("seed")), place)) != place:
            both = f"{shown(str(other))} and {shown(str(place))}"
            raise UsageError(f"two checkpoints of {shown(name)} have the same seed, {both}", fix="remove one of them")
    first, *others = repeats.values()
    if any(opened.shape != first.shape or _alike(opened.card) != _alike(first.card) for opened in others):
        fix = "put those that were trained in another way into a folder of their own"
        raise UsageError(f"the checkpoints of {shown(name)} differ in more than their seed", fix=fix)


def _alike(card: Mapping[str, Any]) -> dict[str, Any]:
    return {key: card.get(key) for key in _EQUAL}


def _unequal(groups: Mapping[str, Mapping[Path, Checkpoint]]) -> Iterator[str]:
    """A note for each thing besides the tokenizer in which the trials differ."""
    firsts = {name: next(iter(each.values())).card for name, each in groups.items()}
    for key, words in (("recipe", "by different recipes"), ("data", "on different data")):
        if len({repr(card.get(key)) for card in firsts.values()}) > 1:
            yield f"the trials were trained {words}: their differences are not the tokenizer's alone"
    if len({len(each) for each in groups.values()}) > 1:
        yield "the trials have different numbers of repeats"
