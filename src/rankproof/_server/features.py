"""What a part of the server adds: its pages, its JSON routes, and the modules of its pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple, Protocol

from rankproof._report.page import package_text
from rankproof._server.api import ApiRoute
from rankproof._server.responses import HttpError, PageResponse

ID_PATTERN = "([0-9]{1,9})"
"""The id of results in a path; the view gets its LibraryEntry."""
MODULES_FOLDER = "modules"
JAVASCRIPT = "text/javascript; charset=utf-8"
View = Callable[..., PageResponse]


class Route(NamedTuple):
    """A path, its views by method, and whether they get the name that the browser chose."""

    pattern: re.Pattern[str]
    views: dict[str, View]
    by_person: bool = False


class Feature(Protocol):
    """A part of the server in a file of its own; `rankproof serve` passes all to the router, which asks them in this order."""

    def pages(self) -> Iterable[Route]:
        """The pages; none by default."""
        return ()

    def routes(self) -> Iterable[ApiRoute]:
        """The JSON routes below /api; none by default."""
        return ()

    def actions(self, id: str) -> Iterable[tuple[str, str]]:
        """The links to its pages on the results with this id, as address and text; none by default."""
        return ()

    def close(self) -> None:
        """Ends what is open; nothing by default."""
        return None


class StaticModules(Feature):
    """The JavaScript modules of the pages: /static/NAME.js is the file NAME.js in the folder `modules`."""

    def pages(self) -> Iterable[Route]:
        """One path for each module: no address is ever joined to a path of a file."""
        return (Route(re.compile(re.escape(f"/static/{name}")), {"GET": _module_view(name)}) for name in module_names())


@cache
def module_names() -> tuple[str, ...]:
    """The names of all modules."""
    assert __package__
    folder = files(__package__) / MODULES_FOLDER
    return tuple(sorted(file.name for file in folder.iterdir() if file.name.endswith(".js")))


def _module_view(name: str) -> View:
    return lambda: PageResponse(200, JAVASCRIPT, module_text(name).encode())


@cache
def module_text(name: str) -> str:
    """The text of a module."""
    if name not in module_names():
        raise HttpError(404, "no such module")
    return package_text(str(__package__), MODULES_FOLDER, name)
