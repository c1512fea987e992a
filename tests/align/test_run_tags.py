"""The tag of a run is the rest of the line, unless the columns before it are shifted."""

from __future__ import annotations

import io
from types import ModuleType

import pytest

from rankproof._align.hits import Hits
from rankproof._data.validation import ReadOptions
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError


@pytest.fixture(params=["reference", "native"])
def engine(request: pytest.FixtureRequest) -> ModuleType:
    module: ModuleType = pytest.importorskip(f"rankproof._align.{request.param}", exc_type=ImportError)
    return module


def aligned(engine: ModuleType, run: bytes) -> Hits:
    judged = engine.judge_text(ByteSource("qrels", lambda: io.BytesIO(b"q 0 d 1\n")))
    hits: Hits = engine.align_text(judged, ByteSource("run", lambda: io.BytesIO(run)), ReadOptions())
    return hits


def test_words_after_the_tag_belong_to_it(engine: ModuleType) -> None:
    hits = aligned(engine, b"q Q0 d 1 2.5 my  long\ttag \t\r\nq Q0 e 2 1.5 other # more\n")
    assert hits.ranks.tolist() == [1]
    assert hits.alignment_counts.tags == ("my  long\ttag", "other # more")


@pytest.mark.parametrize("row", [b"q Q0 my doc 2 1.5 tag", b"q Q0 doc 7 2 1.5 tag", b"q Q0 doc 7 2 -1e3 my tag"])
def test_an_id_with_a_space_is_detected_by_the_rank_or_score_that_it_shifts(engine: ModuleType, row: bytes) -> None:
    with pytest.raises(InputError, match=f"run:2: {len(row.split())} columns where a run has 6"):
        aligned(engine, b"q Q0 e 1 2.5 tag\n" + row + b"\n")
