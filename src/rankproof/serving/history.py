"""What judgements come to, replayed in their order: the last grade of each pair, and what taking one back gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .record import Pair, Record


class History:
    """Records in the order in which they were made; one taken back gives the pair its grade before, or none."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._made: dict[Pair, list[Record]] = {}
        self._order: list[Pair] = []
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """One more; taking back what is not there is our own bug, or somebody's who wrote into the log."""
        if record.what == "judged":
            self._made.setdefault(record.pair, []).append(record)
            self._order.append(record.pair)
            return
        if record.pair not in self._order:
            raise ValueError("a judgement is taken back that is not there")
        self._made[record.pair].pop()
        del self._order[len(self._order) - 1 - self._order[::-1].index(record.pair)]

    def grade(self, pair: Pair) -> int | None:
        """The pair's grade, None where it has none."""
        made = self._made.get(pair)
        return made[-1].grade if made else None

    def grade_before(self, pair: Pair) -> int | None:
        """The grade that it would have were its last judgement taken back."""
        made = self._made.get(pair, [])
        return made[-2].grade if len(made) > 1 else None

    @property
    def last(self) -> Pair | None:
        """The pair that was judged last."""
        return self._order[-1] if self._order else None

    def judgements(self) -> Iterator[bytes]:
        """A line of qrels for each pair that has a grade, in the order in which pairs were first judged."""
        return (made[-1].judgement() for made in self._made.values() if made)
