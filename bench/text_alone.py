"""A model as a server without log-probabilities would give it: the very replies that it gave with them, without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rankproof.asking.desk import Desk
from rankproof.asking.tally import Sums
from rankproof.data.identity import NOT_PART
from rankproof.experiment.replies import Books
from rankproof.models.chat.port import Ask, ChatModel, Reply


@dataclass(frozen=True, slots=True)
class TextAlone:
    """Replies of the model to rerankers, from the books under a folder where they are kept."""

    model: ChatModel
    books: Path = field(metadata=NOT_PART)

    @property
    def concurrency(self) -> int:
        """The model's."""
        return self.model.concurrency

    @property
    def price_in(self) -> float:
        """The model's."""
        return self.model.price_in

    @property
    def price_out(self) -> float:
        """The model's."""
        return self.model.price_out

    def load(self, *, threads: int = 1) -> TextAloneChat:
        """A desk of its own at the same books."""
        return TextAloneChat(self.model, Desk(Books(self.books), threads=threads))

    def revision(self) -> str:
        """The model's."""
        return self.model.revision()


class TextAloneChat:
    """Asks where the model was asked before."""

    def __init__(self, model: ChatModel, desk: Desk) -> None:
        self._desk, self._asker = desk, desk.asker(model, "rerank")

    def reply(self, ask: Ask) -> Reply:
        """The model's reply, its first tokens hidden."""
        return replace(self._asker.ask(ask, Sums()), first=None)

    def facts(self) -> Mapping[str, Any]:
        """The model's."""
        return self._asker.facts()

    def close(self) -> None:
        """Closes the desk."""
        self._desk.close()
