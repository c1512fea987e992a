"""Ways in which a server can write a key so that a reader gets it back, and a search for a key in any of them."""

from __future__ import annotations

import binascii
import html
import quopri
import re
import unicodedata
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote

KEY = "CANARY/key+0123456789~Zz"
"""It has signs that URLs, JSON, HTML and base64 write in other ways."""


def _each(form: Callable[[str], str]) -> Callable[[str], str]:
    return lambda key: "".join(map(form, key))


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}"


def _some_escaped(key: str) -> str:
    return "".join(_escaped(char) if at % 3 else char for at, char in enumerate(key))


def _percent(char: str) -> str:
    return f"%{ord(char):02X}"


KEY_SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "other capitals": str.swapcase,
    "backwards": lambda key: key[::-1],
    "JSON escapes": _each(_escaped),
    "JSON escapes of some characters": _some_escaped,
    "JSON escapes in capitals": _each(lambda char: f"\\u{ord(char):04X}"),
    "JSON escapes twice": _each(lambda char: f"\\\\u{ord(char):04x}"),
    "JSON escape of the slash": lambda key: key.replace("/", "\\/"),
    "JavaScript escapes": _each(lambda char: f"\\u{{{ord(char):x}}}"),
    "escapes in hex": _each(lambda char: f"\\x{ord(char):02x}"),
    "escapes in octal": _each(lambda char: f"\\{ord(char):03o}"),
    "URL": lambda key: quote(key, safe=""),
    "URL, every character": _each(_percent),
    "URL twice": lambda key: quote(_each(_percent)(key), safe=""),
    "HTML entities": _each(lambda char: f"&#{ord(char)};"),
    "HTML entities in hex": _each(lambda char: f"&#x{ord(char):x};"),
    "HTML entities twice": _each(lambda char: f"&amp;#{ord(char)};"),
    "HTML names": lambda key: key.replace("/", "&sol;").replace("+", "&plus;"),
    "quoted-printable": _each(lambda char: f"={ord(char):02X}"),
    "base64": lambda key: b64encode(key.encode()).decode(),
    "base64 after one byte": lambda key: b64encode(f":{key}".encode()).decode(),
    "base64 in a text": lambda key: b64encode(f"my {key} is".encode()).decode(),
    "base64 for URLs": lambda key: urlsafe_b64encode(f"?>{key}".encode()).decode(),
    "base64 in JSON escapes": lambda key: _each(_escaped)(b64encode(key.encode()).decode()),
    "hex": lambda key: key.encode().hex(),
    "hex in capitals": lambda key: key.encode().hex().upper(),
    "zero-width spaces between": "\u200b".join,
    "zero-width joiners and byte-order marks between": "\u200d\ufeff".join,
    "soft hyphens between": "\u00ad".join,
    "escaped zero-width spaces between": "\\u200b".join,
    "unassigned characters between": "\u0378".join,
    "escaped control characters between": "\\b".join,
    "escaped surrogate pairs between": "\\udb40\\udc41".join,
    "HTML names of hidden characters between": "&ZeroWidthSpace;".join,
    "spaces between": " ".join,
    "signs between": "**`` ".join,
    "hex with colons": lambda key: key.encode().hex(":"),
    "accents": "\u0301".join,
    "escapes of eight digits": _each(lambda char: f"\\U{ord(char):08x}"),
    "HTML entities with many zeros": _each(lambda char: f"&#{ord(char):060};"),
    "full-width letters": _each(lambda char: chr(ord(char) + 0xFEE0)),
}
_RUN = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")


def _unescaped(text: str) -> str:
    """The text with the escapes of JSON, JavaScript and Python read."""
    text = re.sub(r"\\+U([0-9a-fA-F]{8})", lambda found: chr(int(found[1], 16) % 0x110000), text)
    text = re.sub(r"\\+[bfnrt]", "", text)
    text = re.sub(r"\\+u\{?([0-9a-fA-F]{1,4})\}?", lambda found: chr(int(found[1], 16)), text)
    text = re.sub(r"\\+x([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)
    text = re.sub(r"\\+([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
    return re.sub(r"\\+([^\w\s])", r"\1", text)


def _seen(text: str) -> str:
    """The text as it is seen: without hidden characters, and with plain letters."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if unicodedata.category(char)[0] not in "CM")


def _alphanumeric(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def _quoted_printable(text: str) -> str:
    return quopri.decodestring(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def _readings(text: str) -> Iterator[str]:
    """The text as readers of one or several encodings get it."""
    for reader in (str, _unescaped, unquote, html.unescape, _seen, _quoted_printable):
        once = reader(text)
        yield once
        for again in (_unescaped, unquote, html.unescape, _seen):
            yield again(once)
            yield _seen(_unescaped(again(once)))


def _decoded_runs(text: str) -> Iterator[str]:
    """What runs of letters are in hex and in base64, from each place of a group."""
    for run in _RUN.findall(text):
        for start in range(4):
            part = run[start:].rstrip("=").replace("-", "+").replace("_", "/")
            yield b64decode(part[: len(part) // 4 * 4]).decode("latin-1")
    for run in re.findall(r"(?:[0-9a-fA-F]{2}:?){8,}", text):
        for start in range(2):
            part = run.replace(":", "")[start:]
            yield binascii.unhexlify(part[: len(part) // 2 * 2]).decode("latin-1")


def has_key(text: str, key: str = KEY) -> bool:
    """Whether someone could read the key, or all but its ends, in the text."""
    wanted, letters = key[1:-2].lower(), _alphanumeric(key[1:-2])
    for reading in {*_readings(text)}:
        for found in (reading, *_decoded_runs(reading)):
            folded = found.lower()
            spread = _alphanumeric(folded)
            if wanted in folded or wanted in folded[::-1] or letters in spread or letters in spread[::-1]:
                return True
    return False


def files_with_key(folder: Path, key: str = KEY) -> list[Path]:
    """The files in the folder in which the key can be read."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files, f"{folder} has no files"
    return [path for path in files if has_key(path.read_bytes().decode("utf-8", "replace"), key)]
