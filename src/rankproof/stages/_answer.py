"""Answers queries with a language model, from the first passages of a ranking."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.answers import ABSTAIN_PHRASE, is_abstention
from rankproof._data.answers import Answer as Given
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.ordering import Ranking
from rankproof._llm.budget import Estimate, estimate_request
from rankproof._llm.client import ChatClient, ReplyParseError
from rankproof._llm.parsing import parse_json, reply_text
from rankproof._llm.prompts import UNTRUSTED_DATA_RULE, check_prompt, count_truncated, fill_prompt, quote_untrusted
from rankproof._registry import Option
from rankproof.models._chat.base import ChatReply, ChatRequest, Message
from rankproof.stages._base import BuildContext, CallsModel, OneInput, QueryTimer, Searcher, Stage
from rankproof.stages._chunked import whole_documents_note
from rankproof.stages._fields import (
    DEFAULT_FIELDS,
    Attempts,
    ChatOption,
    Fields,
    MaxTokens,
    PassageCharacters,
    check_known_fields,
    check_settings,
    passage_text,
)

ANSWER_SYSTEM = "You answer questions from passages. " + UNTRUSTED_DATA_RULE
ANSWER_PROMPT = """Answer the question from the passages below and from nothing else, in as few words as will do.
Name the numbers of the passages that the answer rests on as its sources.
If the passages do not hold the answer, the answer is {abstention} and has no sources.
Reply with JSON only: {"answer": "the answer", "sources": [1]}

{question}

{passages}"""
ANSWER_SCHEMA = (
    '{"type":"object","properties":{"answer":{"type":"string"},"sources":{"type":"array","items":{"type":"integer"}}},'
    '"required":["answer","sources"],"additionalProperties":false}'
)


def answer_request(stage: GenerateAnswer, query: Query, passages: Sequence[str]) -> ChatRequest:
    """The request with the question and the passages, each quoted; passages are numbered from 1."""
    text = fill_prompt(
        stage.prompt,
        abstention=stage.abstention,
        question=quote_untrusted([query.text], labels=["question"]),
        passages=quote_untrusted(passages, characters=stage.passage_characters),
    )
    return ChatRequest((Message("system", ANSWER_SYSTEM), Message("user", text)), stage.max_tokens, ANSWER_SCHEMA)


_CITATION_MARKS = re.compile(r"\s*\[((?:passage )?[0-9]{1,9}(?:\s*[,;]\s*[0-9]{1,9})*)\]", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,9}")
_STRUCTURED_STARTS = ("{", "[{", '["', "```", "<")


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer and the numbers of its sources; `dropped` counts sources out of range, `by_text` is 1 for plain text."""

    text: str
    sources: tuple[int, ...] = ()
    dropped: int = 0
    by_text: int = 0
    abstained: bool = False


def parse_answer(reply: ChatReply, *, count: int, abstention: str) -> ParsedAnswer:
    """The answer in the reply to `count` passages; ReplyParseError if there is none."""
    text = reply_text(reply)
    reply_object = _answer_object(text)
    answer = text if reply_object is None else reply_object.get("answer")
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        answer = str(answer)
    if not isinstance(answer, str):
        raise ReplyParseError("no answer that is text")
    bare = _checked_answer(_CITATION_MARKS.sub("", answer).strip())
    if is_abstention(bare, abstention):
        return ParsedAnswer(bare, by_text=int(reply_object is None), abstained=True)
    named = [*_source_numbers({} if reply_object is None else reply_object), *_citation_numbers(answer)]
    real = [number for number in named if isinstance(number, int) and 1 <= number <= count]
    strange = {repr(number) for number in named if number not in real}
    return ParsedAnswer(bare, tuple(dict.fromkeys(real)), len(strange), int(reply_object is None))


def _answer_object(text: str) -> dict[str, Any] | None:
    """The JSON object of the reply, None for plain text; broken JSON is an error."""
    try:
        return parse_json(text)
    except ReplyParseError:
        if text.lstrip().startswith(_STRUCTURED_STARTS) or '"answer"' in text:
            raise
        return None


def _checked_answer(text: str) -> str:
    if not re.search(r"\w", text):
        raise ReplyParseError("an answer without words")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ReplyParseError("an answer with a lone surrogate") from None
    return text


def _source_numbers(reply_object: dict[str, Any]) -> list[object]:
    """The numbers under `sources`; a number may be written as text."""
    sources = reply_object.get("sources", [])
    listed = sources if isinstance(sources, list) else [sources]
    return [_source_number(source) for source in listed if source is not None]


def _source_number(value: object) -> object:
    if isinstance(value, str) and (number := _NUMBER.search(value)):
        return int(number[0])
    return str(value) if isinstance(value, bool) else value


def _citation_numbers(text: str) -> list[int]:
    return [int(number) for marks in _CITATION_MARKS.findall(text) for number in _NUMBER.findall(marks)]


@dataclass(frozen=True)
class GenerateAnswer(OneInput, CallsModel):
    """Keeps the ranking of its input and answers from its first `top` passages, each truncated to `passage_characters`.

    The prompt contains {question}, {passages} and {abstention}, the reply for passages without the answer.
    """

    stage: Annotated[Stage, Option("the system whose documents the answer is made from", key="of")]
    model: ChatOption
    top: Annotated[int, Option("how many documents the model reads", least=1)] = 5
    prompt: Annotated[str, Option("the prompt, with {question}, {passages} and {abstention} in it")] = ANSWER_PROMPT
    abstention: Annotated[str, Option("the reply expected if the documents do not contain the answer")] = ABSTAIN_PHRASE
    fields: Fields = DEFAULT_FIELDS
    passage_characters: PassageCharacters = 1500
    max_tokens: MaxTokens = 200
    attempts: Attempts = 2
    kind: ClassVar[Literal["answer"]] = "answer"

    def __post_init__(self) -> None:
        check_settings(self)
        check_prompt("prompt", self.prompt, ("question", "passages"))

    def estimate(self, queries: Sequence[Query], context: BuildContext) -> Estimate:
        """One request per query, with the longest passages of the corpus."""
        texts = (passage_text(document, self.fields) for document in context.corpus.documents())
        longest = nlargest(self.top, texts, key=len)
        return sum((estimate_request(answer_request(self, query, longest)) for query in queries if longest), Estimate())

    def build(self, context: BuildContext) -> AnswerSearcher:
        """Builds the searcher; nothing is computed in advance."""
        check_known_fields(context.corpus, self.fields)
        return AnswerSearcher(self, context.corpus, context.session.client(self.model, "answer"))


class AnswerSearcher(Searcher):
    """The corpus and the client of the language model."""

    def __init__(self, stage: GenerateAnswer, corpus: Corpus, client: ChatClient) -> None:
        self._stage, self._corpus, self._client = stage, corpus, client

    @property
    def concurrency(self) -> int:
        """How many calls the model allows at once."""
        return max(1, self._stage.model.concurrency)

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The ranking of the input stage."""
        return inputs[0]

    def answer(self, query: Query, ranking: Ranking, timer: QueryTimer) -> Given:
        """The answer of the model; it is not called if nothing was found or the query is blank."""
        passages = tuple(ranking[0][: self._stage.top])
        if not passages or not query.text.strip():
            return Given("", given=passages, state="abstained")
        texts = [passage_text(self._corpus[doc], self._stage.fields) for doc in passages]
        timer.cut += count_truncated(texts, self._stage.passage_characters)
        counter = timer.counter("generate")
        parse = partial(parse_answer, count=len(passages), abstention=self._stage.abstention)
        parsed = self._client.read(answer_request(self._stage, query, texts), parse, counter, attempts=self._stage.attempts)
        if parsed is None:
            return Given("", given=passages, state="failed")
        counter.count("by_text", parsed.by_text)
        counter.count("dropped", parsed.dropped)
        return _build_answer(parsed, passages)

    def facts(self) -> Mapping[str, Any]:
        """The model, and the number and length of the passages."""
        return {**self._client.facts(), "top": self._stage.top, "passage_characters": self._stage.passage_characters}

    def notes(self) -> Sequence[str]:
        """A note if answers are read from whole documents; failures are counted query by query."""
        return whole_documents_note(self._stage.stage)


def _build_answer(parsed: ParsedAnswer, passages: tuple[str, ...]) -> Given:
    if parsed.abstained:
        return Given(parsed.text, given=passages, state="abstained")
    return Given(parsed.text, tuple(passages[number - 1] for number in parsed.sources), passages)
