"""Stages built once on one corpus, and asked one query at a time."""

from __future__ import annotations

from collections.abc import Iterable

from ..data.corpus import Corpus
from ..data.queries import Query
from ..data.ranking import Ranking
from ..experiment.keep import MemoryKeep
from ..experiment.rungs import with_below
from ..stages.base import Ground, Stage
from ..stages.clock import Clock


class Built:
    """Every stage and whatever it rests on, each distinct one once; stages on one encoder share the documents' vectors."""

    def __init__(self, stages: Iterable[Stage], corpus: Corpus) -> None:
        parts = dict.fromkeys(part for stage in stages for part in with_below(stage))
        with MemoryKeep(lambda label, done, total: None) as keep:
            ground = Ground(corpus, corpus.fingerprint(), keep)
            self._searchers = {part: part.build(ground) for part in parts}

    def ranking(self, stage: Stage, query: Query) -> Ranking:
        """The documents that the stage finds, best first, and their scores."""
        below = [self.ranking(part, query) for part in stage.below()]
        return self._searchers[stage].search(query, below, Clock())
