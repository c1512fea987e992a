"""Text in another encoding, made UTF-8 as it streams; a byte that the encoding does not have is refused."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from ..data.source import ByteStream
from ..errors import InputError, UsageError, shown
from .faults import fault
from .streams import LineCount, read_blocks

_UTF8_NAMES = frozenset({"utf-8", "utf-8-sig"})
_NOT_FOR_FILES = frozenset({"unicode_escape", "unicode-escape", "raw_unicode_escape", "raw-unicode-escape", "idna", "punycode"})


def is_utf8(encoding: str) -> bool:
    """Whether the encoding is UTF-8 by any of its names; one that does not exist is refused."""
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError, TypeError):
        raise _no_encoding(str(encoding)) from None
    if not getattr(codec, "_is_text_encoding", True) or codec.name in _NOT_FOR_FILES or codec.incrementaldecoder is None:
        raise _no_encoding(encoding)
    return codec.name in _UTF8_NAMES


def transcoded(stream: ByteStream, encoding: str, name: str) -> Iterator[bytes]:
    """The stream's text as blocks of UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    lines = LineCount()
    for block, last in _with_end(read_blocks(stream)):
        _, state = decoder.getstate()
        try:
            out = decoder.decode(block, last).encode()
        except UnicodeError as error:
            raise _refused(error, decoder, state, lines, encoding, name) from None
        lines.add(out)
        if out:
            yield out


def _with_end(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    for block in blocks:
        yield block, False
    yield b"", True


def _refused(
    error: UnicodeError, decoder: codecs.IncrementalDecoder, state: int, lines: LineCount, encoding: str, name: str
) -> InputError:
    line = None
    if isinstance(error, UnicodeDecodeError):
        decoder.setstate((b"", state))
        lines.add(decoder.decode(error.object[: error.start]).encode(errors="replace"))
        line = lines.ended + 1
        reason = f"byte 0x{error.object[error.start]:02x}: {error.reason}"
    else:
        reason = getattr(error, "reason", str(error))
    return fault("encoding", source=name, line=line, encoding=encoding, reason=reason)


def _no_encoding(encoding: str) -> UsageError:
    return UsageError(f"no text encoding is called {shown(encoding)}", fix="name one that Python knows, like latin-1 or cp1252")
