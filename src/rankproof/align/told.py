"""What the native reader refuses, in the words of the plain reader."""

from __future__ import annotations

from typing import Any, NoReturn

from ..data.refusals import refusal
from ..errors import InputError
from ..formats import trec
from ..formats.faults import fault
from . import _native


def raise_told(error: _native.Refused, source: str) -> NoReturn:
    """Raises the error for one refusal; the plain reader's own checks say what is wrong with a token."""
    code, number, fields = error.args
    line = number or None
    match code:
        case "run-columns":
            raise trec.run_columns_refusal(fields["found"], source=source, line=number)
        case "qrels-columns":
            raise trec.qrels_columns_refusal(fields["found"], source=source, line=number)
        case "score":
            trec.parse_score(fields["token"], source=source, line=line)
        case "grade":
            trec.parse_grade(fields["token"], source=source, line=line)
        case "duplicate" | "conflict":
            raise _clash(code, line, fields, source)
        case "id-null" | "score-null":
            raise fault(code, source=source, line=line, **fields)
        case "id-utf8":
            raise fault("encoding", source=source, line=line, encoding="UTF-8", reason=f"in a {fields['column']} id")
        case _:
            raise refusal(code, source=source, line=line, **fields)
    raise AssertionError(f"the plain reader takes {fields}") from error


def _clash(code: str, line: int | None, fields: dict[str, Any], source: str) -> InputError:
    ids = {key: fields[key].decode() for key in ("query", "doc")}
    scores = {key: float(fields[key]) for key in ("score", "first_score") if key in fields}
    grades = {key: fields[key] for key in ("grade", "first_grade") if key in fields}
    return refusal(code, source=source, line=line, first=f"line {fields['first']}", **ids, **scores, **grades)
