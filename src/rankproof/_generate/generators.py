"""Generators of queries: by rules from the words of a document, and by a language model from one or two documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from random import Random
from typing import Any, Protocol

from rankproof._data.corpus import Corpus, Document
from rankproof._data.identity import identity, identity_key
from rankproof._data.qrels import make_judge_label
from rankproof._data.sentences import sentences
from rankproof._executors.base import Progress
from rankproof._generate.filters import MAX_QUERY_WORDS, TermStatistics
from rankproof._generate.generated_queries import FailedDocument, QueryDraft, SourceDocument
from rankproof._llm.budget import COUNT_NAMES, CallTotals, Estimate, estimate_request
from rankproof._llm.client import ChatClient
from rankproof._llm.prompts import (
    UNTRUSTED_DATA_RULE,
    fill_prompt,
    parse_json,
    parse_line,
    parse_query,
    quote_untrusted,
    reply_text,
)
from rankproof._llm.session import LLMSession, map_concurrent
from rankproof._version import __version__
from rankproof.errors import escape_invisible
from rankproof.models._chat.base import ChatModel, ChatReply, ChatRequest, Message, model_label
from rankproof.stages._analyzer import split_words

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*%?(?![\w])")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{3,}(?: [A-Z][a-z]+)*")
_PURPOSE = re.compile(
    r"\b(?:order|used?|ways?|how|needed|want|easy|easier|time|able|possible|enough|try|helps?|allows?|required|necessary|designed"
    r"|aim(?:s|ed)?|sought|intended|wish|remember|safe|best) to ((?:[a-z]+ ){1,2}[a-z]+)"
)
_COMMAND = re.compile(r"[A-Z][a-z]+ (?:the|a|an|your) [a-z]{3,}")
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_QUESTIONS = (
    "what is known about {0} and {1}",
    "how does {0} relate to {1}",
    "what does {0} have to do with {1} and {2}",
    "why does {0} matter for {1}",
)
_MAX_FACT_WORDS = 6
_MIN_LETTERS = 5


@dataclass(frozen=True, slots=True)
class RuleInput:
    """The input of a rule: a document, its text, the term statistics of the corpus, and a random generator."""

    document: Document
    text: str
    term_statistics: TermStatistics
    random: Random


def keyword_query(rule_input: RuleInput) -> QueryDraft | None:
    """Two to four of the top terms, in the order of the text."""
    chosen = rule_input.term_statistics.top_terms(rule_input.text, rule_input.random.randint(2, 4))
    return QueryDraft(" ".join(rule_input.term_statistics.in_text_order(rule_input.text, chosen))) if len(chosen) > 1 else None


def factual_query(rule_input: RuleInput) -> QueryDraft | None:
    """The top terms of a sentence around a number or a name; it is no full question, so it has no answer."""
    body = rule_input.document.text.strip() or rule_input.text
    facts = [
        (sentence, fact) for sentence in sentences(body) for fact in (*_NUMBER.finditer(sentence), *_NAME.finditer(sentence))
    ]
    rule_input.random.shuffle(facts)
    for sentence, fact in facts:
        rest = sentence[: fact.start()] + " " + sentence[fact.end() :]
        chosen = rule_input.term_statistics.top_terms(
            rest, _MAX_FACT_WORDS, without=rule_input.term_statistics.terms.tokenize(fact.group())
        )
        if len(chosen) > 1:
            return QueryDraft(
                f"{_question_word(fact.group())} {' '.join(rule_input.term_statistics.in_text_order(rest, chosen))}"
            )
    return None


def how_to_query(rule_input: RuleInput) -> QueryDraft | None:
    """A purpose or an instruction of the text, and its top term."""
    lines = sentences(rule_input.document.text.strip() or rule_input.text)
    purposes = [purpose for sentence in lines for purpose in _PURPOSE.findall(sentence)]
    purposes += [command.group().lower() for sentence in lines if (command := _COMMAND.match(sentence))]
    fit = [
        purpose for words_of in purposes if len(purpose := _strip_stop_words(words_of.split(), rule_input.term_statistics)) > 1
    ]
    if not fit:
        return None
    purpose = rule_input.random.choice(fit)
    besides = rule_input.term_statistics.top_terms(
        rule_input.text, 1, without=map(rule_input.term_statistics.terms.__getitem__, purpose)
    )
    return QueryDraft(" ".join(("how to", *purpose, *besides)))


def paraphrase_query(rule_input: RuleInput) -> QueryDraft | None:
    """Four to six of the top terms that are not in the title, in the order of the text."""
    title = rule_input.term_statistics.terms.tokenize(rule_input.document.title)
    chosen = rule_input.term_statistics.top_terms(rule_input.text, rule_input.random.randint(4, 6), without=title)
    return QueryDraft(" ".join(rule_input.term_statistics.in_text_order(rule_input.text, chosen))) if len(chosen) > 3 else None


def question_query(rule_input: RuleInput) -> QueryDraft | None:
    """A question of a fixed form about the top terms."""
    chosen = rule_input.term_statistics.top_terms(rule_input.text, 3)
    return QueryDraft(rule_input.random.choice(_QUESTIONS).format(*chosen)) if len(chosen) > 2 else None


def misspelt_query(rule_input: RuleInput) -> QueryDraft | None:
    """A keyword query with a typo in its longest word."""
    draft = keyword_query(rule_input)
    if draft is None:
        return None
    right = max(draft.text.split(), key=len)
    wrong = _misspell(right, rule_input.random)
    return None if wrong == right else QueryDraft(draft.text.replace(right, wrong, 1))


Rule = Callable[[RuleInput], QueryDraft | None]
RULES: Mapping[str, Rule] = {
    "factual": factual_query,
    "how-to": how_to_query,
    "keyword": keyword_query,
    "misspelt": misspelt_query,
    "paraphrase": paraphrase_query,
    "question": question_query,
}


def _question_word(answer: str) -> str:
    """The question word for such an answer."""
    if not answer[0].isdigit():
        return "who or what"
    return "when" if _YEAR.fullmatch(answer) else "how many"


def _strip_stop_words(purpose: list[str], term_statistics: TermStatistics) -> list[str]:
    """The words without trailing stop words; none where the first word is a stop word and so no verb."""
    if not term_statistics.terms[purpose[0]]:
        return []
    while purpose and not term_statistics.terms[purpose[-1]]:
        purpose = purpose[:-1]
    return purpose


def _misspell(word: str, random: Random) -> str:
    """The word with two letters swapped, one deleted or one doubled, never the first."""
    if len(word) < _MIN_LETTERS:
        return word
    at = random.randrange(1, len(word) - 1)
    typos = (word[:at] + word[at + 1] + word[at] + word[at + 2 :], word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:])
    return random.choice([typo for typo in typos if typo != word and split_words(typo) == [typo]] or [word])


GenerationOutcome = QueryDraft | FailedDocument | None
"""A query, a failure, or None if the document gives no query of the category."""


class QueryGenerator(Protocol):
    """Generates queries from documents."""

    @property
    def max_rounds(self) -> int | None:
        """How often rejected or failed documents are replaced by others, None for as long as there are any."""
        ...

    @property
    def judge_label(self) -> str:
        """The label of the queries and their judgements."""
        ...

    def categories(self) -> tuple[str, ...]:
        """The categories that it supports."""
        ...

    def generate(self, sources: Sequence[SourceDocument]) -> list[GenerationOutcome]:
        """The outcome of each source, in their order."""
        ...

    def estimate(self, sources: Sequence[SourceDocument]) -> Estimate:
        """The cost of the calls, without retries."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What the queries depend on, and their cost, as JSON."""
        ...


@dataclass(frozen=True, eq=False)
class RuleGenerator:
    """Generates queries by rules; each depends on the seed, the category and the document alone."""

    corpus: Corpus
    term_statistics: TermStatistics
    seed: int
    max_rounds: int | None = None

    @property
    def judge_label(self) -> str:
        """heuristic:rules:VERSION."""
        return make_judge_label("heuristic:", "rules", __version__)

    def categories(self) -> tuple[str, ...]:
        """The categories that have a rule."""
        return tuple(RULES)

    def generate(self, sources: Sequence[SourceDocument]) -> list[GenerationOutcome]:
        """The draft of each rule for its document."""
        return [self._outcome(source) for source in sources]

    def _outcome(self, source: SourceDocument) -> GenerationOutcome:
        (doc,) = source.docs
        # Seeded by document, so that a query does not change if other documents or categories are added.
        random = Random(f"{self.seed}\0{source.category}\0{doc}")
        return RULES[source.category](RuleInput(self.corpus[doc], self.term_statistics.texts[doc], self.term_statistics, random))

    def estimate(self, sources: Sequence[SourceDocument]) -> Estimate:
        """No call."""
        return Estimate()

    def describe(self) -> Mapping[str, Any]:
        """The kind of generator."""
        return {"by": "heuristic"}


SYSTEM = "You write queries as people type them into a search engine, to test that engine. " + UNTRUSTED_DATA_RULE
PROMPT = """Write {task}

The query must make sense to someone who has never seen the passage: never speak of the passage, the document, the text or the \
author, and never copy more than four words in a row. Write it in the language of the passage, on one line, in at most 25 words.
The answer is the shortest piece of the passage that answers the query, copied letter by letter, or "" where the passage has none.
Reply with JSON only: {"query": "…", "answer": "…"}

{passages}"""
SCHEMA = (
    '{"type":"object","properties":{"query":{"type":"string"},"answer":{"type":"string"}},'
    '"required":["query","answer"],"additionalProperties":false}'
)
TASKS: Mapping[str, str] = {
    "factual": "a question that one fact of the passage answers: a number, a name, a date.",
    "how-to": "a question about how to do something that the passage explains.",
    "keyword": "a query of two to four keywords, no sentence, that the passage is a good result for.",
    "paraphrase": "a query that the passage answers, in other words than its own: synonyms, everyday language.",
    "question": "a natural question that the passage answers.",
    "misspelt": "a query that the passage is a good result for, with one or two slips of spelling as people make them.",
    "inferential": "a question that the passage answers only to a reader who draws a conclusion from it.",
    "comparative": "a question that compares what the two passages are about, and that needs both to be answered.",
    "multi-hop": "a question that needs one fact of each of the two passages to be answered.",
    "unanswerable": 'a question on the subject of the passage that the passage does not answer; the answer is "".',
    "negated": "a question with a negation (not, without, except, never) that the passage answers.",
    "ambiguous": "a short query that the passage answers but that could well mean something else too.",
    "appliance": "a question about the setting of a device or tool that the passage tells.",
    "timing": "a question about when, how long or how often that the passage answers.",
    "technique": "a question about a technique or method that the passage explains.",
    "ingredient": "a question about what something is made of, or what can stand in for it, that the passage answers.",
    "simple": "a question with one constraint that the passage answers.",
    "medium": "a question with three constraints that the passage answers.",
    "complex": "a question with five or more constraints that the passage answers.",
}
"""The task of each category; the last seven are question types and complexities of a cooking site."""
MAX_PASSAGE_CHARACTERS = 4000
"""The length that a passage is truncated to in the prompt."""
USE = "generate"
_LABEL = "generate: calling the model"
_MAX_REASON_LENGTH = 500
_CALLS_PER_UPDATE = 4
"""Calls of each thread between two updates of the progress."""


class LLMGenerator:
    """Requests each query on its own; an invalid reply is requested again, a document without a valid reply fails."""

    # Each round costs calls, so that rejected queries are not replaced without end.
    max_rounds: int | None = 3

    def __init__(
        self,
        model: ChatModel,
        term_statistics: TermStatistics,
        session: LLMSession,
        progress: Progress,
        *,
        attempts: int = 3,
        max_tokens: int = 200,
    ) -> None:
        self._model, self._term_statistics, self._session, self._progress = model, term_statistics, session, progress
        self._attempts, self._max_tokens = attempts, max_tokens
        self._unfounded, self._sums = 0, CallTotals()

    @cached_property
    def judge_label(self) -> str:
        """llm:MODEL:DIGEST, the digest of the model with its settings and of the prompts."""
        prompts = (SYSTEM, PROMPT, dict(TASKS), SCHEMA, MAX_PASSAGE_CHARACTERS, self._max_tokens, self._attempts)
        return model_label(self._model, identity_key(self._model, *prompts))

    def categories(self) -> tuple[str, ...]:
        """The categories that have a task."""
        return tuple(TASKS)

    def generate(self, sources: Sequence[SourceDocument]) -> list[GenerationOutcome]:
        """A draft or a failure for each source, with the concurrency of the model."""
        client, concurrency, outcomes = self._session.client(self._model, USE), max(1, self._model.concurrency), []
        for start in range(0, len(sources), _CALLS_PER_UPDATE * concurrency):
            block = sources[start : start + _CALLS_PER_UPDATE * concurrency]
            for outcome, sums in map_concurrent(self._session, partial(self._outcome, client), block, concurrency):
                outcomes.append(outcome)
                self._add(outcome, sums)
            self._progress(_LABEL, len(outcomes), len(sources))
        return outcomes

    def _outcome(self, client: ChatClient, source: SourceDocument) -> tuple[GenerationOutcome, CallTotals]:
        sums, errors = CallTotals(), [""]
        draft = client.read(
            self._request(source),
            partial(self._parse, source),
            sums,
            attempts=self._attempts,
            on_error=lambda error: errors.append(str(error)),
        )
        return draft or FailedDocument(source, escape_invisible(errors[-1])[:_MAX_REASON_LENGTH]), sums

    def estimate(self, sources: Sequence[SourceDocument]) -> Estimate:
        """One call for each source."""
        return sum((estimate_request(self._request(source)) for source in sources), Estimate())

    def describe(self) -> Mapping[str, Any]:
        """The model, the prompts, and the usage."""
        return {
            "by": "model",
            "model": identity(self._model),
            "system": SYSTEM,
            "prompt": PROMPT,
            "answers_not_in_the_document": self._unfounded,
            "usage": self._sums.plain(),
            "spent_by_this_run": self._session.meter.spent.plain(),
        }

    def _request(self, source: SourceDocument) -> ChatRequest:
        passages = quote_untrusted([self._term_statistics.texts[doc] for doc in source.docs], characters=MAX_PASSAGE_CHARACTERS)
        text = fill_prompt(PROMPT, task=TASKS[source.category], passages=passages)
        return ChatRequest((Message("system", SYSTEM), Message("user", text)), self._max_tokens, SCHEMA)

    def _parse(self, source: SourceDocument, reply: ChatReply) -> QueryDraft:
        """The query, with its answer where that is in a document."""
        fields = parse_json(reply_text(reply))
        text = parse_query(fields, "query", 2 * MAX_QUERY_WORDS)
        answer = parse_line(fields, "answer") if fields.get("answer") is not None else ""
        if not answer:
            return QueryDraft(text)
        founded = contains_answer(answer, (self._term_statistics.texts[doc] for doc in source.docs))
        return QueryDraft(text, (answer,)) if founded else QueryDraft(text, unfounded=True)

    def _add(self, outcome: GenerationOutcome, sums: CallTotals) -> None:
        for name in COUNT_NAMES:
            self._sums.count(name, sums.counts[name])
        self._sums.add_seconds(sums.seconds)
        if isinstance(outcome, QueryDraft) and outcome.unfounded:
            self._unfounded += 1


def contains_answer(answer: str, texts: Iterable[str]) -> bool:
    """Whether the answer is in a text, ignoring case and white space."""
    wanted = " ".join(answer.casefold().split())
    return any(wanted in " ".join(text.casefold().split()) for text in texts)
