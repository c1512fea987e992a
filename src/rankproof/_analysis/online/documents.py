"""What a results folder holds of live traffic: the document of result.json and that of summary.json."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rankproof._analysis.compare.overview import Overview, SystemMean
from rankproof._analysis.online.result import OnlineResult
from rankproof._data import format_versions
from rankproof._io.strict_json import plain_record
from rankproof._results.live_results import LiveDocument, live_table
from rankproof._results.summary_file import SUMMARY_FORMAT

_DATASET = "live traffic"


def live_document(result: OnlineResult, name: str, made: str) -> LiveDocument:
    """The result as result.json holds it; `made` is the time, UTC."""
    decision = result.decision
    return LiveDocument(
        name=str(result.facts.get("experiment") or name),
        made=made,
        kind=result.kind,
        measure="" if decision is None else str(decision.measure),
        sentences=result.sentences,
        notes=result.notes,
        facts=result.facts,
        decision={} if decision is None else decision.to_dict(),
        tables=tuple(map(live_table, result.tables)),
    )


def live_summary(document: LiveDocument) -> dict[str, Any]:
    """The content of summary.json, from which lists of results are made."""
    return {
        "format": SUMMARY_FORMAT,
        "schema": format_versions.SUMMARY,
        "name": document.name,
        "kind": document.kind,
        "decision": document.decision,
        "overview": plain_record(live_overview(document)),
    }


def live_overview(document: LiveDocument) -> Overview:
    """What a list of results shows of live traffic; later results of the same experiment are points of one trend."""
    means = tuple(_means(document))
    decision = document.decision
    asked = [document.kind, document.name, sorted(mean.name for mean in means)]
    return Overview(
        name=document.name,
        dataset=_DATASET,
        made=document.made,
        queries=int(document.facts.get("sessions", 0)),
        decision=document.sentences[0] if document.sentences else "",
        measure=document.measure,
        chosen=tuple(decision.get("systems", ())),
        leader=decision.get("leader"),
        risk=None,
        means=means,
        highest=None,
        fingerprint=_digest([*asked, document.made, dict(document.facts)]),
        judged="",
        asked=_digest(asked),
        notes=document.notes,
        is_live=True,
    )


def _means(document: LiveDocument) -> list[SystemMean]:
    """The value of each system and its interval, from the table of systems."""
    rows = next((table.rows for table in document.tables if table.name == "systems"), ())
    return [SystemMean(str(row[0]), row[1], *_ends(row[2])) for row in rows]


def _ends(interval: Any) -> tuple[float | None, float | None]:
    return (interval[0], interval[1]) if isinstance(interval, list | tuple) else (None, None)


def _digest(value: list[Any] | Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
