"""Gzip and Zstandard, streamed: any number of members, bounded memory, and cut or damaged data told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._extras import extra
from ..data.source import ByteStream
from .faults import fault
from .streams import LineCount, read_blocks

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
_IN_BYTES = 1 << 16
_OUT_BYTES = 1 << 20
# A Zstandard block of 4 bytes may hold 128 KiB, and the library hands out all that one piece of input holds.
_ZSTD_PIECE = 1 << 10


def codec_of(head: bytes) -> str | None:
    """`gzip` or `zstd` by the first bytes, None where they are neither."""
    if head.startswith(_GZIP_MAGIC):
        return "gzip"
    skippable = head[1:4] == _ZSTD_SKIPPABLE and 0x50 <= head[0] <= 0x5F
    return "zstd" if head.startswith(_ZSTD_MAGIC) or skippable else None


def decompressed(codec: str, stream: ByteStream, name: str) -> Iterator[bytes]:
    """The blocks that the compressed stream holds."""
    members = _gzip_members if codec == "gzip" else _zstd_frames
    lines = LineCount()
    for block in members(stream, name, lines):
        if block:
            lines.add(block)
            yield block


def _gzip_members(stream: ByteStream, name: str, lines: LineCount) -> Iterator[bytes]:
    import zlib

    member: Any = None
    ended, data = 0, b""
    for block in read_blocks(stream, _IN_BYTES):
        data += block
        while data:
            if member is None:
                data = data.lstrip(b"\0") if ended else data
                if len(data) < len(_GZIP_MAGIC):
                    break
                _refuse_trailing(data, "gzip", name)
                member = zlib.decompressobj(wbits=31)
            try:
                yield from _bounded(member, data)
            except zlib.error as error:
                raise fault("damaged", source=name, codec="gzip", lines=lines.ended, reason=_plain(error)) from None
            data = member.unused_data
            if member.eof:
                member, ended = None, ended + 1
    _refuse_open_end(member, data, "gzip", name, lines)


def _bounded(member: Any, data: bytes) -> Iterator[bytes]:
    """What the member makes of the data, at most a block at a time."""
    while True:
        out = member.decompress(data, _OUT_BYTES)
        yield out
        data = member.unconsumed_tail
        if member.eof or (not data and len(out) < _OUT_BYTES):
            return


def _zstd_frames(stream: ByteStream, name: str, lines: LineCount) -> Iterator[bytes]:
    with extra("zstd"):
        import zstandard

    frame: Any = None
    data = b""
    for block in read_blocks(stream, _ZSTD_PIECE):
        data += block
        while data:
            if frame is None:
                if len(data) < len(_ZSTD_MAGIC):
                    break
                _refuse_trailing(data, "zstd", name)
                frame = zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(data)
            except zstandard.ZstdError as error:
                if "too much memory" in str(error):
                    raise fault("window", source=name) from None
                raise fault("damaged", source=name, codec="zstd", lines=lines.ended, reason=_plain(error)) from None
            data = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame = None
    _refuse_open_end(frame, data, "zstd", name, lines)


def _refuse_trailing(data: bytes, codec: str, name: str) -> None:
    if codec_of(data) != codec:
        raise fault("trailing", source=name, codec=codec)


def _refuse_open_end(member: Any, data: bytes, codec: str, name: str, lines: LineCount) -> None:
    """After the last byte nothing may be open; `data` is what was too short to begin another member."""
    magic = _GZIP_MAGIC if codec == "gzip" else _ZSTD_MAGIC
    if member is not None or (data and magic.startswith(data)):
        raise fault("cut", source=name, codec=codec, lines=lines.ended)
    if data:
        raise fault("trailing", source=name, codec=codec)


def _plain(error: Exception) -> str:
    return str(error).rpartition(": ")[2]
