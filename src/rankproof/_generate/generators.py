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
from rankproof._generate.draft import (
    MAX_PASSAGE_CHARACTERS,
    PROMPT,
    SCHEMA,
    SYSTEM,
    TASKS,
    FailedDocument,
    QueryDraft,
    SourceDocument,
    build_request,
)
from rankproof._generate.filters import MAX_QUERY_WORDS, TermStatistics
from rankproof._llm.budget import Estimate, estimate_request
from rankproof._llm.call_counts import COUNT_NAMES, CallTotals
from rankproof._llm.client import ChatClient
from rankproof._llm.parsing import parse_json, parse_line, parse_query, reply_text
from rankproof._llm.session import LLMSession, map_concurrent
from rankproof._version import __version__
from rankproof.errors import escape_invisible
from rankproof.models._chat.base import ChatModel, ChatReply, ChatRequest, model_label
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
        (sentence, found) for sentence in sentences(body) for found in (*_NUMBER.finditer(sentence), *_NAME.finditer(sentence))
    ]
    rule_input.random.shuffle(facts)
    for sentence, found in facts:
        rest = sentence[: found.start()] + " " + sentence[found.end() :]
        chosen = rule_input.term_statistics.top_terms(
            rest, _MAX_FACT_WORDS, without=rule_input.term_statistics.terms.tokenize(found.group())
        )
        if len(chosen) > 1:
            return QueryDraft(
                f"{_question_word(found.group())} {' '.join(rule_input.term_statistics.in_text_order(rest, chosen))}"
            )
    return None


def how_to_query(rule_input: RuleInput) -> QueryDraft | None:
    """A purpose or an instruction of the text, and its top term."""
    each = sentences(rule_input.document.text.strip() or rule_input.text)
    found = [purpose for sentence in each for purpose in _PURPOSE.findall(sentence)]
    found += [command.group().lower() for sentence in each if (command := _COMMAND.match(sentence))]
    fit = [purpose for words_of in found if len(purpose := _strip_stop_words(words_of.split(), rule_input.term_statistics)) > 1]
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
"""A query, a failure, or None where the document gives no query of the category."""


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
        random = Random(f"{self.seed}\0{source.category}\0{doc}")
        return RULES[source.category](RuleInput(self.corpus[doc], self.term_statistics.texts[doc], self.term_statistics, random))

    def estimate(self, sources: Sequence[SourceDocument]) -> Estimate:
        """No call."""
        return Estimate()

    def describe(self) -> Mapping[str, Any]:
        """The kind of generator."""
        return {"by": "heuristic"}


USE = "generate"
_LABEL = "generate: calling the model"
_MAX_REASON_LENGTH = 500
_CALLS_PER_UPDATE = 4
"""Calls of each thread between two updates of the progress."""


class LLMGenerator:
    """Requests each query on its own; an invalid reply is requested again, a document without a valid reply fails."""

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
        client, concurrency, found = self._session.client(self._model, USE), max(1, self._model.concurrency), []
        for start in range(0, len(sources), _CALLS_PER_UPDATE * concurrency):
            block = sources[start : start + _CALLS_PER_UPDATE * concurrency]
            for outcome, sums in map_concurrent(self._session, partial(self._outcome, client), block, concurrency):
                found.append(outcome)
                self._add(outcome, sums)
            self._progress(_LABEL, len(found), len(sources))
        return found

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
        return build_request(source.category, [self._term_statistics.texts[doc] for doc in source.docs], self._max_tokens)

    def _parse(self, source: SourceDocument, reply: ChatReply) -> QueryDraft:
        """The query, with its answer where that is in a document."""
        found = parse_json(reply_text(reply))
        text = parse_query(found, "query", 2 * MAX_QUERY_WORDS)
        answer = parse_line(found, "answer") if found.get("answer") is not None else ""
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
