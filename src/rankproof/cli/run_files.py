"""Run files as runs, each read once and no sooner than needed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..data.reading import Reading
    from ..data.run import Run
    from ..evaluation.options import Files


class RunFiles(Mapping[str, "Run"]):
    """Run files by system name, each read when it is first asked for; what is no file is read once, at once."""

    def __init__(self, paths: Mapping[str, str], files: Files, reading: Reading) -> None:
        self._paths, self._files, self._reading = paths, files, reading
        self._read: dict[str, Run] = {}
        for name, path in paths.items():
            if path == "-" or not os.path.isfile(path):
                self[name]

    @property
    def sources(self) -> dict[str, str | Run]:
        """What is quickest to evaluate: a file itself, unless it was read already."""
        return {name: self._read.get(name, path) for name, path in self._paths.items()}

    def __getitem__(self, name: str) -> Run:
        if name not in self._read:
            from ..formats import open_file

            files = self._files
            opened = open_file(self._paths[name], format=files.run_format, delimiter=files.delimiter, encoding=files.encoding)
            self._read[name] = opened.run(name=name, reading=self._reading)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)
