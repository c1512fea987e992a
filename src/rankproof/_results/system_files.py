"""What systems replied, in a results folder: replies/, answers.jsonl, claims.jsonl and contexts.jsonl."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, get_args

from rankproof._data.answers import Answer, Answers, AnswerState
from rankproof._data.replies import RecordedReply, ReplyState
from rankproof._formats.json import json_line, parsed_lines
from rankproof._formats.texts import MAX_TEXT_BYTES, answer_blocks, is_repeat
from rankproof._io.files import write_blocks
from rankproof._io.open import open_folder_source
from rankproof._io.paths import file_names
from rankproof._io.streams import ByteSource
from rankproof._io.strict_json import JsonObject
from rankproof._results.document import ANSWERS_FILE, CLAIMS_FILE, CONTEXTS_FILE, DAMAGED_FIX, REPLIES_FOLDER
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import for_message

if TYPE_CHECKING:
    from rankproof._data.claims import ClaimVerdict


def has_answers(results: ExperimentResult) -> bool:
    """Whether a system answers."""
    return any(system_run.answers is not None for system_run in results.system_runs)


def write_answers_files(results: ExperimentResult, folder: str) -> Iterator[str]:
    """Writes the answers, the verdicts on their claims and the texts of their passages, where there are any; gives the files."""
    from rankproof._formats.claims import claim_blocks, context_blocks

    if has_answers(results):
        write_blocks(os.path.join(folder, ANSWERS_FILE), system_answer_blocks(results))
        yield ANSWERS_FILE
    if results.answers is not None and results.claims:
        claims = (*results.claims, *results.answers.repeat_claims)
        write_blocks(os.path.join(folder, CLAIMS_FILE), claim_blocks(claims))
        yield CLAIMS_FILE
    if results.contexts:
        write_blocks(os.path.join(folder, CONTEXTS_FILE), context_blocks(results.contexts))
        yield CONTEXTS_FILE


def system_answer_blocks(results: ExperimentResult) -> Iterator[bytes]:
    """The lines of answers.jsonl: one for each answering system and query."""
    return answer_blocks(
        (system_run.name, system_run.answers) for system_run in results.system_runs if system_run.answers is not None
    )


def read_answers_file(folder: str) -> dict[str, Answers]:
    """The answers of each system."""
    source = open_folder_source(folder, ANSWERS_FILE)
    answers: dict[str, dict[str, Answer]] = {}
    repeats: dict[str, dict[str, list[Answer]]] = {}
    for line, item in parsed_lines(source, limit=MAX_TEXT_BYTES):
        values = JsonObject(item, source.name, line=line)
        query = values.text("query")
        own = answers.setdefault(values.text("system"), {})
        further = repeats.setdefault(values.text("system"), {}).setdefault(query, [])
        if query in own and not is_repeat(values.plain, query, len(further) + 2, source.name, line):
            raise values.error(f"query {for_message(query)} is there twice", DAMAGED_FIX)
        state: AnswerState = values.choice("state", get_args(AnswerState))  # type: ignore[assignment]
        passages = None if values.plain.get("given", "") is None else tuple(values.texts("given"))
        answer = Answer(values.text("answer"), tuple(values.texts("cited")), passages, state)
        if own.setdefault(query, answer) is not answer:
            further.append(answer)
    return {name: Answers(own, source=source.name, repeats=repeats[name]) for name, own in answers.items()}


def read_claims_file(folder: str, listed: Collection[str]) -> tuple[ClaimVerdict, ...]:
    """The verdicts on claims; none if the file is not listed in result.json."""
    if CLAIMS_FILE not in listed:
        return ()
    from rankproof._formats.claims import read_claims

    return tuple(read_claims(open_folder_source(folder, CLAIMS_FILE)))


def read_contexts_file(folder: str, listed: Collection[str]) -> dict[str, str]:
    """The texts of given and cited passages; none if the file is not listed in result.json."""
    if CONTEXTS_FILE not in listed:
        return {}
    from rankproof._formats.claims import read_contexts

    return read_contexts(open_folder_source(folder, CONTEXTS_FILE))


def replies_files(names: Iterable[str]) -> dict[str, str]:
    """The file of each system, with a slash on every operating system."""
    return {name: f"{REPLIES_FOLDER}/{plain}.jsonl" for name, plain in file_names(names).items()}


def write_replies(results: ExperimentResult, folder: str) -> Iterator[str]:
    """Writes the replies of each system that is a search engine; gives its file."""
    files = replies_files(system_run.name for system_run in results.system_runs)
    for system_run in results.system_runs:
        if system_run.replies is not None:
            os.makedirs(os.path.join(folder, REPLIES_FOLDER), exist_ok=True)
            lines = (json_line({"query": query, **reply.plain()}) for query, reply in system_run.replies.items())
            write_blocks(os.path.join(folder, *files[system_run.name].split("/")), lines)
            yield files[system_run.name]


def read_replies(folder: str, names: Iterable[str], listed: Collection[str]) -> dict[str, Mapping[str, RecordedReply]]:
    """The replies of each system whose file is listed in result.json."""
    files = replies_files(names).items()
    return {name: _read_replies(open_folder_source(folder, file)) for name, file in files if file in listed}


def _read_replies(source: ByteSource) -> dict[str, RecordedReply]:
    replies: dict[str, RecordedReply] = {}
    known = {field.name for field in fields(RecordedReply)}
    for line, item in parsed_lines(source, limit=MAX_TEXT_BYTES):
        values = JsonObject(item, source.name, line=line)
        query = values.text("query")
        values.choice("state", get_args(ReplyState))
        if query in replies or set(values.plain) - {"query"} != known:
            raise values.error(f"query {for_message(query)} is there twice, or its reply has other keys", DAMAGED_FIX)
        replies[query] = RecordedReply.from_json({name: values.plain[name] for name in known})
    return replies
