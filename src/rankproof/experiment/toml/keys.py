"""What may stand in an experiment file: every stage, every key, what each takes and what it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ... import stages
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


_FIELDS = Key("texts", "the parts of a document that are read")
_DEPTH = Key("whole", "how many documents each ranking keeps")
_ENCODER = Key("encoder", "the encoder: a name, a folder with weights, or a name of the model hub")
_QUERY_PROMPT = Key("text", "stands before each query, for encoders that were trained so")
_PASSAGE_PROMPT = Key("text", "stands before each passage")

TOP: Mapping[str, Key] = {
    "name": Key("text", "what the experiment is called (the file's name)"),
    "dataset": Key("text", 'the folder of the dataset, irds:NAME, or "sample"; relative to this file'),
    "split": Key("text", 'which file of judgements, where the dataset has several ("test")'),
    "measures": Key("texts", "what is measured, the first one first (the usual set)"),
    "rel": Key("whole", "the least grade that counts as relevant (1)"),
    "limit": Key("whole", "ask so many of the judged queries only, drawn by the seed (all)"),
    "seed": Key("whole", "draws the queries of `limit` (0)"),
}

EVERY: Mapping[str, Key] = {
    "stage": Key("text", "what kind of system it is"),
    "hidden": Key("flag", "true for a part of others that is no system of its own (false)"),
}

STAGES: Mapping[str, Form] = {
    "bm25": Form(
        "BM25",
        "ranks by shared words",
        {
            "k1": Key("number", "how soon a repeated word stops counting"),
            "b": Key("number", "how far long documents are held back, from 0 to 1"),
            "language": Key("text", "whose stop words and word forms"),
            "stemming": Key("flag", "whether word forms are brought together"),
            "stop_words": Key("stop words", "whether the commonest words are left out, or which words are"),
            "fields": _FIELDS,
            "depth": _DEPTH,
        },
    ),
    "dense": Form(
        "Dense",
        "ranks by the nearness of vectors",
        {
            "model": _ENCODER,
            "query_prompt": _QUERY_PROMPT,
            "passage_prompt": _PASSAGE_PROMPT,
            "store": Key("store", "where the vectors are searched"),
            "fields": _FIELDS,
            "depth": _DEPTH,
        },
    ),
    "fuse": Form(
        "Fuse",
        "joins the rankings of several systems",
        {
            "of": Key("systems", "the systems that are joined", "stages"),
            "method": Key("text", "rrf adds 1 / (k + rank), combsum adds scores, combmnz counts finders as well"),
            "k": Key("number", "the constant of rrf"),
            "weights": Key("numbers", "one number for each system (all 1)"),
            "norm": Key("text", "of scores, per query: min-max, z-score or none"),
            "depth": _DEPTH,
        },
    ),
    "rerank": Form(
        "Rerank",
        "puts the first documents of a system in a better order",
        {
            "of": Key("system", "the system whose ranking is put in order", "stage"),
            "by": Key("rescorer", "what scores the documents anew"),
            "top": Key("whole", "how many of the first documents are put in a new order"),
            "weight": Key("number", "1 goes by the new scores alone, less blends in the old ones"),
            "norm": Key("text", "of scores before they are blended: z-score, min-max or none"),
        },
    ),
}

RESCORERS: Mapping[str, Form] = {
    "maxsim": Form("MaxSim", "late interaction over the encoder's token vectors", {"model": _ENCODER, "fields": _FIELDS}),
    "similarity": Form(
        "Similarity",
        "nearness of the encoder's vectors",
        {"model": _ENCODER, "query_prompt": _QUERY_PROMPT, "passage_prompt": _PASSAGE_PROMPT, "fields": _FIELDS},
    ),
    "pairs": Form(
        "Pairs",
        "a cross-encoder, which reads query and passage together",
        {"model": Key("pair model", "the cross-encoder: a folder with weights, or a name of the model hub"), "fields": _FIELDS},
    ),
    "keywords": Form("Keywords", "how many of the query's words a passage holds", {"fields": _FIELDS}),
}


def made_of(form: Form) -> type[Any]:
    """The class of the values that are written so."""
    made: type[Any] = getattr(stages, form.value)
    return made
