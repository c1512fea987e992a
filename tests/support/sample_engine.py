"""A search engine of the sample behind HTTP: words of titles count `boost` times, and it can be told to be late."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

from rankproof._sample import sample_folder
from support.scripted_server import NEVER, Request, ScriptedServer, Sent

DEPTH = 50
_COMMON = 0.1
"""Words in more than this share of the documents do not count."""


class SampleEngine(ScriptedServer):
    """The engine; while it `hangs`, no request has a reply."""

    def __init__(self) -> None:
        super().__init__(self._answered)
        self.hangs = False
        with sample_folder() as folder:
            lines = Path(folder, "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        self._documents = [json.loads(line) for line in lines]
        self._titles = [Counter(_words(document["title"])) for document in self._documents]
        self._texts = [Counter(_words(document["text"])) for document in self._documents]
        frequent = Counter(word for words in self._texts for word in words)
        self._common = {word for word, count in frequent.items() if count > _COMMON * len(lines)}

    def _answered(self, request: Request) -> Sent:
        if self.hangs:
            return NEVER
        words = set(_words(request.body["query"])) - self._common
        scored = [(self._score(at, words, request.body["boost"]), at) for at in range(len(self._documents))]
        best = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1]))[:DEPTH]
        shown = [self._documents[at] for _, at in best]
        return Sent(
            body={
                "ids": [document["_id"] for document in shown],
                "scores": [score for score, _ in best],
                "texts": [f"{document['title']} · {document['text']}" for document in shown],
            }
        )

    def _score(self, at: int, words: set[str], boost: float) -> float:
        return sum(boost * (word in self._titles[at]) + min(self._texts[at][word], 2) for word in words)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())
