"""API keys and passwords: read from the environment, and masked in every text that a server sends."""

from __future__ import annotations

import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from html.entities import html5
from typing import Any
from unicodedata import category, normalize
from urllib.parse import quote, quote_plus, unquote, urlsplit

from rankproof._data.text import MASK
from rankproof.errors import UsageError, is_hidden

_MIN_KEY_LENGTH = 8
"""Shorter keys, such as EMPTY for local servers, are not masked: replies may contain them. Nor are they searched for encoded."""
_VARIABLE_PATTERN = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_KEY_PATTERN = re.compile(r"[!-~]{1,4096}")
_BEARER = re.compile(r"(?i)bearer\s+(?=[^\s\"']*\d)(?P<token>[\w.~+/=-]{16,})", re.ASCII)
_MIN_SPREAD = 12
"""The letters and digits of a key that is also found with spaces or signs between them; one without a digit could be words."""
_SIGNS = re.compile(r"[\W_]+", re.ASCII)
_MAX_NESTED = 4
"""How many times a text may be escaped; nothing reads a reply more often than that."""
_MAX_SPELLED = 1 << 20
"""A longer text that hides a key is masked as a whole: finding the place of each character takes memory."""
_FILLERS = "\u115f\u1160\u3164\uffa0"
"""Letters without a shape."""
_OTHER_SCRIPTS = "\u0400-\u0482\u048a-\u052f\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
"""Letters of long texts that stand for no character of a key."""
_UNUSUAL = re.compile(rf"[^ -~{_OTHER_SCRIPTS}]")
_ESCAPE = re.compile(
    r"[\\%]u(?P<hex>[0-9a-fA-F]{4})"
    r"|\\U(?P<long>000[0-9a-fA-F]{5})"
    r"|\\u\{0*(?P<braced>[0-9a-fA-F]{1,5})\}"
    r"|\\x(?P<byte>[0-9a-fA-F]{2})"
    r"|\\0?(?P<octal>[01][0-7]{2})"
    r"|\\(?P<control>[0abefnrtv])"
    r"|[%=](?P<percent>[2-7][0-9a-fA-F])"
    r"|&#[xX]0*(?P<entity_hex>[0-9a-fA-F]{1,5});?"
    r"|&#0*(?P<entity>[0-9]{1,6});?"
    r"|&(?P<name>[a-zA-Z]{2,31});"
    r"|\\(?P<sign>[!-/:-@\[-`{-~])"
    rf"|(?P<unusual>{_UNUSUAL.pattern})"
)
"""A character as JSON, URLs, quoted-printable and HTML write it, and one that is not printable ASCII."""


def _unescaped(match: re.Match[str]) -> str:
    """The characters that an escape stands for, "" for one that is not seen."""
    kind, text = str(match.lastgroup), match[str(match.lastgroup)]
    if kind == "control":
        return ""
    if kind == "sign":
        return text
    if kind == "unusual":
        return _in_ascii(text)
    if kind == "name":
        return html5.get(f"{text};", match[0])
    return chr(int(text, {"octal": 8, "entity": 10}.get(kind, 16)))


@lru_cache(4096)
def _in_ascii(char: str) -> str:
    """The plain form of a character: no accents, a hyphen for a dash, "" for one that prompts leave out or nobody sees."""
    if is_hidden(char) or char in _FILLERS:
        return ""
    parts = ((part, category(part)) for part in normalize("NFKD", char))
    return "".join("-" if kind == "Pd" else part for part, kind in parts if not kind.startswith("M"))


def _without_unusual(text: str) -> str:
    return _UNUSUAL.sub(lambda match: _in_ascii(match[0]), text)


def _unescaped_once(text: str, offsets: list[int]) -> tuple[str, list[int]]:
    """The text with its escapes replaced, and the offset of each of its characters in the text that was sent."""
    pieces, new_offsets, end = [], [], 0
    for match in _ESCAPE.finditer(text):
        char = _unescaped(match)
        pieces += [text[end : match.start()], char]
        new_offsets += [*offsets[end : match.start()], *[offsets[match.start()]] * len(char)]
        end = match.end()
    return "".join([*pieces, text[end:]]), [*new_offsets, *offsets[end:]]


def _base64_forms(key: bytes) -> Iterator[str]:
    """The part of the key's base64 that does not depend on the text around it, for each place of its first byte in a group."""
    # Base64 takes three bytes at a time, so that a key looks different at each of three places in a text.
    for before in range(3):
        for encode in (b64encode, urlsafe_b64encode):
            whole = encode(b"\0" * before + key).decode().rstrip("=")
            has_rest = (before + len(key)) % 3 != 0
            yield whole[(0, 2, 3)[before] : len(whole) - has_rest]


class Secret:
    """API keys and passwords, none for a server that needs none; the representation never shows them.

    `others` are masked too, but never sent, such as the password of a proxy.
    """

    def __init__(self, *keys: str, others: Sequence[str] = (), min_length: int = _MIN_KEY_LENGTH) -> None:
        self._keys, self._others, self._min_length = tuple(filter(None, keys)), tuple(others), min_length

    def __bool__(self) -> bool:
        return bool(self._keys)

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def bearer(self) -> dict[str, str]:
        """The header with the first key."""
        return {"Authorization": f"Bearer {self._keys[0]}"} if self._keys else {}

    def header(self, name: str) -> dict[str, str]:
        """The first key as the header of that name."""
        return {name: self._keys[0]} if self._keys else {}

    def masked(self, text: str) -> str:
        """The text without the keys in any spelling that can be read back, and without other bearer tokens."""
        seen = _with_mask(text, list(self._spans(text)))
        plain = seen
        for _ in range(_MAX_NESTED):
            before, plain = plain, _ESCAPE.sub(_unescaped, plain)
            if plain == before:
                return seen
            if next(self._spans(plain), None):
                return MASK if len(seen) > _MAX_SPELLED else _with_mask(seen, list(self._escaped_spans(seen)))
        return seen

    def masked_document(self, document: Any) -> Any:
        """The JSON value with the keys masked in each text, and in whole numbers if a key is one."""
        if isinstance(document, str):
            return self.masked(document)
        if type(document) is int and self._has_number:
            return MASK if self.masked(str(document)) != str(document) else document
        if isinstance(document, list):
            return [self.masked_document(value) for value in document]
        if isinstance(document, dict):
            return {self.masked(name): self.masked_document(value) for name, value in document.items()}
        return document

    def _escaped_spans(self, text: str) -> Iterator[tuple[int, int]]:
        plain, offsets = text, list(range(len(text) + 1))
        for _ in range(_MAX_NESTED):
            plain, offsets = _unescaped_once(plain, offsets)
            yield from ((offsets[start], offsets[end]) for start, end in self._spans(plain))

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the text has a key or a bearer token."""
        folded = text.casefold()
        if any(form.casefold() in folded for form in self._folded_forms) or any(form in text for form in self._exact_forms):
            yield from (match.span() for match in self._pattern.finditer(text))
        letters = _SIGNS.sub("", folded) if self._spread_forms else ""
        if any(form in letters for form in self._spread_forms):
            yield from (match.span() for match in self._spread_pattern.finditer(text))
        if "bearer" in folded:
            yield from (match.span("token") for match in _BEARER.finditer(text))

    @cached_property
    def _long_keys(self) -> tuple[str, ...]:
        # The longest first, so that a key that contains another one is masked as a whole.
        return tuple(sorted({key for key in (*self._keys, *self._others) if len(key) >= self._min_length}, key=len, reverse=True))

    @cached_property
    def _has_number(self) -> bool:
        return any(form.isdecimal() for form in self._folded_forms)

    @cached_property
    def _folded_forms(self) -> tuple[str, ...]:
        """Spellings in which capitals make no difference: plain, in a URL, without accents, backwards, in hex."""
        forms = [form for key in self._long_keys for form in (key, quote(key, safe=""), quote_plus(key))]
        for key in self._long_keys:
            if len(key) >= _MIN_KEY_LENGTH:
                forms += [_without_unusual(key), key[::-1], key.encode(errors="surrogatepass").hex()]
        return tuple(dict.fromkeys(forms))

    @cached_property
    def _exact_forms(self) -> tuple[str, ...]:
        """Spellings in base64."""
        keys = [key.encode(errors="surrogatepass") for key in self._long_keys if len(key) >= _MIN_KEY_LENGTH]
        return tuple(dict.fromkeys(form for key in keys for form in _base64_forms(key)))

    @cached_property
    def _spread_forms(self) -> tuple[str, ...]:
        """The letters and digits of each spelling."""
        forms = (_SIGNS.sub("", form.lower()) for form in self._folded_forms if form.isascii() and re.search(r"\d", form))
        return tuple(dict.fromkeys(form for form in forms if len(form) >= _MIN_SPREAD))

    @cached_property
    def _spread_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(r"[\W_]*".join(map(re.escape, form)) for form in self._spread_forms), re.ASCII | re.IGNORECASE)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        folded = "|".join(map(re.escape, self._folded_forms))
        exact = "".join(rf"|{re.escape(form)}[A-Za-z0-9_+/-]{{0,2}}={{0,2}}" for form in self._exact_forms)
        return re.compile(f"(?i:{folded}){exact}")


def _with_mask(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with the mask in place of the spans, which may overlap."""
    pieces, end = [], 0
    for start, stop in sorted(spans):
        if start >= end:
            pieces += [text[end:start], MASK]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


def proxy_passwords() -> list[str]:
    """The passwords of the proxies in the environment."""
    proxies = (value for name, value in os.environ.items() if name.lower().endswith("_proxy"))
    return [unquote(password) for value in proxies if (password := _password_of(value))]


def _password_of(address: str) -> str | None:
    try:
        return urlsplit(address if "://" in address else f"//{address}").password
    except ValueError:
        return None


def checked_variable_name(name: object, setting: str = "api_key_env", example: str = "OPENAI_API_KEY") -> str:
    """The name of an environment variable, "" for none; a value that could be a key is an error and not shown."""
    if isinstance(name, str) and (not name or _VARIABLE_PATTERN.fullmatch(name)):
        return name
    fix = f'give the name in capitals, such as "{example}", never the key itself, or "" if the server needs none'
    raise UsageError(f"{setting} is not the name of an environment variable", fix=fix)


def secret_from_env(variable: str, *, needed: bool) -> Secret:
    """The key in the variable; if it is not set, an error or no key."""
    if variable and needed and not os.environ.get(variable):
        fix = "set it to the key, or api_key_env = \"\" (--api-key-env '') if the server needs none"
        raise UsageError(f"the environment variable {variable} (api_key_env) is not set", fix=fix)
    if variable and os.environ.get(variable) and not _KEY_PATTERN.fullmatch(os.environ[variable]):
        raise UsageError(
            f"the environment variable {variable} (api_key_env) contains characters that a key cannot have",
            fix="set it to the API key only",
        )
    return Secret(os.environ.get(variable, "") if variable else "", others=proxy_passwords())
