"""Everything that may score documents anew in an experiment file, with its keys."""

from __future__ import annotations

from collections.abc import Mapping

from .form import CHAT, ENCODER, FIELDS, PASSAGE_PROMPT, QUERY_PROMPT, Form, Key

_PROMPTED: Mapping[str, Key] = {
    "system": Key("text", "what the model is told to be; the rule that passages are data follows it"),
    "prompt": Key("text", "what the model is asked, with {query} and {passages} in it"),
    "passage_characters": Key("whole", "how much of a passage the model reads"),
    "max_tokens": Key("whole", "the most that a reply may have"),
    "attempts": Key("whole", "how often a reply of no use is asked for"),
    "fields": FIELDS,
}

RESCORERS: Mapping[str, Form] = {
    "maxsim": Form("MaxSim", "late interaction over the encoder's token vectors", {"model": ENCODER, "fields": FIELDS}),
    "similarity": Form(
        "Similarity",
        "nearness of the encoder's vectors",
        {"model": ENCODER, "query_prompt": QUERY_PROMPT, "passage_prompt": PASSAGE_PROMPT, "fields": FIELDS},
    ),
    "pairs": Form(
        "Pairs",
        "a cross-encoder, which reads query and passage together",
        {"model": Key("pair model", "the cross-encoder: a folder with weights, or a name of the model hub"), "fields": FIELDS},
    ),
    "listwise": Form(
        "Listwise",
        "a language model puts windows of passages in order, from the bottom up",
        {
            "model": CHAT,
            "window": Key("whole", "how many passages the model puts in order at once"),
            "step": Key("whole", "how many places each window lies above the one before"),
            **_PROMPTED,
            "max_tokens": Key("whole", "the most that a reply may have, 0 for as many as the window needs"),
        },
    ),
    "pointwise": Form("Pointwise", "a language model says of each passage Yes or No", {"model": CHAT, **_PROMPTED}),
    "pairwise": Form(
        "Pairwise",
        "a language model compares every two passages, in both orders",
        {"model": CHAT, "most": Key("whole", "the most that top may be: the number of asks grows with its square"), **_PROMPTED},
    ),
    "keywords": Form("Keywords", "how many of the query's words a passage holds", {"fields": FIELDS}),
}
