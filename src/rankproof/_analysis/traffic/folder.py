"""The folder of a sample: its queries, those that are held out, and what a later log is compared with."""

from __future__ import annotations

import json
import os

from rankproof._analysis.traffic.drift import TrafficDocument, TrafficRecord
from rankproof._analysis.traffic.sample import QuerySample
from rankproof._data import format_versions
from rankproof._formats.texts import text_blocks
from rankproof._io.file_errors import file_error
from rankproof._io.files import check_replaceable, replace_folder, write_blocks
from rankproof._io.strict_json import JsonObject, parse_strict_json
from rankproof.errors import InputError

SAMPLE_FILE, QUERIES_FILE, HELD_OUT = "sample.json", "queries.jsonl", "gate"
SAMPLE_FORMAT = "rankproof-sample"
_KIND = "sample that was not judged yet"
_FIX = "draw the sample again with rankproof sample LOG -o SET"


def check_sample_folder(folder: str) -> None:
    """Refuses, before the log is read, a folder that is neither free nor an older sample alone."""
    check_replaceable(folder, is_sample_folder, kind=_KIND)


def is_sample_folder(path: str) -> bool:
    """Whether the folder is a sample with nothing added, such as judgements, that replacing it would lose."""
    if not os.path.isfile(os.path.join(path, SAMPLE_FILE)):
        return False
    held_out = os.path.join(path, HELD_OUT)
    own = {SAMPLE_FILE, QUERIES_FILE, HELD_OUT}.issuperset(os.listdir(path))
    return own and (not os.path.isdir(held_out) or os.listdir(held_out) == [QUERIES_FILE])


def write_sample(sample: QuerySample, folder: str) -> None:
    """Writes the folder atomically; an older sample at the path is replaced."""
    with replace_folder(folder, is_sample_folder, kind=_KIND) as place:
        write_blocks(os.path.join(place, QUERIES_FILE), text_blocks(sample.queries))
        if sample.held_out is not None:
            os.makedirs(os.path.join(place, HELD_OUT))
            write_blocks(os.path.join(place, HELD_OUT, QUERIES_FILE), text_blocks(sample.held_out))
        document = {
            "format": SAMPLE_FORMAT,
            "schema": format_versions.QUERY_SAMPLE,
            **sample.to_dict(),
            "traffic": sample.record,
        }
        text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        write_blocks(os.path.join(place, SAMPLE_FILE), [text.encode("utf-8", "backslashreplace")])


def read_traffic_record(folder: str) -> TrafficRecord:
    """What a sample remembers of its log."""
    path = os.path.join(folder, SAMPLE_FILE)
    if not os.path.isfile(path):
        if not os.path.isdir(folder):
            raise file_error("missing", source=folder)
        raise InputError("this is no sample of the traffic: it has no sample.json", fix=_FIX, source=folder)
    with open(path, encoding="utf-8") as file:
        values = JsonObject(parse_strict_json(file.read(), source=path), path, damaged_fix=_FIX)
    if (values.plain.get("format"), values.plain.get("schema")) != (SAMPLE_FORMAT, format_versions.QUERY_SAMPLE):
        raise values.error("this is no sample.json of this version of rankproof")
    return values.member("traffic", TrafficDocument).record(values)
