"""Answers queries from the first passages of a ranking: by a language model, or with the best sentence as a baseline."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.answers import ABSTAIN_PHRASE, Answer, is_abstention
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.ordering import Ranking
from rankproof._data.sentences import sentences
from rankproof._llm.budget import CallCounter, Estimate, estimate_request
from rankproof._llm.client import ChatClient, ReplyParseError
from rankproof._llm.embedding import CountingEncoder, load_encoder
from rankproof._llm.prompts import (
    UNTRUSTED_DATA_RULE,
    check_prompt,
    count_truncated,
    fill_prompt,
    parse_json,
    quote_untrusted,
    reply_text,
)
from rankproof._registry import Option
from rankproof.models._api.embedding import EmbeddingApi
from rankproof.models._api.settings import ModelRequestError
from rankproof.models._base import Encoder, EncoderModel
from rankproof.models._chat.base import ChatReply, ChatRequest, Message
from rankproof.stages._analyzer import WordAnalyzer, check_language
from rankproof.stages._base import BuildContext, CallsModel, Cost, OneInput, QueryTimer, Searcher, Stage
from rankproof.stages._bm25 import idf
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
from rankproof.stages._text_vectors import EncodedPassages, EncodedQueries, text_vectors

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
# A reply that starts like this was meant to be JSON or markup, so it is not read as plain text.
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

    def answer(self, query: Query, ranking: Ranking, timer: QueryTimer) -> Answer:
        """The answer of the model; it is not called if nothing was found or the query is blank."""
        passages = tuple(ranking[0][: self._stage.top])
        if not passages or not query.text.strip():
            return Answer("", given=passages, state="abstained")
        texts = [passage_text(self._corpus[doc], self._stage.fields) for doc in passages]
        timer.cut += count_truncated(texts, self._stage.passage_characters)
        counter = timer.counter("generate")
        parse = partial(parse_answer, count=len(passages), abstention=self._stage.abstention)
        parsed = self._client.read(answer_request(self._stage, query, texts), parse, counter, attempts=self._stage.attempts)
        if parsed is None:
            return Answer("", given=passages, state="failed")
        counter.count("by_text", parsed.by_text)
        counter.count("dropped", parsed.dropped)
        return _build_answer(parsed, passages)

    def facts(self) -> Mapping[str, Any]:
        """The model, and the number and length of the passages."""
        return {**self._client.facts(), "top": self._stage.top, "passage_characters": self._stage.passage_characters}

    def notes(self) -> Sequence[str]:
        """A note if answers are read from whole documents; failures are counted query by query."""
        return whole_documents_note(self._stage.stage)


def _build_answer(parsed: ParsedAnswer, passages: tuple[str, ...]) -> Answer:
    if parsed.abstained:
        return Answer(parsed.text, given=passages, state="abstained")
    return Answer(parsed.text, tuple(passages[number - 1] for number in parsed.sources), passages)


@dataclass(frozen=True)
class ExtractAnswer(OneInput):
    """Keeps the ranking of its input and answers with the best sentence of its first `top` passages.

    Without a model, the best sentence has the largest sum of idf over its distinct query words; with a model, the largest cosine
    with the query. Ties go to the first sentence. There is no answer if every score is 0 or less.
    """

    stage: Annotated[Stage, Option("the system whose documents the answer is taken from", key="of")]
    model: Annotated[
        EncoderModel | None, Option("the encoder that compares sentences with the query (default: count shared words)")
    ] = None
    top: Annotated[int, Option("how many documents are read", least=1)] = 5
    fields: Fields = ("text",)
    language: Annotated[str, Option("language of stemmer and stop words")] = "english"
    kind: ClassVar[Literal["answer"]] = "answer"

    def __post_init__(self) -> None:
        check_settings(self)
        check_language(self.language, stemming=True, stop_words=True)

    @property
    def paid_model(self) -> EmbeddingApi | None:
        """The embedding API, None for a local model or none."""
        return self.model if isinstance(self.model, EmbeddingApi) else None

    def estimate(self, queries: Sequence[Query], context: BuildContext) -> Estimate:
        """The query, and the sentences of `top` documents of mean length in one call."""
        if self.paid_model is None:
            return Estimate()
        encoding = EncodedQueries(self.paid_model).estimate(queries)
        passages = EncodedPassages(self.paid_model, "", self.fields).estimate(context.corpus)
        read = passages.tokens_in * self.top * len(queries) // max(len(context.corpus), 1)
        return encoding + Estimate(len(queries), read)

    def build(self, context: BuildContext) -> ExtractSearcher:
        """Counts the document frequency of each word, or loads the model."""
        check_known_fields(context.corpus, self.fields)
        start = time.perf_counter()
        scorer: _IdfSentenceScorer | _CosineSentenceScorer
        if self.model is None:
            scorer = _IdfSentenceScorer(context.corpus, self.fields, self.language)
        else:
            scorer = _CosineSentenceScorer(load_encoder(self.model, context.session, context.threads))
        return ExtractSearcher(self, context.corpus, scorer, time.perf_counter() - start)


class _IdfSentenceScorer:
    """Scores sentences by the idf of their query words."""

    def __init__(self, corpus: Corpus, fields: Sequence[str], language: str) -> None:
        self.is_recorded = False
        self._terms = WordAnalyzer(language, stemming=True, stop_words=True)
        self._size = len(corpus)
        self._found = Counter(
            term for document in corpus.values() for term in set(self._terms.tokenize(passage_text(document, fields)))
        )

    def scores(self, query: str, texts: Sequence[str], counter: CallCounter) -> list[float]:
        wanted = sorted(set(self._terms.tokenize(query)))
        weights = {term: idf(self._found[term], self._size) for term in wanted}
        # fsum: the score does not depend on the order of the words.
        return [math.fsum(weights[term] for term in wanted if term in own) for own in map(set, map(self._terms.tokenize, texts))]

    def facts(self) -> Mapping[str, Any]:
        return {"by": "words of the query in the sentence, each once, by idf"}


class _CosineSentenceScorer:
    """Scores sentences by cosine."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @property
    def is_recorded(self) -> bool:
        """Whether the times are those of requests to an embedding API."""
        return isinstance(self._encoder, CountingEncoder)

    def scores(self, query: str, texts: Sequence[str], counter: CallCounter) -> list[float]:
        vector = text_vectors(self._encoder, [query], "query", counter)[0]
        return [float(vector @ row) for row in text_vectors(self._encoder, texts, "passage", counter)] if texts else []

    def facts(self) -> Mapping[str, Any]:
        return {"by": "cosine of query and sentence", "model": dict(self._encoder.facts())}


class ExtractSearcher(Searcher):
    """The corpus and the scorer of sentences."""

    def __init__(
        self, stage: ExtractAnswer, corpus: Corpus, scorer: _IdfSentenceScorer | _CosineSentenceScorer, seconds: float
    ) -> None:
        self._stage, self._corpus, self._scorer, self._seconds = stage, corpus, scorer, seconds

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The ranking of the input stage."""
        return inputs[0]

    def answer(self, query: Query, ranking: Ranking, timer: QueryTimer) -> Answer:
        """The best sentence, with its passage as the source."""
        passages = tuple(ranking[0][: self._stage.top])
        with nullcontext() if self._scorer.is_recorded else timer.part("generate"):
            every = [
                (doc, sentence) for doc in passages for field in self._stage.fields for sentence in self._sentences(doc, field)
            ]
            try:
                scores = self._scorer.scores(query.text, [candidate for _, candidate in every], timer.counter("generate"))
            except ModelRequestError as failure:
                timer.counts["failed"] += 1
                timer.counts["refused"] += int(not failure.retryable)
                return Answer("", given=passages, state="failed")
        best = max(range(len(every)), key=scores.__getitem__, default=None)
        if best is None or scores[best] <= 0:
            return Answer("", given=passages, state="abstained")
        doc, text = every[best]
        return Answer(text, (doc,), passages)

    def _sentences(self, doc: str, field: str) -> list[str]:
        return sentences(passage_text(self._corpus[doc], (field,)))

    def cost(self) -> Cost:
        """The time of counting words or loading the model."""
        return Cost(seconds=self._seconds)

    def facts(self) -> Mapping[str, Any]:
        """How sentences are chosen."""
        return {**self._scorer.facts(), "top": self._stage.top}

    def notes(self) -> Sequence[str]:
        """A note if answers are read from whole documents."""
        return whole_documents_note(self._stage.stage)
