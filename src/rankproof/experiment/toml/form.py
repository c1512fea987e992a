"""How a value is written in an experiment file: its keys, and those that several kinds of values share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .kinds import KindName


@dataclass(frozen=True, slots=True)
class Key:
    """A key: what it takes, what it is for, and which part of the value it fills where that has another name."""

    kind: KindName
    about: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """How a value of `rankproof.stages` is written."""

    value: str
    about: str
    keys: Mapping[str, Key]


FIELDS = Key("texts", "the parts of a document that are read")
DEPTH = Key("whole", "how many documents each ranking keeps")
ENCODER = Key("encoder", "the encoder: a name, a folder with weights, or a name of the model hub")
QUERY_PROMPT = Key("text", "stands before each query, for encoders that were trained so")
PASSAGE_PROMPT = Key("text", "stands before each passage")
CHAT = Key("chat", "the language model: a name, or a table with a name and settings")
