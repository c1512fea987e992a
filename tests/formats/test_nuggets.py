"""nuggets.jsonl: the nuggets of each query; drafts are refused until a person confirms them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankproof._data.claims import Nugget
from rankproof._formats.claims import QueryNuggets, nugget_blocks, read_nugget_drafts, read_nuggets
from rankproof._io.open import open_source
from rankproof.errors import InputError

FOUND = (
    QueryNuggets("q1", (Nugget("Pie is hot"), Nugget("It is big", "okay"))),
    QueryNuggets("q2", (), confirmed=False, drafted_by="llm:mine:12ab"),
    QueryNuggets("q3", (Nugget("Pie"),), confirmed=False, drafted_by="llm:mine:12ab"),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "nuggets.jsonl"
    path.write_bytes(b"".join(nugget_blocks(FOUND)))
    assert tuple(read_nugget_drafts(open_source(path)).values()) == FOUND


def test_a_file_written_by_hand_is_confirmed_and_its_nuggets_are_vital(tmp_path: Path) -> None:
    path = tmp_path / "nuggets.jsonl"
    path.write_text('{"query": "q1", "nuggets": [{"text": "Pie is hot"}]}\n')
    assert read_nuggets(open_source(path)) == {"q1": (Nugget("Pie is hot", "vital"),)}


def test_a_draft_is_refused_until_a_person_confirms_it(tmp_path: Path) -> None:
    path = tmp_path / "nuggets.jsonl"
    path.write_bytes(b"".join(nugget_blocks(FOUND)))
    with pytest.raises(InputError) as error:
        read_nuggets(open_source(path))
    assert f"{path}:2: the nuggets of query q2 are a draft that no person has confirmed, as are those of 1 other query" in str(
        error.value
    )
    assert f'rankproof serve RESULTS --nuggets {path}, or read them and write "confirmed": true' in str(error.value)
    path.write_text(path.read_text().replace('"confirmed": false', '"confirmed": true'))
    assert list(read_nuggets(open_source(path))) == ["q1", "q2", "q3"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"query": "q1", "nuggets": [{"text": "a", "importance": "high"}]}, "nuggets[0].importance is not one of vital, okay"),
        ({"query": "q1", "nuggets": [{"text": " "}]}, "a nugget has no text"),
        ({"query": "q1", "nuggets": ["a"]}, "nuggets[0] is not an object"),
        ({"query": "q0", "nuggets": []}, "query q0 is there twice, first on line 1; join the two lines"),
    ],
)
def test_a_wrong_line_is_an_error_with_its_number(tmp_path: Path, line: dict[str, object], message: str) -> None:
    path = tmp_path / "nuggets.jsonl"
    path.write_text('{"query": "q0", "nuggets": []}\n' + json.dumps(line) + "\n")
    with pytest.raises(InputError) as error:
        read_nuggets(open_source(path))
    assert f"{path}:2: {message}" in str(error.value)
