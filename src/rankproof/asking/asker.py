"""Who asks: first the book of replies, then the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ..data.identity import identity
from ..models.chat.port import Ask, ChatFailedError, ChatModel, Reply
from .budget import Purse
from .replies import Replies, key_of_ask
from .requester import Requester
from .tally import Tally
from .turns import Turns
from .usage import Usage

T = TypeVar("T")


class UnreadableError(ValueError):
    """A reply that is of no use: what is wrong with it, in a few words."""


class Asker:
    """Asks one model for one use; safe for several threads."""

    def __init__(self, model: ChatModel, requester: Requester, replies: Replies, purse: Purse) -> None:
        self.model = model
        self._requester, self._replies, self._purse = requester, replies, purse
        self._turns = Turns()

    def read(
        self,
        ask: Ask,
        meaning: Callable[[Reply], T],
        tally: Tally,
        *,
        attempts: int = 3,
        heard: Callable[[Exception], object] = lambda error: None,
    ) -> T | None:
        """What the reply means, asked again while `meaning` raises UnreadableError; None where no attempt brought anything.

        Each reply of no use counts as `unreadable`. An ask that ends without a meaning counts as `failed` where its last attempt
        brought no reply, which may be another the next time, also where earlier ones brought replies of no use; else it counts as
        `given_up`. `heard` is told what was wrong each time, and so is the model: asked the very same again, a deterministic one
        says the same again.
        """
        asked = ask
        for attempt in range(attempts):
            try:
                return meaning(self.ask(replace(asked, attempt=attempt), tally))
            except UnreadableError as error:
                tally.count("unreadable")
                heard(error)
                asked = _corrected(ask, str(error))
            except ChatFailedError as error:
                tally.count("failed")
                tally.count("refused", int(not error.again))
                heard(error)
                return None
        tally.count("given_up")
        return None

    def ask(self, ask: Ask, tally: Tally) -> Reply:
        """The reply, kept or new, its cost on the tally; ChatFailedError where there is none after every try."""
        key = key_of_ask(ask)
        # Whoever asks the same at the same time waits, and finds the reply in the book.
        with self._turns.of(key):
            reply = self._replies.find(key)
            if reply is None:
                reply = self._requester.reply(ask, tally)
                self._replies.put(key, reply)
            else:
                self._requester.breaker.answered(kept=True)
                self._purse.spend(Usage(journaled=1))
        tally.count("calls", reply.requests)
        tally.count("tokens_in", reply.tokens_in)
        tally.count("tokens_out", reply.tokens_out)
        tally.count("estimated", int(reply.estimated))
        tally.asked(reply.seconds)
        return reply

    def refusal(self) -> str:
        """What a reader must know where the server refused everything, "" elsewhere."""
        return self._requester.breaker.refusal()

    def facts(self) -> Mapping[str, Any]:
        """The model as a reader should know it; it is not loaded for this."""
        return {"model": identity(self.model), "wishes_refused": self._requester.refuses_wishes}


def _corrected(ask: Ask, why: str) -> Ask:
    """The ask with what was wrong with the reply to it, at the end of its last message."""
    *before, last = ask.messages
    said = f"{last.text}\n\nYour last reply could not be used: {why}. Reply in the form asked for, and with nothing else."
    return replace(ask, messages=(*before, replace(last, text=said)))
