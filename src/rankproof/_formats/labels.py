"""people.jsonl: the labels that people gave to claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from rankproof._data.claims import Against, ClaimVerdict, Side
from rankproof._formats.json import parsed_lines
from rankproof._formats.texts import MAX_TEXT_BYTES
from rankproof._io.json_fields import read_fields
from rankproof._io.streams import ByteSource
from rankproof._io.strict_json import JsonObject
from rankproof.errors import InputError, for_message

ClaimLabel = Literal["supported", "contradicted", "not_stated", "nothing_to_check"]
CLAIM_LABELS: tuple[ClaimLabel, ...] = get_args(ClaimLabel)
ClaimKey = tuple[str, str, str, str, int, int]
"""Query, system, side, against, reference and number of a claim."""
CLAIM_SAMPLE = {"draw": "claims"}
"""The first line of a file of labels whose claims were drawn at random, each with the same chance."""
_FIX = 'write {"query", "system", "side", "n", "against", "text", "label", "person"} as rankproof serve does'


@dataclass(frozen=True, slots=True)
class _LabelLine:
    """The keys of a line; those with a default may be missing."""

    query: str
    system: str
    side: Side
    n: int
    against: Against
    text: str
    label: ClaimLabel
    person: str
    when: str = ""
    reference: int = 1


@dataclass(frozen=True, slots=True)
class PersonLabel:
    """What one person says of one claim, with the line of the file."""

    key: ClaimKey
    text: str
    label: ClaimLabel
    person: str
    when: str
    line: int

    @property
    def value(self) -> float | None:
        """1 for a supported claim, 0 for any other, None where there is nothing to check."""
        return None if self.label == "nothing_to_check" else float(self.label == "supported")


@dataclass(frozen=True, slots=True)
class ClaimLabels:
    """The labels of a file; `is_claim_sample` says that the file calls its claims a random draw."""

    source: str
    labels: tuple[PersonLabel, ...]
    is_claim_sample: bool = False

    def error(self, label: PersonLabel, what: str, fix: str) -> InputError:
        """An error about one label."""
        return InputError(what, fix=fix, source=self.source, line=label.line)


def claim_key(verdict: ClaimVerdict) -> ClaimKey:
    """The key of the claim that a verdict is on."""
    claim = verdict.claim
    return verdict.query, verdict.system, claim.side, verdict.against, claim.reference, claim.n


def read_labels(source: ByteSource) -> ClaimLabels:
    """The labels of people.jsonl; a person who labels a claim twice, or a file without a label, is an error."""
    first: dict[tuple[ClaimKey, str, str], int] = {}
    labels: list[PersonLabel] = []
    is_claim_sample = False
    for line, item in parsed_lines(source, limit=MAX_TEXT_BYTES):
        if item == CLAIM_SAMPLE and not labels:
            is_claim_sample = True
            continue
        values = JsonObject(item, source.name, line=line, damaged_fix=_FIX)
        read = read_fields(_LabelLine, values)
        if not read.person.strip():
            raise values.error("person is empty", "write who gave the label, so that people can be compared")
        key = read.query, read.system, read.side, read.against, read.reference, read.n
        if (before := first.setdefault((key, read.text, read.person), line)) != line:
            what = f"{for_message(read.person)} labelled this claim twice, first on line {before}"
            raise values.error(what, "keep one of the two lines")
        labels.append(PersonLabel(key, read.text, read.label, read.person, read.when, line))
    if not labels:
        raise InputError("the file has no label", fix="label claims with: rankproof serve RESULTS", source=source.name)
    return ClaimLabels(source.name, tuple(labels), is_claim_sample)
