"""What may stand in an experiment file: every stage, every key, what each takes and what it is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import stages
from .form import Form, Key
from .rescorer_forms import RESCORERS
from .stage_forms import STAGES

__all__ = ["EVERY", "RESCORERS", "STAGES", "TOP", "Form", "Key", "made_of"]

TOP: Mapping[str, Key] = {
    "name": Key("text", "what the experiment is called (the file's name)"),
    "dataset": Key("text", 'the folder of the dataset, irds:NAME, or "sample"; relative to this file'),
    "split": Key("text", 'which file of judgements, where the dataset has several ("test")'),
    "measures": Key("texts", "what is measured, the first one first (the usual set)"),
    "rel": Key("whole", "the least grade that counts as relevant (1)"),
    "limit": Key("whole", "ask so many of the judged queries only, drawn by the seed (all)"),
    "seed": Key("whole", "draws the queries of `limit` (0)"),
    "collapse": Key("text", "where documents are chunks: the field that says of what, such as url (none)"),
    "pool": Key("whole", "collapse the first so many chunks of a ranking only (all)"),
}

EVERY: Mapping[str, Key] = {
    "stage": Key("text", "what kind of system it is"),
    "hidden": Key("flag", "true for a part of others that is no system of its own (false)"),
}


def made_of(form: Form) -> type[Any]:
    """The class of the values that are written so."""
    made: type[Any] = getattr(stages, form.value)
    return made
