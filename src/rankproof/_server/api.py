"""What a part of the server adds: pages, modules, and JSON routes with typed requests, replies and permissions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, NamedTuple, Protocol, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

from rankproof._data.validation import check_options
from rankproof._io.strict_json import JsonObject, plain_record
from rankproof._registry import Option, Setting, settings_of
from rankproof._report.page import package_text
from rankproof._server.library import LibraryEntry, ResultsLibrary
from rankproof._server.responses import HttpError, PageResponse, json_response, text_response
from rankproof.errors import InputError, RankproofError, UsageError

Permission = Literal["edit", "judge", "label"]
"""What `serve` was started for: `--edit`, `--judge` or `--label`. Without any, nothing is written."""
_RESULTS = "{id}"
_ID = "([0-9]{1,9})"
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class NoRequest:
    """A request without parameters."""


@dataclass(frozen=True, slots=True)
class ApiCall:
    """Who asks, and the results that the address names; `found` is None for a route without results."""

    person: str | None
    found: LibraryEntry | None = None

    @property
    def entry(self) -> LibraryEntry:
        """The results that the address names."""
        assert self.found is not None, "only a path with {id} has results"
        return self.found


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """A JSON route: what it takes, what it returns, and the permission that it needs.

    `{id}` in the path is a results folder. `request` is a dataclass, read from the query string of a GET request or the JSON
    body of a POST request; `reply` is the dataclass that comes back as JSON. A POST route without `needs` only computes.
    """

    method: Literal["GET", "POST"]
    path: str
    about: str
    request: type[Any]
    reply: type[Any]
    answer: Callable[[ApiCall, Any], Any]
    needs: Permission | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of its paths."""
        return re.compile(_ID.join(map(re.escape, self.path.split(_RESULTS))))


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key of a request or reply: its type, whether it is required, and what it means."""

    key: str
    type: str
    required: bool
    about: str


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A route as `/api` lists it; `needs` is the option of `serve` that it needs, empty if none."""

    method: str
    path: str
    about: str
    needs: str
    request: tuple[KeyRow, ...]
    reply: tuple[KeyRow, ...]


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """The routes of this server, and the permissions that it was started with."""

    permissions: Annotated[tuple[str, ...], Option("what this server may change")]
    routes: Annotated[tuple[RouteRow, ...], Option("the routes")]


class Api:
    """Answers the requests below /api; an error is a status and one line of text."""

    def __init__(self, library: ResultsLibrary, permissions: Iterable[Permission], routes: Iterable[ApiRoute]) -> None:
        self._library, self.permissions = library, frozenset(permissions)
        self.routes = (ApiRoute("GET", "/api", "lists the routes", NoRequest, ApiDescription, self._description), *routes)
        self._patterns = [(route.pattern, route) for route in self.routes]

    def answer(self, path: str, query: str, body: Mapping[str, Any] | None, person: str | None) -> PageResponse:
        """The response to a request; without a body it is a GET request."""
        matches = [(match, route) for pattern, route in self._patterns if (match := pattern.fullmatch(path))]
        method = "GET" if body is None else "POST"
        for match, route in matches:
            if route.method == method:
                return self._call(route, match, parse_query(route.request, query) if body is None else body, person)
        if not matches:
            raise HttpError(404, "no such route; GET /api lists them")
        return PageResponse(405, "text/plain", b"", headers={"Allow": ", ".join(route.method for _, route in matches)})

    def _call(self, route: ApiRoute, match: re.Match[str], values: Mapping[str, Any], person: str | None) -> PageResponse:
        if route.needs is not None and route.needs not in self.permissions:
            raise HttpError(403, f"this server is read-only; start `rankproof serve` with --{route.needs}")
        entry = self._library.entry(match[1]) if match.groups() else None
        if match.groups() and entry is None:
            raise HttpError(404, "no such results; the list of results shows all folders")
        request = read_request(route.request, values)
        try:
            return json_response(200, plain_record(route.answer(ApiCall(person, entry), request)))
        except RankproofError as error:
            return text_response(422, str(error))

    def _description(self, call: ApiCall, request: NoRequest) -> ApiDescription:
        return ApiDescription(tuple(sorted(self.permissions)), route_rows(self.routes))


def parse_query(request: type[Any], query: str) -> dict[str, Any]:
    """The query string as JSON values of the types of the request."""
    settings = {setting.key: setting for setting in settings_of(request)}
    values: dict[str, Any] = {}
    for key, text in parse_qsl(query, keep_blank_values=True):
        setting = settings.get(key)
        if setting is not None and get_origin(setting.type) is tuple:
            values.setdefault(key, []).append(text)
        elif key in values:
            raise HttpError(400, f"{key} is given twice")
        else:
            values[key] = text if setting is None else _typed(setting, text)
    return values


def _typed(setting: Setting, text: str) -> Any:
    try:
        return setting.type(text) if setting.type in (int, float) else _TRUTH[text] if setting.type is bool else text
    except (ValueError, KeyError):
        raise HttpError(400, f"{setting.key} is not {type_name(setting.type)}") from None


def read_request(request: type[Any], values: Mapping[str, Any]) -> Any:
    """The request as its dataclass; unknown keys, wrong types and values out of range are rejected."""
    known = {setting.field for setting in settings_of(request)}
    if unknown := [key for key in values if key not in known]:
        raise HttpError(400, f"unknown key {ascii(unknown[0])[:80]}")
    try:
        read = JsonObject(dict(values), "request").read(request)
        check_options(read)
    except (InputError, UsageError) as error:
        raise HttpError(400, error.what) from None
    return read


def route_rows(routes: Sequence[ApiRoute]) -> tuple[RouteRow, ...]:
    """The routes with the keys of their requests and replies, as `/api` and the documentation list them."""
    return tuple(
        RouteRow(
            route.method,
            route.path,
            route.about,
            f"--{route.needs}" if route.needs else "",
            _key_rows(route.request),
            _key_rows(route.reply),
        )
        for route in routes
    )


def _key_rows(record: type[Any]) -> tuple[KeyRow, ...]:
    hints = get_type_hints(record)
    return tuple(
        KeyRow(setting.key, type_name(hints[setting.field]), setting.default is MISSING, setting.option.description)
        for setting in settings_of(record)
    )


def type_name(kind: Any) -> str:
    """A type in the words of JSON."""
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false", Any: "any value", type(None): "null"}
    if kind in names:
        return names[kind]
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    if get_origin(kind) in (tuple, list):
        return f"a list of {type_name(get_args(kind)[0])}"
    if get_origin(kind) is Mapping:
        return f"an object of {type_name(get_args(kind)[1])}"
    if get_args(kind):
        return " or ".join(map(type_name, get_args(kind)))
    return f"an object ({kind.__name__})"


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
