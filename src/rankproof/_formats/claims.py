"""claims.jsonl, the verdicts on the claims of answers, and contexts.jsonl, the texts of their passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from rankproof._data.claims import Against, Claim, ClaimVerdict, Importance, Side, Verdict
from rankproof._data.row_errors import row_error
from rankproof._data.wording.remarks import Remark
from rankproof._formats.json import parsed_lines
from rankproof._formats.texts import MAX_TEXT_BYTES
from rankproof._io.escape import escape_json
from rankproof._io.json_fields import read_fields
from rankproof._io.streams import ByteSource
from rankproof._io.strict_json import JsonObject

EDITED_FIX = "restore the original file, or evaluate the answers again"


@dataclass(frozen=True, slots=True)
class _ClaimLine:
    """The keys of a line of claims.jsonl in their order; those with a default may be missing."""

    query: str
    system: str
    side: Side
    n: int
    start: int | None
    end: int | None
    text: str
    against: Against
    verdict: Verdict
    evidence: tuple[tuple[int, ...], ...]
    judge: str
    score: float | None = None
    reason: str = ""
    reference: int = 1
    shown: tuple[int, ...] | None = None
    importance: Importance | None = None
    remark: Remark | None = None
    lead_in: str = ""
    repeat: int = 1


_KEYS = tuple(field.name for field in fields(_ClaimLine))
_OPTIONAL: dict[str, Any] = {
    **{"score": None, "reason": "", "reference": 1, "shown": None},
    **{"importance": None, "remark": None, "lead_in": "", "repeat": 1},
}


def claim_blocks(verdicts: Iterable[ClaimVerdict]) -> Iterator[bytes]:
    """The verdicts, one a line."""
    for verdict in verdicts:
        line = _line_of(verdict)
        values = ((key, getattr(line, key)) for key in _KEYS)
        yield _json_block({key: value for key, value in values if key not in _OPTIONAL or value != _OPTIONAL[key]})


def _line_of(claim_verdict: ClaimVerdict) -> _ClaimLine:
    claim = claim_verdict.claim
    return _ClaimLine(
        query=claim_verdict.query,
        system=claim_verdict.system,
        side=claim.side,
        n=claim.n,
        start=claim.start,
        end=claim.end,
        text=claim.text,
        against=claim_verdict.against,
        verdict=claim_verdict.verdict,
        evidence=claim_verdict.evidence,
        judge=claim_verdict.judge,
        score=claim_verdict.score,
        reason=claim_verdict.reason,
        reference=claim.reference,
        shown=claim_verdict.shown,
        importance=claim_verdict.importance,
        remark=claim.remark,
        lead_in=claim.lead_in,
        repeat=claim_verdict.repeat,
    )


def read_claims(source: ByteSource) -> list[ClaimVerdict]:
    """The verdicts of claims.jsonl; a line that is wrong, or that repeats a verdict, is an error."""
    first_lines: dict[tuple[Any, ...], int] = {}
    verdicts = []
    for line, item in parsed_lines(source, limit=MAX_TEXT_BYTES):
        values = JsonObject(item, source.name, line=line, damaged_fix=EDITED_FIX)
        read = read_fields(_ClaimLine, values)
        if wrong := _wrong_value(read):
            raise values.error(wrong)
        if (first := first_lines.setdefault(_key(read), line)) != line:
            raise values.error(f"the verdict on this claim is there twice, first on line {first}")
        verdicts.append(_verdict_of(read))
    return verdicts


def _wrong_value(line: _ClaimLine) -> str | None:
    """What is wrong with the values of a line; None if nothing is."""
    evidence = line.evidence
    wrong = {
        "n is below 1": line.n < 1,
        "reference is below 1": line.reference < 1,
        "repeat is below 1": line.repeat < 1,
        "judge is empty": not line.judge,
        "start and end are no place in a text": not _is_place(line.start, line.end),
        "evidence is not a list of pairs of a text and a sentence, from 1": any(
            len(pair) != 2 or min(pair) < 1 for pair in evidence
        ),
        "score is not from 0 to 1": line.score is not None and not 0 <= line.score <= 1,
        "shown has a number below 1": any(number < 1 for number in line.shown or ()),
    }
    return next((what for what, is_wrong in wrong.items() if is_wrong), None)


def _is_place(start: int | None, end: int | None) -> bool:
    if start is None or end is None:
        return start is end
    return 0 <= start <= end


def _key(line: _ClaimLine) -> tuple[Any, ...]:
    """What a verdict is about: the same claim may be checked by several judges and against several sets of contexts."""
    claim = (line.query, line.system, line.repeat, line.side, line.reference, line.n, line.start, line.text)
    return (*claim, line.against, line.judge, line.shown)


def _verdict_of(line: _ClaimLine) -> ClaimVerdict:
    return ClaimVerdict(
        query=line.query,
        system=line.system,
        claim=Claim(line.side, line.n, line.text, line.start, line.end, line.reference, line.remark, line.lead_in),
        against=line.against,
        verdict=line.verdict,
        judge=line.judge,
        evidence=tuple((text, sentence) for text, sentence in line.evidence),
        score=line.score,
        reason=line.reason,
        shown=line.shown,
        importance=line.importance,
        repeat=line.repeat,
    )


def context_blocks(contexts: Mapping[str, str]) -> Iterator[bytes]:
    """The texts of passages by id, one a line."""
    return (_json_block({"id": identity, "text": text}) for identity, text in contexts.items())


def read_contexts(source: ByteSource) -> dict[str, str]:
    """The texts of contexts.jsonl by the id of their passage."""
    contexts: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, item in parsed_lines(source, limit=MAX_TEXT_BYTES):
        values = JsonObject(item, source.name, line=line, damaged_fix=EDITED_FIX)
        identity, text = values.text("id"), values.text("text")
        if identity in contexts:
            first = f"line {lines[identity]}"
            raise row_error("id-twice", source=source.name, line=line, column="context", token=identity, first=first)
        contexts[identity], lines[identity] = text, line
    return contexts


def _json_block(record: Mapping[str, Any]) -> bytes:
    import json

    return escape_json(json.dumps(record, ensure_ascii=False, allow_nan=False)).encode() + b"\n"
