"""The desk: every model that one start asks, the books of its replies, and the purse they share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from types import TracebackType
from typing import Any, Self, TypeVar

from ..data.identity import key_of
from ..models.chat.port import Chat, ChatModel
from .asker import Asker
from .budget import Budget, Purse, refuse_unpriced
from .patience import Patience
from .replies import MemoryReplies, Replies
from .requester import Requester
from .stopping import Stop

_SHAPE = 1
"""Of what a book holds: raised when a kept reply means something else."""
T = TypeVar("T")


class Desk:
    """A model is loaded when the first ask needs it that no book answers, and once for all who ask it."""

    def __init__(
        self,
        books: Callable[[str], Replies] | None = None,
        budget: Budget | None = None,
        patience: Patience | None = None,
        threads: int = 1,
    ) -> None:
        self._patience = patience or Patience()
        self._stop = Stop()
        self._open = books or (lambda key: MemoryReplies())
        self._threads = threads
        self._books: dict[str, Replies] = {}
        self._chats: dict[ChatModel, Chat] = {}
        self._askers: dict[tuple[str, ChatModel], Asker] = {}
        self._uses: dict[Asker, str] = {}
        self._remembered: dict[Hashable, Any] = {}
        self._lock = threading.Lock()
        self.purse = Purse(budget, keeps=books is not None)

    def asker(self, model: ChatModel, use: str) -> Asker:
        """Who asks the model; `use` says what for, and each use has a book of its own.

        The same model for the same use has the same asker: failures in a row are counted whoever meets them.
        """
        refuse_unpriced(self.purse.budget, model)
        key = key_of(_SHAPE, use, model)
        with self._lock:
            if key not in self._books:
                self._books[key] = self._open(key)
            if (key, model) not in self._askers:
                requester = Requester(model, lambda: self._chat(model), self.purse, self._patience, self._stop)
                asker = Asker(model, requester, self._books[key], self.purse)
                self._askers[key, model], self._uses[asker] = asker, use
            return self._askers[key, model]

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made under the key at this desk, made now where nothing was: it lives as long as the desk."""
        with self._lock:
            if key not in self._remembered:
                self._remembered[key] = make()
            found: T = self._remembered[key]
            return found

    def notes(self) -> tuple[str, ...]:
        """A sentence for each use in which the server refused every ask."""
        return tuple(f"{use}: {said}" for asker, use in self._uses.items() if (said := asker.refusal()))

    def _chat(self, model: ChatModel) -> Chat:
        with self._lock:
            if model not in self._chats:
                self._chats[model] = model.load(threads=self._threads)
            return self._chats[model]

    def stop(self, *, at_once: bool = False) -> None:
        """Ends every pause and lets no further request begin; `at_once` gives up those that are under way too."""
        self._stop.set()
        if at_once:
            for chat in self._chats.copy().values():
                chat.close()

    def close(self) -> None:
        """Closes books and models."""
        for chat in self._chats.values():
            chat.close()
        for book in self._books.values():
            book.close()
        self._chats.clear()
        self._books.clear()
        self._askers.clear()
        self._uses.clear()
        self._remembered.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
