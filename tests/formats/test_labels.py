"""people.jsonl: labels of claims with their line, and the errors of a file that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankproof._formats.claims import read_labels
from rankproof._io.open import open_source
from rankproof.errors import InputError

LINE = {"query": "q1", "system": "a", "side": "answer", "n": 1, "against": "contexts", "text": "Pie.", "label": "supported"}


def written(folder: Path, *lines: dict[str, object]) -> Path:
    path = folder / "people.jsonl"
    path.write_text("".join(json.dumps({**LINE, "person": "ann", **line}) + "\n" for line in lines))
    return path


def test_labels_are_read_with_their_claim_and_their_line(tmp_path: Path) -> None:
    path = written(tmp_path, {}, {"n": 2, "label": "not_stated", "reference": 3, "when": "2026-01-01", "evidence": [[1, 2]]})
    found = read_labels(open_source(path)).labels
    assert [(one.key, one.value, one.person, one.line) for one in found] == [
        (("q1", "a", "answer", "contexts", 1, 1), 1.0, "ann", 1),
        (("q1", "a", "answer", "contexts", 3, 2), 0.0, "ann", 2),
    ]


def test_a_label_says_supported_or_not_or_that_there_is_nothing_to_check(tmp_path: Path) -> None:
    names = ("supported", "contradicted", "not_stated", "nothing_to_check")
    path = written(tmp_path, *({"n": at, "label": name} for at, name in enumerate(names, 1)))
    assert [one.value for one in read_labels(open_source(path)).labels] == [1.0, 0.0, 0.0, None]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (({"label": "failed"},), "people.jsonl:1: label is not one of supported, contradicted, not_stated, nothing_to_check"),
        (({}, {"n": "2"}), "people.jsonl:2: n is not a whole number"),
        (({"person": " "},), "people.jsonl:1: person is empty; write who gave the label"),
        (({}, {"person": "bob"}, {"label": "contradicted"}), "people.jsonl:3: ann labelled this claim twice, first on line 1"),
        ((), "the file has no label; label claims with: rankproof serve RESULTS"),
    ],
)
def test_a_wrong_line_is_an_error_with_its_number(tmp_path: Path, lines: tuple[dict[str, object], ...], message: str) -> None:
    path = written(tmp_path, *lines)
    if not lines:
        path.write_text("\n")
    with pytest.raises(InputError) as error:
        read_labels(open_source(path))
    assert message in str(error.value)


def test_a_file_may_call_its_claims_a_random_draw_in_its_first_line_alone(tmp_path: Path) -> None:
    path = written(tmp_path, {}, {"n": 2})
    labels = path.read_text()
    assert not read_labels(open_source(path)).is_claim_sample
    path.write_text('{"draw": "claims"}\n' + labels)
    assert read_labels(open_source(path)).is_claim_sample
    assert [label.line for label in read_labels(open_source(path)).labels] == [2, 3]
    path.write_text(labels + '{"draw": "claims"}\n')
    with pytest.raises(InputError, match=r"people\.jsonl:3: "):
        read_labels(open_source(path))
