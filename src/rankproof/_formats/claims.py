"""Files of claims: verdicts (claims.jsonl), texts of passages (contexts.jsonl), labels (people.jsonl) and nuggets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from rankproof._data.claims import AGAINST, Against, Claim, ClaimVerdict, Importance, Nugget, Side, Verdict, is_against
from rankproof._data.row_errors import row_error
from rankproof._data.text import pluralise
from rankproof._data.wording.remarks import Remark
from rankproof._formats.json import json_line, parsed_lines
from rankproof._formats.texts import MAX_TEXT_BYTES
from rankproof._io.escape import escape_json
from rankproof._io.streams import ByteSource
from rankproof._io.strict_json import JsonObject
from rankproof.errors import InputError, for_message

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


_WRONG_AGAINST = f"against is not one of {', '.join(AGAINST)}"
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
        read = values.read(_ClaimLine)
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
        _WRONG_AGAINST: not is_against(line.against),
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
        identity, text = values.member("id", str), values.member("text", str)
        if identity in contexts:
            first = f"line {lines[identity]}"
            raise row_error("id-twice", source=source.name, line=line, column="context", token=identity, first=first)
        contexts[identity], lines[identity] = text, line
    return contexts


def _json_block(record: Mapping[str, Any]) -> bytes:
    import json

    return escape_json(json.dumps(record, ensure_ascii=False, allow_nan=False)).encode() + b"\n"


ClaimLabel = Literal["supported", "contradicted", "not_stated", "nothing_to_check"]
CLAIM_LABELS: tuple[ClaimLabel, ...] = get_args(ClaimLabel)
ClaimKey = tuple[str, str, str, str, int, int]
"""Query, system, side, against, reference and number of a claim."""
CLAIM_SAMPLE = {"draw": "claims"}
"""The first line of a file of labels whose claims were drawn at random, each with the same chance."""
_LABEL_FIX = 'write {"query", "system", "side", "n", "against", "text", "label", "person"} as rankproof serve does'


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
    score: float | None = None


@dataclass(frozen=True, slots=True)
class PersonLabel:
    """What one person says of one claim, with the line of the file; `score` is the grade by a rubric, from 0 to 1."""

    key: ClaimKey
    text: str
    label: ClaimLabel
    person: str
    when: str
    line: int
    score: float | None = None

    @property
    def value(self) -> float | None:
        """The score, or 1 for a supported claim and 0 for any other, None where there is nothing to check."""
        if self.score is not None:
            return self.score
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
        values = JsonObject(item, source.name, line=line, damaged_fix=_LABEL_FIX)
        read = values.read(_LabelLine)
        if not read.person.strip():
            raise values.error("person is empty", "write who gave the label, so that people can be compared")
        if not is_against(read.against):
            raise values.error(_WRONG_AGAINST)
        if read.score is not None and not 0 <= read.score <= 1:
            raise values.error("score is not from 0 to 1")
        key = read.query, read.system, read.side, read.against, read.reference, read.n
        if (before := first.setdefault((key, read.text, read.person), line)) != line:
            what = f"{for_message(read.person)} labelled this claim twice, first on line {before}"
            raise values.error(what, "keep one of the two lines")
        labels.append(PersonLabel(key, read.text, read.label, read.person, read.when, line, read.score))
    if not labels:
        raise InputError("the file has no label", fix="label claims with: rankproof serve RESULTS", source=source.name)
    return ClaimLabels(source.name, tuple(labels), is_claim_sample)


_NUGGET_FIX = 'write {"query": "q1", "nuggets": [{"text": "…", "importance": "vital"}]}, with vital or okay'


@dataclass(frozen=True, slots=True)
class QueryNuggets:
    """The nuggets of one query; `confirmed` says that a person has checked them, `drafted_by` names the model that wrote them."""

    query: str
    nuggets: tuple[Nugget, ...]
    confirmed: bool = True
    drafted_by: str = ""

    def plain(self) -> dict[str, Any]:
        """The line of the file."""
        drafted = {"drafted_by": self.drafted_by} if self.drafted_by else {}
        return {
            "query": self.query,
            "nuggets": [asdict(nugget) for nugget in self.nuggets],
            "confirmed": self.confirmed,
            **drafted,
        }


def read_nuggets(source: ByteSource) -> dict[str, tuple[Nugget, ...]]:
    """The nuggets of each query; a draft that no person has confirmed is an error."""
    lines = list(_lines(source))
    drafts = [line for line, query_nuggets in lines if not query_nuggets.confirmed]
    if drafts:
        others = f", as are those of {pluralise(len(drafts) - 1, 'other query', 'other queries')}" if drafts[1:] else ""
        query = next(query_nuggets.query for line, query_nuggets in lines if line == drafts[0])
        raise InputError(
            f"the nuggets of query {for_message(query)} are a draft that no person has confirmed{others}",
            fix=f'confirm them with: rankproof serve RESULTS --nuggets {source.name}, or read them and write "confirmed": true',
            source=source.name,
            line=drafts[0],
        )
    return {query_nuggets.query: query_nuggets.nuggets for _, query_nuggets in lines}


def read_nugget_drafts(source: ByteSource) -> dict[str, QueryNuggets]:
    """The nuggets of each query, confirmed or not."""
    return {query_nuggets.query: query_nuggets for _, query_nuggets in _lines(source)}


def nugget_blocks(nuggets: Iterable[QueryNuggets]) -> Iterator[bytes]:
    """The nuggets, one query a line."""
    return (json_line(query_nuggets.plain()) for query_nuggets in nuggets)


def _lines(source: ByteSource) -> Iterator[tuple[int, QueryNuggets]]:
    first: dict[str, int] = {}
    for line, item in parsed_lines(source, limit=MAX_TEXT_BYTES):
        yield line, nuggets_of_line(item, first, source=source.name, line=line)


def nuggets_of_line(item: Any, first: dict[str, int], *, source: str, line: int) -> QueryNuggets:
    """The nuggets of the value of a line; `first` has the line of each query so far, and gets that of this query."""
    values = JsonObject(item, source, line=line, damaged_fix=_NUGGET_FIX)
    read = values.read(QueryNuggets)
    if (before := first.setdefault(read.query, line)) != line:
        what = f"query {for_message(read.query)} is there twice, first on line {before}"
        raise values.error(what, "join the two lines")
    if any(not nugget.text.strip() for nugget in read.nuggets):
        raise values.error("a nugget has no text", "write its text, or remove it")
    return read
