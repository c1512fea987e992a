"""The request of an HTTP engine: templates with placeholders and variables, presets, escaping of queries, checks of settings."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from rankproof._data.identity import identity_key
from rankproof._data.validation import checked_choice
from rankproof._io.http import is_unencrypted
from rankproof.errors import UsageError, closest_name, for_message
from rankproof.stages._engines.reply import ReplyPaths, parse_column, parse_value

if TYPE_CHECKING:
    from rankproof.stages._engines.http import Http


_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_VARIABLE_OR_PLACEHOLDER = re.compile(rf"{VARIABLE.pattern}|{_PLACEHOLDER.pattern}")


def placeholders(template: Any) -> set[str]:
    """The names of all placeholders in a template, keys included."""
    return {name for text in _texts(template) for name in _PLACEHOLDER.findall(text)}


def variables(template: Any) -> set[str]:
    """The names of all environment variables in a template."""
    return {name for text in _texts(template) for name in VARIABLE.findall(text)}


def _texts(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, Mapping):
        for key, value in template.items():
            yield from (key, *_texts(value))
    elif isinstance(template, Sequence):
        for value in template:
            yield from _texts(value)


@dataclass(frozen=True, slots=True)
class Filler:
    """Fills templates with values and environment variables, in one pass: what was filled in is not read again."""

    values: Mapping[str, Any]
    environment: Mapping[str, str] = field(repr=False)

    def json(self, template: Any) -> Any:
        """The template; a text that is one placeholder becomes the value itself, so "{size}" becomes a number."""
        if isinstance(template, str):
            whole = _PLACEHOLDER.fullmatch(template)
            return self.values[whole[1]] if whole else self.text(template)
        if isinstance(template, Mapping):
            return {self.text(key): self.json(value) for key, value in template.items()}
        if isinstance(template, Sequence):
            return [self.json(value) for value in template]
        return template

    def text(self, template: str, written: Callable[[str], str] = str) -> str:
        """The template; each value is written by the function."""
        return _VARIABLE_OR_PLACEHOLDER.sub(lambda match: written(self._value(match)), template)

    def url(self, template: str) -> str:
        """The template with values percent-encoded, but for one at its start, which is an address."""
        first = _VARIABLE_OR_PLACEHOLDER.match(template)
        start = self._value(first).rstrip("/") if first else ""
        return start + self.text(template[first.end() if first else 0 :], lambda value: quote(value, safe=""))

    def _value(self, match: re.Match[str]) -> str:
        variable, name = match.groups()
        return self.environment[variable] if variable else _as_text(self.values[name])


def _as_text(value: Any) -> str:
    """A value inside a longer text: a list of texts joined by commas, any other as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return ",".join(value)
    return json.dumps(value, separators=(",", ":"))


PRINTABLE = re.compile(r"[ -~]+")


def read_environment(names: Sequence[str]) -> dict[str, str]:
    """The values of environment variables; one that is not set or that a request cannot hold is an error, without its value."""
    for name in names:
        if not os.environ.get(name):
            raise UsageError(f"the environment variable {name} is not set", fix=f"set it: export {name}=…")
        if not PRINTABLE.fullmatch(os.environ[name]):
            what = f"the environment variable {name} contains characters that a request cannot have"
            raise UsageError(what, fix="set it to the key only, in ASCII and without line breaks")
    return {name: os.environ[name] for name in names}


Escape = Callable[[str], str]
_LUCENE_SYNTAX = re.compile(r'[+\-=&|!(){}\[\]^"~*?:\\/]')
_LUCENE_OPERATOR = re.compile(r"\b(?:AND|OR|NOT)\b")
_WORD = re.compile(r"\w+")
_QUOTE_OR_MINUS = re.compile(r'"|(?<!\S)-+')


def _lucene(query: str) -> str:
    """The query with Lucene's syntax escaped; < and > cannot be escaped and are left out."""
    plain = _LUCENE_SYNTAX.sub(r"\\\g<0>", re.sub("[<>]", " ", query))
    return _LUCENE_OPERATOR.sub(r"\\\g<0>", plain)


def _groonga(query: str) -> str:
    """The words of the query, joined by OR: without it a document must have all of them."""
    return " OR ".join(f'"{word}"' for word in _WORD.findall(query))


ESCAPES: Mapping[str, Escape] = {
    "none": lambda query: query,
    "lucene": _lucene,
    "graphql": lambda query: json.dumps(query, ensure_ascii=False)[1:-1],
    "groonga": _groonga,
    "plain": lambda query: _QUOTE_OR_MINUS.sub(" ", query),
    "words": lambda query: " ".join(_WORD.findall(query)),
}
"""How a query is written: plain removes quotes and leading minus signs, words keeps letters, digits and underscores."""

_PRESETS_FILE = "presets.toml"


@dataclass(frozen=True, slots=True)
class Preset:
    """The request and reply of one engine, as data.

    `settings` are settings of `stage = "http"`; `required` has an example of each value that the user gives; `login` the settings
    for a server with a login; `tested` the server that the tests run, "" for none.
    """

    name: str
    summary: str
    source: str
    settings: Mapping[str, Any]
    required: Mapping[str, Any]
    login: Mapping[str, Any]
    tested: str

    @property
    def needs_vector(self) -> bool:
        """Whether the request has the vector of the query."""
        return "vector" in placeholders(self.settings)


_ABOUT = ("summary", "source", "required", "login", "tested", "like")


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by name, in the order of the file."""
    tables = tomllib.loads(files(__package__).joinpath(_PRESETS_FILE).read_text(encoding="utf-8"))
    return {name: _preset(name, _inherited(tables, name)) for name in tables}


def _inherited(tables: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The table of a preset over the one that it is like."""
    own = tables[name]
    return {**_inherited(tables, own["like"]), **own} if "like" in own else dict(own)


def _preset(name: str, table: Mapping[str, Any]) -> Preset:
    settings = {key: value for key, value in table.items() if key not in _ABOUT}
    about = {key: table.get(key, {}) for key in ("required", "login")}
    return Preset(name, table["summary"], table["source"], settings, **about, tested=table.get("tested", ""))


def preset_named(name: str) -> Preset:
    """The preset of that name; an unknown name is rejected with the known ones."""
    if name not in presets():
        near = closest_name(name, presets())
        fix = f"did you mean {near}?" if near else f"choose from {', '.join(presets())}"
        raise UsageError(f"no preset is called {for_message(name)}", fix=fix)
    return presets()[name]


PER_QUERY = ("query", "size", "vector")
"""The placeholders that each query fills; all others are filled by `values`."""
TABLES = ("values", "headers", "expect")
"""Settings whose keys are added to those of the preset; any other setting replaces the preset's."""
_SINGLE = ("url", "method", "login_env", "body", "ids", "scores", "texts", "total", "server_time", "server_time_unit", "escape")


@dataclass(frozen=True, slots=True)
class Exchange:
    """The request and the reply of a stage, with the parts of its preset."""

    preset: Preset | None
    settings: Mapping[str, Any]
    paths: ReplyPaths
    time_header: str

    @classmethod
    def of(cls, stage: Http) -> Exchange:
        """The exchange; settings that do not fit together are an error."""
        preset = preset_named(stage.preset) if stage.preset else None
        of_preset = preset.settings if preset else {}
        settings = {name: getattr(stage, name) or of_preset.get(name) for name in (*_SINGLE, "max_size")}
        settings |= {name: {**of_preset.get(name, {}), **getattr(stage, name)} for name in TABLES}
        settings["method"] = settings["method"] or ("POST" if settings["body"] else "GET")
        _check_request(settings)
        _check_placeholders(settings, stage, preset)
        _check_query(settings, stage)
        header = (settings["server_time"] or "").partition("header:")[2].lower()
        exchange = cls(preset, settings, _reply_paths(settings, has_time=not header), header)
        if not variables([settings["url"], settings["values"]]):
            exchange.address({})
        return exchange

    def environment(self) -> dict[str, str]:
        """The values of all variables; one that is not set is an error."""
        return read_environment(sorted(self._variables()))

    def keys(self, environment: Mapping[str, str]) -> list[str]:
        """The values that may be keys: those in url, headers and body, and those in `values` whose name says so."""
        used = variables([self.settings[name] for name in _TEMPLATES])
        named = (name for name in environment if name in used or _CREDENTIAL.search(name))
        return [environment[name] for name in named if not _is_address(environment[name])]

    def filler(self, environment: Mapping[str, str], **of_query: Any) -> Filler:
        """Fills the templates with `values`, the environment and what belongs to one query."""
        values = {name: Filler({}, environment).json(value) for name, value in self.settings["values"].items()}
        return Filler({**values, "query": "", "size": 0, "vector": [], **of_query}, environment)

    def address(self, environment: Mapping[str, str]) -> str:
        """Scheme, host and port of the server; what is not an address is an error that does not show it."""
        try:
            parts = urlsplit(self.filler(environment).url(self.settings["url"]))
            is_plain = not re.search(r"[@\s]", parts.netloc)
            if parts.scheme in ("http", "https") and parts.hostname and is_plain and parts.port != 0:
                return f"{parts.scheme}://{parts.netloc}"
        except ValueError:  # such as a bracket that is not closed, or a port above 65535
            pass
        name = self.address_setting
        fix = f'write {name.split()[0]} = "https://HOST:PORT", and a login as login_env'
        raise UsageError(f"{name} must be an http or https address without a user", fix=fix)

    @property
    def address_setting(self) -> str:
        """The setting that has the address of the server."""
        return "server in values" if self.settings["url"].startswith("{server}") else "url"

    def headers(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request; a value that HTTP cannot send is an error that does not show it."""
        headers = {name: self.filler(environment).text(value) for name, value in self.settings["headers"].items()}
        for name, value in headers.items():
            if not PRINTABLE.fullmatch(value):
                raise UsageError(f"headers has a value of {name} that is empty or not ASCII", fix="write it in ASCII")
        return headers

    def about(self) -> Iterator[str]:
        """Notes: a preset that was never run against a server, no size in the request, keys sent without encryption."""
        if self.preset and not self.preset.tested:
            yield f"the preset {self.preset.name} is not tested against a server; check the first rankings by hand"
        if "size" not in placeholders([self.settings[name] for name in _TEMPLATES]):
            yield "the request has no {size}, so the engine decides how many documents it returns"
        environment = {name: os.environ.get(name, "") for name in self._variables()}
        has_key = bool(self.settings["login_env"] or variables(self.settings["headers"]))
        if has_key and all(environment.values()) and is_unencrypted(self.address(environment)):
            yield "keys are sent without encryption: the address is http, not https"

    def digest(self) -> str:
        """Changes with the request and with the addresses and names in the environment, not with keys."""
        environment = {name: os.environ.get(name, "") for name in sorted(self._variables())}
        keys = self.keys(environment)
        return identity_key(self.settings, {name: value for name, value in environment.items() if value not in keys})[:16]

    def _variables(self) -> set[str]:
        return variables([self.settings[name] for name in (*_TEMPLATES, "values")])


_TEMPLATES = ("url", "headers", "body")
_PATHS = ("ids", "scores", "texts", "total", "server_time", "expect")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CREDENTIAL = re.compile(r"(?i)auth(?!or)|authorization|cookie|key|token|secret|password")
_CREDENTIAL_KEY = re.compile(r"(?i)(?:.*[_-])?(?:api[_-]?key|(?:access|auth)[_-]?token|password|secret)")
"""Names in a body and in values whose value is a key; others, such as title.keyword, only look alike."""
_CREDENTIAL_IN_URL = re.compile(r"(?i)[?&][\w-]*(?:key|token|secret|password)=(?!\$\{)|//[^/?#]*@")
_URL_START = re.compile(r"(?i)https?://[^/]|\{|\$\{")


def _is_address(value: str) -> bool:
    return value.startswith(("http://", "https://"))


def _check_request(settings: Mapping[str, Any]) -> None:
    """Checks address and headers; a message never shows what may be a key."""
    url = settings["url"]
    if not url:
        raise UsageError("url is missing", fix='set url = "https://HOST/search?q={query}", or choose a preset')
    if not _URL_START.match(url) or _CREDENTIAL_IN_URL.search(url):
        what = "url must be an http or https address without keys and passwords"
        raise UsageError(what, fix="write https://HOST/PATH, keys as ${NAME}, and a login as login_env")
    if settings["method"] == "GET" and settings["body"]:
        raise UsageError("method is GET, but there is a body", fix='set method = "POST", or put the query into url')
    for name, value in settings["headers"].items():
        if not _HEADER.fullmatch(name) or not isinstance(value, str) or not value.isprintable() or not value.isascii():
            raise UsageError(f"headers has {for_message(name)}, which is not a header", fix='write headers = {NAME = "text"}')
    if settings["login_env"] and not VARIABLE.fullmatch(f"${{{settings['login_env']}}}"):
        fix = 'give the name of the variable, such as "SEARCH_LOGIN", never the password itself'
        raise UsageError("login_env is not the name of an environment variable", fix=fix)
    _check_keys(settings)


def _check_keys(settings: Mapping[str, Any]) -> None:
    """Rejects a key that is not in an environment variable."""
    named = [("headers", name, value) for name, value in settings["headers"].items() if _CREDENTIAL.search(name)]
    inside = [(setting, *pair) for setting in ("body", "values") for pair in _pairs(settings[setting])]
    for setting, name, value in (*named, *(part for part in inside if _CREDENTIAL_KEY.fullmatch(part[1]))):
        if value and not variables(_with_values(value, settings["values"])):
            fix = "write the key as ${NAME}, and set the environment variable NAME to it"
            raise UsageError(f"{setting} has the value of {for_message(name)} in plain text", fix=fix)


def _with_values(text: str, values: Mapping[str, Any]) -> list[str]:
    """The text, and the texts of the values that it names."""
    return [text, *(value for name in placeholders(text) if isinstance(value := values.get(name), str))]


def _pairs(table: Any) -> Iterator[tuple[str, str]]:
    """Each name in the table and in tables and lists inside it whose value is text, with that text."""
    if isinstance(table, Mapping):
        yield from ((name, value) for name, value in table.items() if isinstance(value, str))
        table = list(table.values())
    if isinstance(table, list):
        for part in table:
            yield from _pairs(part)


def _check_placeholders(settings: Mapping[str, Any], stage: Http, preset: Preset | None) -> None:
    """Checks that each name in braces has a value, and that each given value is used."""
    used = placeholders([settings[name] for name in (*_TEMPLATES, *_PATHS)])
    if unused := [name for name in stage.values if name not in used or name in PER_QUERY]:
        known = ", ".join(sorted(used.difference(PER_QUERY))) or "none"
        raise UsageError(f"values has {for_message(unused[0])}, which the request does not use", fix=f"choose from: {known}")
    for name in sorted(used.difference(PER_QUERY, settings["values"])):
        example = json.dumps(preset.required.get(name, "…") if preset else "…", ensure_ascii=False)
        advice = f"add {name} = {example} to values" if stage.values else f"set values = {{{name} = {example}}}"
        fix = f"{advice}; or, if it is no placeholder, write the braces with spaces: {{ {name} }}"
        raise UsageError(f"values has no {name}, which the request needs", fix=fix)


def _check_query(settings: Mapping[str, Any], stage: Http) -> None:
    """Checks that the request holds the query, and what it needs for that."""
    used = placeholders([settings[name] for name in _TEMPLATES])
    if used.isdisjoint({"query", "vector"}):
        raise UsageError("url and body hold no {query}", fix='put it where the engine takes the query: url = "…?q={query}"')
    if "vector" in used and stage.model is None:
        raise UsageError("model is missing, and the request has {vector}", fix='add the encoder of the index: model = "minilm"')
    if "vector" not in used and (stage.model is not None or stage.query_prompt):
        name = "query_prompt" if stage.model is None else "model"
        raise UsageError(
            f"{name} has no effect: the request has no {{vector}}", fix="leave it out, or put {vector} into the body"
        )
    if settings["escape"]:
        checked_choice("escape", settings["escape"], ESCAPES)
    if settings["max_size"] and stage.depth > settings["max_size"]:
        what = f"depth is {stage.depth}, and the engine returns at most {settings['max_size']} documents"
        fix = f"set depth = {settings['max_size']}, or max_size if the engine's own limit was raised"
        raise UsageError(what, fix=fix)


def _reply_paths(settings: Mapping[str, Any], *, has_time: bool) -> ReplyPaths:
    if not settings["ids"]:
        raise UsageError("ids is missing", fix='set the path to the ids of a reply, such as ids = "hits[].id"')
    filler = Filler(settings["values"], {})
    path = {name: filler.text(settings[name]) for name in _PATHS if name != "expect" and settings[name]}
    if held := next((name for name in path if variables(path[name])), None):
        what = f"{held} has an environment variable, by a name of values"
        raise UsageError(what, fix=f"write the value itself into values, or the whole path as {held}")
    return ReplyPaths(
        ids=parse_column("ids", path["ids"]),
        scores=parse_column("scores", path["scores"]) if "scores" in path else None,
        texts=parse_column("texts", path["texts"]) if "texts" in path else None,
        total=parse_value("total", path["total"]) if "total" in path else None,
        server_time=parse_value("server_time", path["server_time"]) if "server_time" in path and has_time else None,
        expect={parse_value("expect", filler.text(key)): value for key, value in settings["expect"].items()},
    )
