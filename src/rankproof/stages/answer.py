"""Answering: a language model answers each query from the first passages of a ranking, and names its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from .._registry import Option
from ..asking.asker import Asker
from ..asking.estimate import Estimate, estimate_of
from ..asking.fence import cut_among
from ..asking.prompt import refuse_prompt
from ..data.answers import ABSTENTION
from ..data.answers import Answer as Given
from ..data.corpus import Corpus
from ..data.queries import Query
from ..data.ranking import Ranking
from ..models.chat.port import ChatModel
from .answer_prompt import PROMPT, ask_of
from .answer_reply import Said, said_in
from .base import Cost, Ground, Stage
from .chunked import whole_documents_note
from .clock import Clock
from .passages import DEFAULT_FIELDS, passage, refuse_unknown_fields
from .settings import Attempts, ChatOption, Fields, MaxTokens, PassageCharacters, check


@dataclass(frozen=True)
class Answer:
    """The ranking below as it is, and an answer from its first `top` passages, each cut after `passage_characters`.

    The prompt holds {question} and {passages}, and {abstention}: what the model is to reply where the passages do not tell.
    """

    stage: Annotated[Stage, Option("the system whose documents the answer is made from", key="of")]
    model: ChatOption
    top: Annotated[int, Option("how many documents the model reads", least=1)] = 5
    prompt: Annotated[str, Option("the prompt, with {question}, {passages} and {abstention} in it")] = PROMPT
    abstention: Annotated[str, Option("the reply expected if the documents do not contain the answer")] = ABSTENTION
    fields: Fields = DEFAULT_FIELDS
    passage_characters: PassageCharacters = 1500
    max_tokens: MaxTokens = 200
    attempts: Attempts = 2
    kind: ClassVar[Literal["answer"]] = "answer"

    def __post_init__(self) -> None:
        check(self)
        refuse_prompt("prompt", self.prompt, ("question", "passages"))

    @property
    def depth(self) -> int:
        """As many as the stage below keeps."""
        return self.stage.depth

    @property
    def chat(self) -> ChatModel:
        """The model that answers."""
        return self.model

    def below(self) -> tuple[Stage, ...]:
        """The stage whose ranking gives the passages."""
        return (self.stage,)

    def estimate(self, queries: Sequence[Query], ground: Ground) -> Estimate:
        """One ask a query, with the longest passages that there are."""
        every = sorted((passage(document, self.fields) for document in ground.corpus.values()), key=len, reverse=True)
        return sum((estimate_of(ask_of(self, query, every[: self.top])) for query in queries if every), Estimate())

    def build(self, ground: Ground) -> AnswerSearcher:
        """Nothing is made in advance."""
        refuse_unknown_fields(ground.corpus, self.fields)
        return AnswerSearcher(self, ground.corpus, ground.desk.asker(self.model, "answer"))


class AnswerSearcher:
    """Where the passages are, and who asks the model."""

    def __init__(self, stage: Answer, corpus: Corpus, asker: Asker) -> None:
        self._stage, self._corpus, self._asker = stage, corpus, asker

    @property
    def lanes(self) -> int:
        """As many as the model answers at once."""
        return max(1, self._stage.model.concurrency)

    def search(self, query: Query, below: Sequence[Ranking], clock: Clock) -> Ranking:
        """The ranking below."""
        return below[0]

    def answer(self, query: Query, ranking: Ranking, clock: Clock) -> Given:
        """What the model says; it is not asked where nothing was found or the query has no word."""
        given = tuple(ranking[0][: self._stage.top])
        if not given or not query.text.strip():
            return Given("", given=given, state="abstained")
        texts = [passage(self._corpus[doc], self._stage.fields) for doc in given]
        clock.cut += cut_among(texts, self._stage.passage_characters)
        tally = clock.tally("generate")
        meaning = partial(said_in, count=len(given), abstention=self._stage.abstention)
        said = self._asker.read(ask_of(self._stage, query, texts), meaning, tally, attempts=self._stage.attempts)
        if said is None:
            return Given("", given=given, state="failed")
        tally.count("by_text", said.by_text)
        tally.count("dropped", said.dropped)
        return _given(said, given)

    def cost(self) -> Cost:
        """Nothing is indexed."""
        return Cost()

    def facts(self) -> Mapping[str, Any]:
        """The model, and how many passages it reads."""
        return {**self._asker.facts(), "top": self._stage.top, "passage_characters": self._stage.passage_characters}

    def notes(self) -> Sequence[str]:
        """What the passages are; what went wrong is counted query by query."""
        return whole_documents_note(self._stage.stage)

    def close(self) -> None:
        """Nothing is open."""


def _given(said: Said, given: tuple[str, ...]) -> Given:
    if said.abstained:
        return Given(said.text, given=given, state="abstained")
    return Given(said.text, tuple(given[number - 1] for number in said.sources), given)
