"""Values inside a JSON file with their path, so that an error names it and its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from rankproof._data.grades import GradeReader
from rankproof._formats.json import JsonContent
from rankproof._formats.rows import json_type_name
from rankproof._importers.base import ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder
from rankproof._io.strict_json import JsonPath
from rankproof.errors import InputError, for_message

T = TypeVar("T")


class JsonPart:
    """A value of a JSON file; a part that is missing has the value None."""

    def __init__(self, content: JsonContent, value: Any, path: JsonPath = ()) -> None:
        self._content, self.value, self._path = content, value, path

    @property
    def source(self) -> str:
        """The name of the file."""
        return self._content.source

    @property
    def line(self) -> int | None:
        """The line of the value."""
        self._content.path = self._path
        return self._content.line() if self._path else 1

    def has(self, *keys: str) -> bool:
        """Whether the value is an object with all of the keys."""
        return isinstance(self.value, dict) and all(key in self.value for key in keys)

    def __getitem__(self, key: str) -> JsonPart:
        if not isinstance(self.value, dict):
            raise self.error(f"is {json_type_name(self.value)}, not an object", 'write an object, such as {"key": …}')
        return JsonPart(self._content, self.value.get(key), (*self._path, key))

    def items(self) -> Iterator[JsonPart]:
        """The items of a list."""
        if not isinstance(self.value, list):
            raise self.error(f"is {json_type_name(self.value)}, not a list", "write a list: […]")
        for at, item in enumerate(self.value):
            yield JsonPart(self._content, item, (*self._path, at))

    def entries(self) -> Iterator[tuple[str, JsonPart]]:
        """The keys and values of an object."""
        if not isinstance(self.value, dict):
            raise self.error(f"is {json_type_name(self.value)}, not an object", 'write an object, such as {"key": …}')
        for key, value in self.value.items():
            yield key, JsonPart(self._content, value, (*self._path, key))

    def text(self) -> str:
        """The text; anything else, also an empty one, is an error."""
        if not isinstance(self.value, str) or not self.value.strip():
            kind = "empty" if isinstance(self.value, str) else json_type_name(self.value)
            raise self.error(f"is {kind}, not text", "write it as text")
        try:
            self.value.encode()
        except UnicodeEncodeError:
            raise self.error("contains a lone surrogate", "decode the texts correctly where they are written") from None
        return self.value

    def text_or_empty(self) -> str:
        """The text, which may be empty."""
        return "" if self.value == "" else self.text()

    def error(self, what: str, fix: str) -> InputError:
        """An error about the value."""
        place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self._path).lstrip(".")
        return InputError(f"{for_message(place or 'the file')} {what}", fix=fix, source=self.source, line=self.line)


class JsonCursor:
    """The part that is read now; an error without a line gets the line of that part."""

    def __init__(self) -> None:
        self.part: JsonPart | None = None

    def line(self) -> int | None:
        """The line of the part that is read now."""
        return None if self.part is None else self.part.line

    def at(self, parts: Iterable[JsonPart]) -> Iterator[JsonPart]:
        """The parts, each the current one while it is used."""
        for self.part in parts:
            yield self.part

    def with_lines(self, rows: Iterable[T]) -> Iterator[T]:
        """The rows, with lines in errors."""
        try:
            yield from rows
        except InputError as error:
            if error.line is not None or self.part is None:
                raise
            raise InputError(error.what, fix=error.fix, source=self.part.source, line=self.part.line) from None


def json_builder(source: ImportSource, options: ImportOptions) -> tuple[DatasetBuilder, JsonCursor]:
    """A builder whose errors about grades have the line of the cursor, and the cursor."""
    builder, cursor = DatasetBuilder(source, options), JsonCursor()
    builder.grades = GradeReader(source.name, options.grade_map, line_now=cursor.line)
    return builder, cursor


def require_keys(present: bool, source: ImportSource, keys: str) -> None:
    """Refuses files that the importer was named for and that are no JSON objects with its keys."""
    if not present:
        what = f"not JSON with {keys}"
        raise InputError(what, fix="specify another file, or leave out --from", source=source.name)


def json_documents(source: ImportSource) -> dict[str, JsonPart]:
    """The JSON value of each file by path; none where a file is not one JSON value."""
    if any(source.format_of(path) != "json" for path in source.plain_files):
        return {}
    contents = {path: source.json_of(path) for path in source.plain_files}
    return {path: JsonPart(content, content.value) for path, content in contents.items()}
