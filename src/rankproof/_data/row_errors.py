"""The errors of rows: what is wrong, and what to do.

The readers in Python and in C and the checks of values in memory all raise them through `row_error`, so that the messages agree.
"""

from __future__ import annotations

from typing import Literal

from rankproof.errors import InputError, for_message

OnDuplicate = Literal["error", "keep-best", "keep-first", "keep-last"]
"""What to do with a document that occurs twice in a ranking."""
OnConflict = Literal["error", "max", "min", "first", "last"]
"""Which grade a pair has that is judged twice with two grades."""
MAX_GRADE = 1000
MAX_LINE_BYTES = 1 << 20

_ROW_ERRORS: dict[str, tuple[str, str]] = {
    "empty": ("the file is empty", "check the path, or the program that wrote it"),
    "no-rows": ("no rows, only blank lines or comments", "check the program that wrote it"),
    "utf16": (
        "the file is UTF-16 (it begins with a UTF-16 byte-order mark)",
        "save it as UTF-8; if all files are UTF-16 and the command has the option, pass --encoding utf-16",
    ),
    "utf8": (
        "byte 0x{byte:02x} at column {column} is not UTF-8",
        "save it as UTF-8, or pass its encoding, as in --encoding latin-1",
    ),
    "long-line": ("the line is over 1 MiB", "check the line endings, and that this is a text file"),
    "long-text": ("the line is over 64 MiB", "check the line endings, and that this is a text file"),
    "run-columns": (
        "{found} columns where a run has 6 (query Q0 doc rank score tag)",
        "fix the line (an id with a space needs another format, such as CSV), or pass the format with --run-format",
    ),
    "run-is-qrels": (
        "4 columns where a run has 6; this looks like a qrels file",
        "pass a run; in commands that take judgements, these come first",
    ),
    "qrels-columns": (
        "{found} columns where qrels have 4 (query 0 doc grade)",
        "fix the line (an id with a space needs another format, such as CSV), or pass the format with --qrels-format",
    ),
    "qrels-three": (
        "3 columns where qrels have 4 (query 0 doc grade)",
        "fix the line, or if every line is query, doc, grade, pass --qrels-format beir",
    ),
    "qrels-is-run": ("6 columns where qrels have 4; this looks like a run", "are the arguments swapped? The qrels come first"),
    "score-text": ('score "{token}" is not a decimal number', "write scores like 12.5 or 1e-3"),
    "score-header": (
        'score "{token}" is not a decimal number',
        "if the line is a header, remove it; if not, write scores like 12.5 or 1e-3",
    ),
    "score-infinite": ("score {token} is not finite", "fix the system that wrote it, or remove the row"),
    "score-range": ("score {token} is outside the range of a 64-bit float", "rescale the scores"),
    "rank-text": ("the rank is not a whole number", "fix the line, or order by score (--order score)"),
    "rank-missing": ("the run has no ranks to order by", "order by score (--order score)"),
    "preference-columns": (
        "{found} columns where preferences have {count} ({names})",
        "fix the line, or pass --qrels-format prefs for 5 columns and qrels_prefs for 4",
    ),
    "level": ('level "{token}" is not a number of at least 0', "write levels like 2 or 0.5; 0 means not relevant"),
    "level-twice": (
        "document {doc} has the levels {first_level:g} and {level:g} in one group of query {query}",
        "give it one level in each subgroup, either always 0 or never",
    ),
    "preference-circle": (
        "the preferences of group {group} of query {query} contradict each other at document {doc}",
        "put contradicting preferences in different groups",
    ),
    "grade-bits": ("grade {token} is not a 64-bit integer", "check the column; grades are small integers"),
    "grade-high": (f"grade {{token}} is above the limit of {MAX_GRADE}", "check the column, or map it with --grade-map"),
    "grade-empty": ("empty grade", "fill it in, or remove the row"),
    "grade-null": ("null grade of document {doc} for query {query}", "fill it in, or remove the row"),
    "id-empty": ("empty {column} id", "fill it in, or remove the row"),
    "id-nul": ("{column} id {token} contains a NUL byte", "fix the program that wrote it; UTF-16 text needs --encoding utf-16"),
    "id-twice": ("{column} {token} occurs twice (first at {first})", "remove one, or change its id"),
    "no-common-query": ("no judged query is among the queries", "check that queries and qrels belong together"),
    "id-type": ("{column} id {token} is {kind}, not text", "pass ids as text (an integer becomes its decimal text)"),
    "id-clash": ("{column} id {token} occurs as a number and as text", "pass all ids as text"),
    "id-surrogate": (
        "{column} id {token} contains a lone surrogate, which UTF-8 cannot encode",
        "decode the ids correctly where they are read",
    ),
    "weight-value": (
        "weight {token} of query {query} is not a number above 0",
        "write the query's share of the traffic, such as 3 or 0.25, or remove the query",
    ),
    "weight-range": (
        "weight {token} of query {query} is not from 1e-100 to 1e+100",
        "write the query's share of the traffic, such as 3 or 0.25",
    ),
    "chance-value": (
        "chance {token} of query {query} is not a number above 0 and at most 1",
        "write queries.jsonl with rankproof sample, or remove the field chance",
    ),
    "weight-missing": ("query {query} ({text}) has no weight, but others have one", "give every query a weight, or none"),
    "weight-none": ("query {query} has no weight, nor has any other", "give every query a field weight"),
    "weight-columns": (
        "{found} columns where weights have 2 (query weight)",
        "write a query id, a tab and a weight on each line",
    ),
    "not-a-mapping": (
        "query {query} must map document ids to {value}, found {kind}",
        "give each query a mapping of document id to {value}",
    ),
    "score-type": ("score of document {doc} for query {query} is {kind}, not a number", "pass scores as numbers"),
    "grade-type": ("grade of document {doc} for query {query} is {kind}, not an integer", "pass grades as integers"),
    "duplicate": (
        "document {doc} appears twice for query {query} (first at {first}; scores {first_score} and {score})",
        "remove one, or pass --on-duplicate keep-best",
    ),
    "conflict": (
        "document {doc} has two grades for query {query}: {first_grade} (at {first}) and {grade}{all}",
        "remove the wrong ones, or pass --on-conflict max, min, first or last",
    ),
}


def row_error(code: str, *, source: str = "", line: int | None = None, **fields: object) -> InputError:
    """The error of that code; long texts among the fields are cut and invisible characters escaped."""
    what, fix = _ROW_ERRORS[code]
    safe = {key: for_message(value) if isinstance(value, str) else value for key, value in fields.items()}
    return InputError(what.format(**safe), fix=fix.format(**safe), source=source, line=line)
