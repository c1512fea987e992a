"""Queries by a language model, which reads a document or two and writes a query of a category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from ..asking.asker import Asker
from ..asking.desk import Desk
from ..asking.estimate import Estimate, estimate_of
from ..asking.lanes import in_lanes
from ..asking.query_reply import line_in, query_in
from ..asking.reading import json_in
from ..asking.spoken import text_of
from ..asking.tally import COUNTS, Sums
from ..data.identity import identity, key_of
from ..errors import shown
from ..models.chat.naming import model_mark
from ..models.chat.port import Ask, ChatModel, Reply
from ..stages.base import Progress
from .draft import Draft, Lost, Source
from .filters import LONGEST
from .lexicon import Lexicon
from .maker import Outcome
from .prompts import CHARACTERS, PROMPT, SCHEMA, SYSTEM, TASKS, ask_of

USE = "generate"
_LABEL = "generate: asking"
_BLOCK = 4
"""Asks for each lane between two looks at how far it is."""


class ModelMaker:
    """Asks for each query on its own; replies of no use are asked for again, and documents without one are listed."""

    rounds: int | None = 3

    def __init__(
        self,
        model: ChatModel,
        lexicon: Lexicon,
        desk: Desk,
        progress: Progress,
        *,
        attempts: int = 3,
        max_tokens: int = 200,
    ) -> None:
        self._model, self._lexicon, self._desk, self._progress = model, lexicon, desk, progress
        self._attempts, self._max_tokens = attempts, max_tokens
        self._unfounded, self._sums = 0, Sums()

    @cached_property
    def mark(self) -> str:
        """llm:MODEL:DIGEST of the model with its settings, and of everything that it is asked."""
        asked = (SYSTEM, PROMPT, dict(TASKS), SCHEMA, CHARACTERS, self._max_tokens, self._attempts)
        return model_mark(self._model, key_of(self._model, *asked))

    def categories(self) -> tuple[str, ...]:
        """One a task."""
        return tuple(TASKS)

    def outcomes(self, sources: Sequence[Source]) -> list[Outcome]:
        """What the model makes of each, as many at once as it takes."""
        asker, lanes, found = self._desk.asker(self._model, USE), max(1, self._model.concurrency), []
        for start in range(0, len(sources), _BLOCK * lanes):
            block = sources[start : start + _BLOCK * lanes]
            for outcome, sums in in_lanes(self._desk, partial(self._outcome, asker), block, lanes):
                found.append(outcome)
                self._add(outcome, sums)
            self._progress(_LABEL, len(found), len(sources))
        return found

    def _outcome(self, asker: Asker, source: Source) -> tuple[Outcome, Sums]:
        sums, heard = Sums(), [""]
        draft = asker.read(
            self._ask(source),
            partial(self._meaning, source),
            sums,
            attempts=self._attempts,
            heard=lambda error: heard.append(str(error)),
        )
        return draft or Lost(source, shown(heard[-1])), sums

    def estimate(self, sources: Sequence[Source]) -> Estimate:
        """One ask for each."""
        return sum((estimate_of(self._ask(source)) for source in sources), Estimate())

    def told(self) -> Mapping[str, Any]:
        """The model, the prompts, and what asking came to."""
        return {
            "by": "model",
            "model": identity(self._model),
            "system": SYSTEM,
            "prompt": PROMPT,
            "answers_not_in_the_document": self._unfounded,
            "asked": self._sums.plain(),
            "spent_by_this_start": self._desk.purse.spent.plain(),
        }

    def _ask(self, source: Source) -> Ask:
        return ask_of(source.category, [self._lexicon.texts[doc] for doc in source.docs], self._max_tokens)

    def _meaning(self, source: Source, reply: Reply) -> Draft:
        """The query, with its answer where that stands in a document."""
        found = json_in(text_of(reply))
        text = query_in(found, "query", 2 * LONGEST)
        answer = line_in(found, "answer") if found.get("answer") is not None else ""
        if not answer:
            return Draft(text)
        founded = is_in(answer, (self._lexicon.texts[doc] for doc in source.docs))
        return Draft(text, (answer,)) if founded else Draft(text, unfounded=True)

    def _add(self, outcome: Outcome, sums: Sums) -> None:
        for name in COUNTS:
            self._sums.count(name, sums.counts[name])
        self._sums.asked(sums.seconds)
        if isinstance(outcome, Draft) and outcome.unfounded:
            self._unfounded += 1


def is_in(answer: str, texts: Iterable[str]) -> bool:
    """Whether the answer stands in a text, whatever the case and the blanks."""
    wanted = " ".join(answer.casefold().split())
    return any(wanted in " ".join(text.casefold().split()) for text in texts)
