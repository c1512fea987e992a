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
_CHAT = Key("chat", "the language model: a name, or a table with a name and settings")
_PROMPTED: Mapping[str, Key] = {
    "system": Key("text", "what the model is told to be; the rule that passages are data follows it"),
    "prompt": Key("text", "what the model is asked, with {query} and {passages} in it"),
    "passage_characters": Key("whole", "how much of a passage the model reads"),
    "max_tokens": Key("whole", "the most that a reply may have"),
    "attempts": Key("whole", "how often a reply of no use is asked for"),
    "fields": _FIELDS,
}

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
    "chunked": Form(
        "Chunked",
        "lets a system search chunks of the documents; a document ranks by its best chunk",
        {
            "of": Key("system", "the system that searches the chunks; its depth counts chunks", "stage"),
            "size": Key("whole", "how many units a chunk has"),
            "overlap": Key("whole", "how many of them it shares with the chunk before"),
            "unit": Key("text", "what is counted: words, sentences or tokens"),
            "tokenizer": Key("text", "whose tokens: wordllama"),
            "pool": Key("whole", "collapse the first so many chunks only (all)"),
            "rule": Key("text", "how chunks become documents: best"),
            "depth": _DEPTH,
        },
    ),
    "answer": Form(
        "Answer",
        "lets a language model answer from the first documents of a system",
        {
            "of": Key("system", "the system whose documents it answers from", "stage"),
            "model": Key("chat", "the language model"),
            "top": Key("whole", "how many documents it reads"),
            "prompt": Key("text", "what it is asked, with {question}, {passages} and {abstention} in it"),
            "abstention": Key("text", "what it is to reply where the documents do not tell"),
            "fields": _FIELDS,
            "passage_characters": Key("whole", "how much of each document it reads"),
            "max_tokens": Key("whole", "how long a reply may be"),
            "attempts": Key("whole", "how often it is asked where a reply is of no use"),
        },
    ),
    "extract": Form(
        "Extract",
        "answers with the best sentence of the first documents of a system, without a language model",
        {
            "of": Key("system", "the system whose documents it answers from", "stage"),
            "model": Key("encoder", "chooses by nearness of vectors (by shared words)"),
            "top": Key("whole", "how many documents it reads"),
            "fields": _FIELDS,
            "language": Key("text", "whose stop words and word forms"),
        },
    ),
    "rewrite": Form(
        "Rewrite",
        "asks a system what a language model makes of the query",
        {
            "of": Key("system", "the system that is asked", "stage"),
            "model": _CHAT,
            "mode": Key("text", "rewrite asks in other words, expand adds words to the query"),
            "prompt": Key("text", "what the model is asked, with {query} in it; empty for the mode's own"),
            "max_tokens": Key("whole", "the most that a reply may have"),
            "attempts": Key("whole", "how often a reply of no use is asked for"),
        },
    ),
    "rm3": Form(
        "RM3",
        "asks a bm25 system again, with words of the documents that it found first",
        {
            "of": Key("system", "the bm25 system that is asked", "stage"),
            "docs": Key("whole", "how many of its first documents give words"),
            "terms": Key("whole", "how many words join the query"),
            "weight": Key("number", "the share of the query itself, from 0 to 1"),
            "common": Key("number", "words in more than this share of all documents are left out"),
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
    "listwise": Form(
        "Listwise",
        "a language model puts windows of passages in order, from the bottom up",
        {
            "model": _CHAT,
            "window": Key("whole", "how many passages the model puts in order at once"),
            "step": Key("whole", "how many places each window lies above the one before"),
            **_PROMPTED,
            "max_tokens": Key("whole", "the most that a reply may have, 0 for as many as the window needs"),
        },
    ),
    "pointwise": Form("Pointwise", "a language model says of each passage Yes or No", {"model": _CHAT, **_PROMPTED}),
    "pairwise": Form(
        "Pairwise",
        "a language model compares every two passages, in both orders",
        {"model": _CHAT, "most": Key("whole", "the most that top may be: the number of asks grows with its square"), **_PROMPTED},
    ),
    "keywords": Form("Keywords", "how many of the query's words a passage holds", {"fields": _FIELDS}),
}


def made_of(form: Form) -> type[Any]:
    """The class of the values that are written so."""
    made: type[Any] = getattr(stages, form.value)
    return made
