"""LLMJudge, KeywordJudge."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from rankproof._data import validation
from rankproof._data.dataset import Corpus, Queries
from rankproof._data.identity import identity, identity_key
from rankproof._data.qrels import GRADES, HIGHEST_GRADE, LOWEST_GRADE, make_judge_label
from rankproof._judge.rubric import PROMPT, SCHEMA, SYSTEM, PairGrade, QueryDocPair
from rankproof._llm.budget import Estimate, estimate_request, token_cost
from rankproof._llm.call_counts import CallTotals
from rankproof._llm.client import CachedClient, ReplyParseError
from rankproof._llm.parsing import parse_int, parse_json, reply_text
from rankproof._llm.prompts import check_prompt, fill_prompt, is_truncated, quote_untrusted, sanitise_line
from rankproof._llm.session import LLMSession
from rankproof.errors import UsageError, escape_invisible
from rankproof.models._chat.base import ChatModel, ChatReply, ChatRequest, Message, model_label
from rankproof.stages import _fields
from rankproof.stages._analyzer import split_words
from rankproof.stages._fields import DEFAULT_FIELDS, check_known_fields, passage_text
from rankproof.stages._scorers import LoadedKeywordScorer


@dataclass(frozen=True, eq=False, slots=True)
class JudgeContext:
    """The texts that pairs are judged by, and the desk where a language model is asked."""

    queries: Queries
    corpus: Corpus
    session: LLMSession

    def lacks(self, pair: QueryDocPair) -> str:
        """What of the pair has no text, "" where all has."""
        query, document = self.queries.get(pair.query), self.corpus.get(pair.doc)
        if query is None or not query.text.strip():
            return "the query has no text"
        return "the document is not in the corpus" if document is None else ""


class LoadedJudge(Protocol):
    """A judge at work; `verdict` may be called by so many threads at once as there are `lanes`."""

    @property
    def concurrency(self) -> int: ...

    def grade_pair(self, pair: QueryDocPair) -> PairGrade:
        """What becomes of a pair whose texts are there."""
        ...


class Judge(Protocol):
    """The frozen value that stands for a judge."""

    @property
    def judge_label(self) -> str:
        """What stands in the second column of its judgements."""
        ...

    def load(self, context: JudgeContext) -> LoadedJudge: ...

    def estimate(self, pairs: Sequence[QueryDocPair], context: JudgeContext) -> Estimate:
        """What judging so many pairs may cost at most, if every first reply is of use."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """All that the grades depend on, as JSON: rubric, prompt, model, thresholds."""
        ...

    def money(self, counts: Mapping[str, float]) -> float | None:
        """What so many tokens cost, None where nobody said a price."""
        ...


_DIGEST_LENGTH = 8


@dataclass(frozen=True)
class KeywordOverlapJudge:
    """Grades by the share of the query's distinct words that stand in the passage, without stemming or stop words.

    `shares` are the least ones for the grades 1, 2 and 3.
    """

    shares: tuple[float, ...] = (0.25, 0.5, 0.75)
    fields: tuple[str, ...] = DEFAULT_FIELDS

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", validation.fields(self.fields))
        shares = tuple(validation.checked_number("shares", share, 0, 1) for share in self.shares)
        if len(shares) != HIGHEST_GRADE or list(shares) != sorted(set(shares)):
            raise UsageError(f"shares are {shares}", fix=f"give {HIGHEST_GRADE} numbers that rise, as 0.25, 0.5, 0.75")
        object.__setattr__(self, "shares", shares)

    @property
    def judge_label(self) -> str:
        """keywords:SHARES:DIGEST."""
        return make_judge_label("keywords:", "-".join(f"{share:g}" for share in self.shares), identity_key(self)[:_DIGEST_LENGTH])

    def load(self, context: JudgeContext) -> LoadedKeywordOverlapJudge:
        """Nothing is made in advance."""
        check_known_fields(context.corpus, self.fields)
        return LoadedKeywordOverlapJudge(self, context)

    def estimate(self, pairs: Sequence[QueryDocPair], context: JudgeContext) -> Estimate:
        """Nobody is asked."""
        return Estimate()

    def describe(self) -> Mapping[str, Any]:
        """Which share of the words earns which grade."""
        rubric = {"0": "any smaller share"} | {
            str(grade): f"at least {share:g} of the query's distinct words stand in the passage"
            for grade, share in enumerate(self.shares, start=1)
        }
        return {"judge": identity(self), "rubric": rubric, "digest": identity_key(self)}

    def money(self, counts: Mapping[str, float]) -> float | None:
        """Nothing."""
        return None


class LoadedKeywordOverlapJudge:
    """Counts the words of one pair after the other."""

    concurrency = 1

    def __init__(self, judge: KeywordOverlapJudge, context: JudgeContext) -> None:
        self._judge, self._ground = judge, context
        self._scorer = LoadedKeywordScorer(context.corpus, judge.fields)

    def grade_pair(self, pair: QueryDocPair) -> PairGrade:
        """The grade of the share; a query without words can have none."""
        query = self._ground.queries[pair.query]
        wanted = len(set(split_words(query.text)))
        if not wanted:
            return PairGrade(pair, None, "the query has no words")
        (count,) = self._scorer.scores(query, [pair.doc]).tolist()
        return PairGrade(pair, bisect_right(self._judge.shares, count / wanted), f"{count:g} of {wanted} words")


USE = "judge"
_MAX_REASON_LENGTH = 500


@dataclass(frozen=True)
class LLMJudge:
    """Grades each pair on its own; passages are read up to so many characters, and replies of no use are asked for again."""

    model: ChatModel
    system: str = SYSTEM
    prompt: str = PROMPT
    schema: str = SCHEMA
    fields: tuple[str, ...] = DEFAULT_FIELDS
    characters: int = 12_000
    max_tokens: int = 200
    attempts: int = 3

    def __post_init__(self) -> None:
        _fields.check_chat_model("model", self.model)
        check_prompt("prompt", self.prompt, ("query", "passage"))
        object.__setattr__(self, "fields", validation.fields(self.fields))
        for name in ("characters", "max_tokens", "attempts"):
            validation.checked_integer(name, getattr(self, name))

    @cached_property
    def digest(self) -> str:
        """Of everything that a grade depends on: the model and its settings, the rubric and the prompt."""
        return identity_key(self)

    @property
    def judge_label(self) -> str:
        """llm:MODEL:DIGEST."""
        return model_label(self.model, self.digest)

    def load(self, context: JudgeContext) -> LoadedLLMJudge:
        """Ready to ask."""
        check_known_fields(context.corpus, self.fields)
        return LoadedLLMJudge(self, context, context.session.client(self.model, USE))

    def request(self, query: str, text: str) -> ChatRequest:
        """What is asked about one pair."""
        parts = {
            "query": quote_untrusted([sanitise_line(query)], labels=["query"]),
            "passage": quote_untrusted([text], labels=["passage"], characters=self.characters),
        }
        messages = (Message("system", self.system), Message("user", fill_prompt(self.prompt, **parts)))
        return ChatRequest(messages, self.max_tokens, schema=self.schema)

    def estimate(self, pairs: Sequence[QueryDocPair], context: JudgeContext) -> Estimate:
        """One ask for each pair."""
        requests = (
            self.request(context.queries[pair.query].text, passage_text(context.corpus[pair.doc], self.fields)) for pair in pairs
        )
        return sum(map(estimate_request, requests), Estimate())

    def describe(self) -> Mapping[str, Any]:
        """The rubric beside all settings."""
        rubric = {str(grade): meaning for grade, meaning in GRADES.items()}
        return {"judge": identity(self), "rubric": rubric, "digest": self.digest}

    def money(self, counts: Mapping[str, float]) -> float | None:
        """By the model's prices."""
        if not (self.model.price_in or self.model.price_out):
            return None
        read, written = (int(counts.get(name, 0)) for name in ("tokens_in", "tokens_out"))
        return token_cost(read, written, self.model.price_in, self.model.price_out)


class LoadedLLMJudge:
    """Asks about pairs; each verdict says what it cost when it was first asked for."""

    def __init__(self, judge: LLMJudge, context: JudgeContext, client: CachedClient) -> None:
        self._judge, self._ground, self._client = judge, context, client

    @property
    def concurrency(self) -> int:
        """As many as the model takes at once."""
        return self._judge.model.concurrency

    def grade_pair(self, pair: QueryDocPair) -> PairGrade:
        """The grade that the model gives; without one that can be read the pair failed, and is graded by nobody."""
        text = passage_text(self._ground.corpus[pair.doc], self._judge.fields)
        request = self._judge.request(self._ground.queries[pair.query].text, text)
        sums, heard = CallTotals(), [""]
        found = self._client.read(
            request, parse_grade, sums, attempts=self._judge.attempts, on_error=lambda error: heard.append(str(error))
        )
        counts = {name: count for name, count in sums.plain().items() if count}
        cut = is_truncated(text, self._judge.characters)
        if found is None:
            return PairGrade(pair, None, escape_invisible(heard[-1])[:_MAX_REASON_LENGTH], counts, cut)
        return PairGrade(pair, *found, counts, cut)


def parse_grade(reply: ChatReply) -> tuple[int, str]:
    """The grade and its reason; anything but one JSON object with a grade of the rubric is of no use."""
    found = parse_json(reply_text(reply))
    if "grade" not in found:
        raise ReplyParseError("no grade in the JSON object")
    reason = found.get("reason", "")
    if not isinstance(reason, str):
        raise ReplyParseError("the reason is no text")
    return parse_int(found["grade"], LOWEST_GRADE, HIGHEST_GRADE), reason[:_MAX_REASON_LENGTH]
