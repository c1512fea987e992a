"""Randomly mutated files are read or rejected with an InputError."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable

import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._formats.detect import detect
from rankproof._formats.documents import read_corpus
from rankproof._formats.registry import FORMATS, FileFormat, format_named
from rankproof._formats.rows import ParseOptions
from rankproof._formats.write import qrels_blocks, run_blocks
from rankproof._io.open import numbered_text_lines
from rankproof._io.streams import BlockStream, ByteSource, codec_of, decompress
from rankproof.errors import InputError
from support.examples import examples

RUN = Run.from_dict({"q1": {"d1": 1.5, "d,2": 1.0, 'd"3': -2e-5}, "é": {"\u2028": 0.0}})
QRELS = Qrels.from_dict({"q1": {"d1": 1, "d,2": 0}, "é": {"\u2028": 3}})
TEXTS = [name for name in FORMATS if name != "parquet"]
SEEDS = [b"".join(qrels_blocks(QRELS, name)) for name in TEXTS]
SEEDS += [b"".join(run_blocks(RUN, name)) for name in TEXTS if name != "beir"]
pieces = st.one_of(
    st.binary(max_size=4),
    st.sampled_from(
        [b'"', b"\n", b"\r", b",", b";", b"\t", b"{", b"}", b"[", b":", b"NaN", b"\xef\xbb\xbf", b"\x00", b"#", b"1e999"]
    ),
)
bends = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6), pieces), min_size=1, max_size=4)


def bent(data: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    for where, gone, new in changes:
        at = int(where * len(data))
        data = data[:at] + new + data[at + gone :]
    return data


def outcome_of(read: Callable[[FileFormat], object], source: ByteSource, name: str | None) -> object:
    """What was read; an error must name the source and is the text of the error."""
    try:
        return read(format_named(name or detect(source)))
    except InputError as error:
        assert str(error).startswith("made")  # noqa: PT017
        return str(error)


def run_again(run: Run) -> Run:
    """The run, written as JSON and read again."""
    return format_named("json").read_run(held(b"".join(run_blocks(run, "json"))), "run", ParseOptions())


def qrels_again(qrels: Qrels) -> Qrels:
    return format_named("json").read_qrels(held(b"".join(qrels_blocks(qrels, "json"))), ParseOptions())


def held(data: bytes) -> ByteSource:
    return ByteSource("made", lambda: io.BytesIO(data))


def scores_of(run: Run) -> list[tuple[str, str, float]]:
    return sorted((row.query, row.doc, row.score) for row in run.rows())


def assert_read_or_rejected(data: bytes, name: str | None = None) -> None:
    """What is read survives being written and read again; the kind is known or None."""
    source = held(data)
    qrels = outcome_of(lambda format: format.read_qrels(source, ParseOptions()), source, name)
    run = outcome_of(lambda format: format.read_run(source, "run", ParseOptions()), source, name)
    kind = outcome_of(lambda format: format.kind(source, ParseOptions()), source, name)
    assert isinstance(qrels, str) or dict(qrels_again(qrels)) == dict(qrels)  # type: ignore[arg-type, call-overload]
    assert isinstance(run, str) or scores_of(run_again(run)) == scores_of(run)  # type: ignore[arg-type]
    assert kind in ("qrels", "run", None) or str(kind).startswith("made")


@examples(400)
@given(seed=st.sampled_from(SEEDS), changes=bends)
def test_a_mutated_file_is_read_or_rejected(seed: bytes, changes: list[tuple[float, int, bytes]]) -> None:
    assert_read_or_rejected(bent(seed, changes))


@examples(200)
@given(data=st.binary(max_size=60), name=st.sampled_from([None, *TEXTS]))
def test_any_bytes_are_read_or_rejected_in_any_format(data: bytes, name: str | None) -> None:
    assert_read_or_rejected(data, name)


@examples(200)
@given(changes=bends, codec=st.sampled_from(["gzip", "zstd"]))
def test_mutated_compressed_data_is_never_silently_another_text(changes: list[tuple[float, int, bytes]], codec: str) -> None:
    text = b"".join(SEEDS)
    pack = gzip.compress if codec == "gzip" else zstandard.ZstdCompressor(write_checksum=True).compress
    data = bent(pack(text), changes)
    if codec_of(data) != codec:
        return
    stream = BlockStream(decompress(codec, io.BytesIO(data), "made"))
    try:
        out = b"".join(iter(lambda: portion(stream), b""))
    except InputError:
        return
    assert out == text


def portion(stream: BlockStream) -> bytes:
    buffer = bytearray(100)
    return bytes(buffer[: stream.readinto(memoryview(buffer))])


@examples(200)
@given(changes=bends)
def test_a_mutated_corpus_is_read_or_rejected(changes: list[tuple[float, int, bytes]]) -> None:
    data = bent(b'{"_id": "d1", "title": "T", "text": "one"}\n{"_id": 2, "text": "", "url": null}\n', changes)
    source = ByteSource("made", lambda: io.BytesIO(data))
    try:
        corpus = read_corpus(source)
    except InputError as error:
        assert str(error).startswith("made")  # noqa: PT017
    else:
        assert all(isinstance(document.text, str) for document in corpus.values())


@given(data=st.binary(max_size=200), size=st.integers(1, 7))
def test_lines_are_the_same_in_blocks_of_any_size(data: bytes, size: int) -> None:
    blocks = [data[at : at + size] for at in range(0, len(data), size)]

    def lines(source: ByteSource) -> list[tuple[int, str]] | str:
        try:
            return list(numbered_text_lines(source))
        except InputError as error:
            return str(error)

    whole = lines(ByteSource("made", lambda: io.BytesIO(data)))
    assert lines(ByteSource("made", lambda: BlockStream(iter(blocks)))) == whole
