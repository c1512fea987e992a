"""One ask, and as many requests as it takes: within the purse, with patience, and without wishes that are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..models.chat.port import Ask, Chat, ChatFailedError, ChatModel, ChatUnusableError, Reply
from .breaker import Breaker
from .budget import Purse
from .estimate import most_of
from .patience import Patience
from .stopping import Stop
from .tally import Tally
from .usage import Usage, price


class Requester:
    """Sends requests to one model; safe for several threads."""

    def __init__(self, model: ChatModel, chat: Callable[[], Chat], purse: Purse, patience: Patience, stop: Stop) -> None:
        self._model, self._chat, self._purse = model, chat, purse
        self._patience, self._stop = patience, stop
        self._sleep = patience.sleep or stop.sleep
        self.breaker = Breaker(keeps=purse.keeps)
        self.refuses_wishes = False

    def reply(self, ask: Ask, tally: Tally) -> Reply:
        """The reply; requests that brought none are on the tally where none brought one."""
        request, wished, plain = 0, ask, replace(ask, schema="", logprobs=0)
        if self.refuses_wishes:
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
                    self.breaker.failed(failure)
                    raise
                self._sleep(pause)
            else:
                self.breaker.answered()
                # Given up for good only where the same ask was answered without them: the messages were not what was refused.
                self.refuses_wishes = self.refuses_wishes or wished != ask
                return replace(reply, requests=request)

    def _requested(self, ask: Ask) -> Reply:
        """One request, paid for: one that was cut off, or brought nothing that can be read, with the most that it may cost."""
        most = most_of(ask).usage(self._model.price_in, self._model.price_out)
        self._stop.check()
        chat = self._chat()
        self._purse.reserve(most)
        real = replace(most, unsure=1)
        try:
            reply = chat.reply(ask)
            money = price(reply.tokens_in, reply.tokens_out, self._model.price_in, self._model.price_out)
            real = Usage(1, reply.tokens_in, reply.tokens_out, money)
        except (ChatFailedError, ChatUnusableError) as failure:
            if not (isinstance(failure, ChatFailedError) and failure.charged):
                real = Usage(calls=1)
            raise
        finally:
            self._purse.settle(most, real)
        return reply
