"""Who asks: first the book of replies, then the purse, then the model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ..data.identity import identity
from ..errors import WorldError
from ..models.chat.port import Ask, Chat, ChatFailedError, ChatModel, Reply
from .budget import Purse
from .estimate import estimate_of
from .patience import Patience
from .replies import Replies, key_of_ask
from .stopping import Stop
from .tally import Tally
from .usage import Usage, price

MOST_FAILURES = 10
"""In a row, by all threads together, after which the server is taken to be down."""
T = TypeVar("T")


class UnreadableError(ValueError):
    """A reply that is of no use: what is wrong with it, in a few words."""


class Asker:
    """Asks one model for one use; safe for several threads."""

    def __init__(
        self, model: ChatModel, chat: Callable[[], Chat], replies: Replies, purse: Purse, patience: Patience, stop: Stop
    ) -> None:
        self.model = model
        self._chat, self._replies, self._purse = chat, replies, purse
        self._patience, self._stop = patience, stop
        self._sleep = patience.sleep or stop.sleep
        self._failures, self._wishes = 0, True
        self._lock = threading.Lock()

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

        Each reply of no use counts as `unreadable`; an ask that ends without a meaning counts as `failed` where no reply came at
        all, else as `given_up`. `heard` is told what was wrong each time, and so is the model: asked the very same again, a
        deterministic one says the same again.
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
                heard(error)
                return None
        tally.count("given_up")
        return None

    def ask(self, ask: Ask, tally: Tally) -> Reply:
        """The reply, kept or new, its cost on the tally; ChatFailedError where there is none after every try."""
        key = key_of_ask(ask)
        reply = self._replies.find(key)
        if reply is None:
            reply = self._asked(ask, tally)
            self._replies.put(key, reply)
        else:
            self._purse.spend(Usage(journaled=1))
        tally.count("calls", reply.requests)
        tally.count("tokens_in", reply.tokens_in)
        tally.count("tokens_out", reply.tokens_out)
        tally.asked(reply.seconds)
        return reply

    def _asked(self, ask: Ask, tally: Tally) -> Reply:
        """The reply to as many requests as it takes; requests that brought none are on the tally where none brought one."""
        request, wished, plain = 0, ask, replace(ask, schema="", logprobs=0)
        if not self._wishes:
            wished = plain
        while True:
            request += 1
            try:
                reply = self._requested(wished)
            except ChatFailedError as failure:
                if failure.wishes and wished != plain:
                    wished = plain
                    continue
                pause = self._patience.pause(failure, request)
                if pause is None:
                    tally.count("calls", request)
                    self._failed(failure)
                    raise
                self._sleep(pause)
            else:
                self._succeeded(wished != ask)
                return replace(reply, requests=request)

    def _succeeded(self, without_wishes: bool) -> None:
        """Wishes are given up for good when the same ask was answered without them: the messages were not what was refused."""
        with self._lock:
            self._failures = 0
            self._wishes = self._wishes and not without_wishes

    def _requested(self, ask: Ask) -> Reply:
        """One request, paid for."""
        most = estimate_of(ask).usage(self.model.price_in, self.model.price_out)
        self._stop.check()
        chat = self._chat()
        self._purse.reserve(most)
        real = Usage(calls=1)
        try:
            reply = chat.reply(ask)
            money = price(reply.tokens_in, reply.tokens_out, self.model.price_in, self.model.price_out)
            real = Usage(1, reply.tokens_in, reply.tokens_out, money)
        finally:
            self._purse.settle(most, real)
        return reply

    def _failed(self, error: ChatFailedError) -> None:
        """Ends everything where too many asks in a row failed."""
        with self._lock:
            self._failures += 1
            failures = self._failures
        if failures >= MOST_FAILURES:
            raise WorldError(
                f"{failures} asks in a row failed, the last one so: {error}; every reply so far is kept: "
                "run the same command again when the server is well"
            ) from None

    def facts(self) -> Mapping[str, Any]:
        """The model as a reader should know it; it is not loaded for this."""
        return {"model": identity(self.model), "wishes_refused": not self._wishes}


def _corrected(ask: Ask, why: str) -> Ask:
    """The ask with what was wrong with the reply to it, at the end of its last message."""
    *before, last = ask.messages
    said = f"{last.text}\n\nYour last reply could not be used: {why}. Reply in the form asked for, and with nothing else."
    return replace(ask, messages=(*before, replace(last, text=said)))
