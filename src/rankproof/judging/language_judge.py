"""A language model as the judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..asking.asker import Asker, UnreadableError
from ..asking.estimate import Estimate, estimate_of
from ..asking.fence import fenced, is_cut, one_line
from ..asking.prompt import filled, refuse_prompt
from ..asking.reading import json_in, whole_in
from ..asking.spoken import text_of
from ..asking.tally import Sums
from ..asking.usage import price
from ..data import checks
from ..data.identity import identity, key_of
from ..errors import visible
from ..models.chat.naming import model_mark
from ..models.chat.port import Ask, ChatModel, Message, Reply
from ..stages import settings
from ..stages.passages import DEFAULT_FIELDS, passage, refuse_unknown_fields
from .judge import JudgingGround
from .pairs import Pair
from .rubric import GRADES, HIGHEST, LOWEST, PROMPT, SCHEMA, SYSTEM
from .verdict import Verdict

USE = "judge"
_LONGEST_WHY = 500


@dataclass(frozen=True)
class LanguageJudge:
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
        settings.chat_model("model", self.model)
        refuse_prompt("prompt", self.prompt, ("query", "passage"))
        object.__setattr__(self, "fields", checks.fields(self.fields))
        for name in ("characters", "max_tokens", "attempts"):
            checks.whole(name, getattr(self, name))

    @cached_property
    def digest(self) -> str:
        """Of everything that a grade depends on: the model and its settings, the rubric and the prompt."""
        return key_of(self)

    @property
    def mark(self) -> str:
        """llm:MODEL:DIGEST."""
        return model_mark(self.model, self.digest)

    def grader(self, ground: JudgingGround) -> LanguageGrader:
        """Ready to ask."""
        refuse_unknown_fields(ground.corpus, self.fields)
        return LanguageGrader(self, ground, ground.desk.asker(self.model, USE))

    def ask(self, query: str, text: str) -> Ask:
        """What is asked about one pair."""
        parts = {
            "query": fenced([one_line(query)], labels=["query"]),
            "passage": fenced([text], labels=["passage"], characters=self.characters),
        }
        messages = (Message("system", self.system), Message("user", filled(self.prompt, **parts)))
        return Ask(messages, self.max_tokens, schema=self.schema)

    def estimate(self, pairs: Sequence[Pair], ground: JudgingGround) -> Estimate:
        """One ask for each pair."""
        asks = (self.ask(ground.queries[pair.query].text, passage(ground.corpus[pair.doc], self.fields)) for pair in pairs)
        return sum(map(estimate_of, asks), Estimate())

    def told(self) -> Mapping[str, Any]:
        """The rubric beside all settings."""
        rubric = {str(grade): meaning for grade, meaning in GRADES.items()}
        return {"judge": identity(self), "rubric": rubric, "digest": self.digest}

    def money(self, counts: Mapping[str, float]) -> float | None:
        """By the model's prices."""
        if not (self.model.price_in or self.model.price_out):
            return None
        read, written = (int(counts.get(name, 0)) for name in ("tokens_in", "tokens_out"))
        return price(read, written, self.model.price_in, self.model.price_out)


class LanguageGrader:
    """Asks about pairs; each verdict says what it cost when it was first asked for."""

    def __init__(self, judge: LanguageJudge, ground: JudgingGround, asker: Asker) -> None:
        self._judge, self._ground, self._asker = judge, ground, asker

    @property
    def lanes(self) -> int:
        """As many as the model takes at once."""
        return self._judge.model.concurrency

    def verdict(self, pair: Pair) -> Verdict:
        """The grade that the model gives; without one that can be read the pair failed, and is graded by nobody."""
        text = passage(self._ground.corpus[pair.doc], self._judge.fields)
        ask = self._judge.ask(self._ground.queries[pair.query].text, text)
        sums, heard = Sums(), [""]
        found = self._asker.read(ask, graded, sums, attempts=self._judge.attempts, heard=lambda error: heard.append(str(error)))
        counts = {name: count for name, count in sums.plain().items() if count}
        cut = is_cut(text, self._judge.characters)
        if found is None:
            return Verdict(pair, None, visible(heard[-1])[:_LONGEST_WHY], counts, cut)
        return Verdict(pair, *found, counts, cut)


def graded(reply: Reply) -> tuple[int, str]:
    """The grade and its reason; anything but one JSON object with a grade of the rubric is of no use."""
    found = json_in(text_of(reply))
    if "grade" not in found:
        raise UnreadableError("no grade in the JSON object")
    reason = found.get("reason", "")
    if not isinstance(reason, str):
        raise UnreadableError("the reason is no text")
    return whole_in(found["grade"], LOWEST, HIGHEST), reason[:_LONGEST_WHY]
