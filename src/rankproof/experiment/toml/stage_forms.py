"""Every stage that may stand in an experiment file, with its keys."""

from __future__ import annotations

from collections.abc import Mapping

from ..._fusion.checks import methods_with
from ..._fusion.method import METHODS
from ..._fusion.normalisations import NORMALISATIONS
from .form import CHAT, DEPTH, ENCODER, FIELDS, PASSAGE_PROMPT, QUERY_PROMPT, Form, Key

_NORMS = ", ".join(NORMALISATIONS.registered())

STAGES: Mapping[str, Form] = {
    "bm25": Form(
        "BM25",
        "ranks by shared words, or by other shared tokens",
        {
            "tokens": Key("text", "what is counted: words, or without a language characters-N, bytes-N or bpe-N"),
            "k1": Key("number", "how soon a repeated word stops counting"),
            "b": Key("number", "how far long documents are held back, from 0 to 1"),
            "language": Key("text", "whose stop words and word forms; words alone have them"),
            "stemming": Key("flag", "whether word forms are brought together"),
            "stop_words": Key("stop words", "whether the commonest words are left out, or which words are"),
            "fields": FIELDS,
            "depth": DEPTH,
        },
    ),
    "dense": Form(
        "Dense",
        "ranks by the nearness of vectors",
        {
            "model": ENCODER,
            "query_prompt": QUERY_PROMPT,
            "passage_prompt": PASSAGE_PROMPT,
            "store": Key("store", "where the vectors are searched"),
            "fields": FIELDS,
            "depth": DEPTH,
        },
    ),
    "fuse": Form(
        "Fuse",
        "joins the rankings of several systems",
        {
            "of": Key("systems", "the systems that are joined", "stages"),
            "method": Key("text", f"the fusion method: {', '.join(METHODS.registered())}"),
            "k": Key("number", f"the constant of {methods_with('k')}"),
            "weights": Key("numbers", "one number for each system (all 1)"),
            "norm": Key("text", f"how scores are normalised, per query: {_NORMS}"),
            "depth": DEPTH,
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
            "norm": Key("text", f"how scores are normalised before they are blended: {_NORMS}"),
        },
    ),
    "chunked": Form(
        "Chunked",
        "lets a system search chunks of the documents; a document ranks by its best chunk",
        {
            "of": Key("system", "the system that searches the chunks; its depth counts chunks", "stage"),
            "size": Key("whole", "how many units a chunk has"),
            "overlap": Key("whole", "how many of them it shares with the chunk before (a fifth)"),
            "unit": Key("text", "what is counted: words, sentences or tokens"),
            "tokenizer": Key("text", "whose tokens: wordllama"),
            "pool": Key("whole", "collapse the first so many chunks only (all)"),
            "rule": Key("text", "how chunks become documents: best"),
            "depth": DEPTH,
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
            "fields": FIELDS,
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
            "fields": FIELDS,
            "language": Key("text", "whose stop words and word forms"),
        },
    ),
    "rewrite": Form(
        "Rewrite",
        "asks a system what a language model makes of the query",
        {
            "of": Key("system", "the system that is asked", "stage"),
            "model": CHAT,
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
