"""One change to one source file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """Bytes `start` to `end` of a file replaced by `new`; `change` shows the old and the new code.

    `owner` has the first and last line of the function around, else of the class or module. `in_function` says whether the code
    runs only when that function is called.
    """

    package: str
    path: str
    line: int
    start: int
    end: int
    new: bytes
    kind: str
    change: str
    owner: tuple[int, int]
    in_function: bool = False

    @property
    def key(self) -> str:
        """Its name: the file, the place and the change."""
        return f"{self.path}:{self.line}:{self.start}: {self.change}"

    def applied(self, text: bytes) -> bytes:
        """The text of the file with the change."""
        return text[: self.start] + self.new + text[self.end :]
