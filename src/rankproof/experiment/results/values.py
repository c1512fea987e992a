"""Values of a JSON document, each refused where it is missing or of another kind than it must be."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ...errors import InputError, shown

_FIX = "the file is damaged or was changed: run the experiment again"


class Values:
    """An object of the document, and where in it that object stands."""

    def __init__(self, plain: Any, source: str, *, place: str = "", line: int | None = None) -> None:
        self._source, self._place, self._line = source, place, line
        if not isinstance(plain, dict):
            raise self.error(f"{place or 'the document'} is no object", _FIX)
        self.plain: dict[str, Any] = plain

    def error(self, what: str, fix: str = _FIX) -> InputError:
        """An error in this file."""
        return InputError(what, fix=fix, source=self._source, line=self._line)

    def text(self, key: str) -> str:
        """Text."""
        found = self._of(key, str, "text")
        return str(found)

    def text_or_none(self, key: str) -> str | None:
        """Text or null."""
        return None if self.plain.get(key) is None else self.text(key)

    def count(self, key: str) -> int:
        """A whole number."""
        return int(self._of(key, int, "a whole number"))

    def number(self, key: str) -> float:
        """A number."""
        return self._float(key, self._of(key, int | float, "a number"))

    def number_or_none(self, key: str) -> float | None:
        """A number or null."""
        return None if self.plain.get(key) is None else self.number(key)

    def flag(self, key: str) -> bool:
        """True or false."""
        if not isinstance(self.plain.get(key), bool):
            raise self._wrong(key, "true or false")
        return bool(self.plain[key])

    def choice(self, key: str, known: Collection[str]) -> str:
        """One of the known words."""
        if self.text(key) not in known:
            raise self._wrong(key, f"one of {', '.join(known)}")
        return self.text(key)

    def inside(self, key: str) -> Values:
        """The object under the key."""
        self._of(key, dict, "an object")
        return Values(self.plain[key], self._source, place=self._path(key), line=self._line)

    def each(self, key: str) -> Iterator[Values]:
        """The objects of the array under the key."""
        for at, item in enumerate(self._of(key, list, "an array")):
            yield Values(item, self._source, place=f"{self._path(key)}[{at}]", line=self._line)

    def texts(self, key: str) -> list[str]:
        """The texts of the array under the key."""
        found = self._of(key, list, "an array")
        if not all(isinstance(one, str) for one in found):
            raise self._wrong(key, "an array of texts")
        return list(found)

    def numbers(self, key: str) -> list[float]:
        """The numbers of the array under the key."""
        found = self._of(key, list, "an array")
        if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in found):
            raise self._wrong(key, "an array of numbers")
        return [self._float(key, one) for one in found]

    def _float(self, key: str, value: float) -> float:
        try:
            return float(value)
        except OverflowError:
            raise self._wrong(key, "a 64-bit float") from None

    def _of(self, key: str, kind: Any, words: str) -> Any:
        found = self.plain.get(key)
        if not isinstance(found, kind) or isinstance(found, bool):
            raise self._wrong(key, words)
        return found

    def _wrong(self, key: str, words: str) -> InputError:
        what = "missing" if key not in self.plain else f"not {words}"
        return self.error(f"{shown(self._path(key))} is {what}")

    def _path(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key
