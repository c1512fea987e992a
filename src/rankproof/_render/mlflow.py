"""Export of an experiment to MLflow, one run per system."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from rankproof._evaluation.result import Result
from rankproof._extras import extra
from rankproof._render.paper import system_costs, value_counts
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._results.result_json import document_text, results_document
from rankproof._results.system_files import per_query_csv
from rankproof._version import __version__
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message

_SQLITE, _SERVERS = "sqlite:///", ("http://", "https://")


def redacted_uri(uri: str) -> str:
    """The URI without user, password and query, which may be secret."""
    try:
        parts = urlsplit(uri)
        place = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the URI"
    return for_message(f"{parts.scheme}://{place}{port}{parts.path}" if parts.scheme else uri)


def sqlite_path(uri: str) -> str | None:
    """The path of an SQLite store, or None for a server; a missing folder is an error."""
    if uri.startswith(_SERVERS):
        return None
    if not uri.startswith(_SQLITE):
        raise UsageError(
            f"{redacted_uri(uri)} is not the URI of a tracking store", fix=f"write {_SQLITE}FILE.db, or http://HOST:PORT"
        )
    path = uri.removeprefix(_SQLITE).partition("?")[0]
    folder = os.path.dirname(os.path.abspath(path))
    if not path or os.path.isdir(path) or not os.path.isdir(folder):
        raise UsageError(f"{redacted_uri(uri)} is not a file in an existing folder", fix=f"write it like {_SQLITE}mlruns.db")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError(f"{redacted_uri(uri)} is not writable", fix="choose a file that you can write")
    return os.path.abspath(path)


def artifact_folder(path: str) -> str:
    """The artifact folder of an SQLite store: mlruns beside it."""
    return (Path(path).parent / "mlruns").as_uri()


MAX_NAME_LENGTH, MAX_VALUE_LENGTH, MAX_TAG_LENGTH = 200, 500, 5000
_ILLEGAL = re.compile(r"[^A-Za-z0-9_. -]+|__+")


def legal_names(names: Iterable[str]) -> dict[str, str]:
    """Each name with letters, digits and _-. only, such as nDCG_at_10; duplicates get a number."""
    legal: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = _legal_name(name)
        number = 2
        while plain in taken:
            plain, number = f"{_legal_name(name)[: MAX_NAME_LENGTH - 8]}-{number}", number + 1
        taken.add(plain)
        legal[name] = plain
    return legal


def _legal_name(name: str) -> str:
    """The name without slashes and without dots at its ends, which stores treat as paths."""
    plain = _ILLEGAL.sub("_", name.replace("@", "_at_"))
    plain = _ILLEGAL.sub("_", plain)[:MAX_NAME_LENGTH].strip(". ")
    return plain or "_"


def flatten(value: Any, name: str = "") -> dict[str, str]:
    """A nested value as a flat dict of texts, such as {"stage.encoder.model": "minilm"}."""
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = {str(at): part for at, part in enumerate(value)}.items()
    else:
        return {name: truncate_visible(str(value), MAX_VALUE_LENGTH)}
    flat: dict[str, str] = {}
    for key, part in parts:
        flat |= flatten(part, f"{name}.{key}" if name else str(key))
    return flat or {name: ""}


def truncate_visible(text: str, most: int) -> str:
    """The escaped text, cut with … if it is too long."""
    safe = escape_invisible(text)
    return safe if len(safe) <= most else f"{safe[: most - 1]}…"


NamedValue = TypeVar("NamedValue")
RUN_ID_TAG = "rankproof.id"
"""The tag that identifies a logged system."""


@dataclass(frozen=True, slots=True)
class MlflowRun:
    """One system of an experiment; `made` is its time in milliseconds since 1970, None if unknown."""

    system: str
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    table: str
    made: int | None


def mlflow_runs(results: ExperimentResult) -> list[MlflowRun]:
    """A run for each system; the same results give the same ids."""
    digest = hashlib.sha256(
        document_text(results_document(results, per_query=True)).encode(errors="backslashreplace")
    ).hexdigest()
    return [_mlflow_run(results, system_run, digest) for system_run in results.system_runs]


def _mlflow_run(results: ExperimentResult, system_run: SystemRun, digest: str) -> MlflowRun:
    own = hashlib.sha256(f"{digest} {system_run.name}".encode(errors="backslashreplace")).hexdigest()
    metrics = {
        **_means(results.result, system_run.name),
        **_means(results.chunks, system_run.name, "chunks "),
        **_costs(system_run),
    }
    metrics |= _means(results.answers, system_run.name, "answers ") | _answer_counts(results.answers, system_run.name)
    params = flatten(
        {
            "kind": system_run.kind,
            "builds_on": system_run.builds_on or "",
            "rel": results.rel,
            "judged_only": results.judged_only,
            "stage": dict(system_run.stage),
        }
    )
    return MlflowRun(
        system=system_run.name,
        params=_with_legal_names(params),
        metrics=_with_legal_names(metrics),
        tags={name: truncate_visible(text, MAX_TAG_LENGTH) for name, text in _tags(results, system_run, own).items()},
        table=per_query_csv(_single_system(results, system_run)),
        made=_milliseconds(str(results.provenance.get("created") or "")),
    )


def _means(result: Result | None, system: str, before: str = "") -> dict[str, float]:
    if result is None or system not in result.means:
        return {}
    (own,) = (measure.measures for measure in result.systems if measure.name == system)
    return {f"{before}{name}": float(measure.value) for name, measure in own.items() if measure.queries}


def _answer_counts(answers: Result | None, system: str) -> dict[str, float]:
    """How many questions have a value of each measure of answers, and why the others have none."""
    systems = () if answers is None else answers.systems
    measures = [(name, measure) for own in systems if own.name == system for name, measure in own.measures.items()]
    return {
        f"answers {name} {why}": float(count)
        for name, measure_result in measures
        for why, count in value_counts(measure_result).items()
    }


def _costs(system_run: SystemRun) -> dict[str, float]:
    """The costs of the system, without the times of stages that it lacks."""
    return {name: value for name, value in system_costs(system_run).items() if value or "_ms_" not in name}


def _with_legal_names(values: Mapping[str, NamedValue]) -> dict[str, NamedValue]:
    names = legal_names(values)
    return {names[name]: value for name, value in values.items()}


def _tags(results: ExperimentResult, system_run: SystemRun, own: str) -> dict[str, str]:
    provenance = flatten({"provenance": dict(results.provenance)})
    return {
        RUN_ID_TAG: own,
        "rankproof.version": __version__,
        "rankproof.experiment": results.name,
        "rankproof.system": system_run.name,
        "rankproof.fingerprint": results.fingerprint,
        "rankproof.qrels": results.qrels.fingerprint(),
        "rankproof.queries": str(len(results.result.queries)),
        "mlflow.source.name": "rankproof",
        **{f"rankproof.{name}": text for name, text in _with_legal_names(provenance).items()},
    }


def _single_system(results: ExperimentResult, system_run: SystemRun) -> ExperimentResult:
    """The results of this system only."""
    systems = tuple(system for system in results.result.systems if system.name == system_run.name)
    return replace(results, system_runs=(system_run,), result=replace(results.result, systems=systems))


def _milliseconds(made: str) -> int | None:
    try:
        return int(datetime.fromisoformat(made).timestamp() * 1000)
    except ValueError:
        return None


TABLE_FILE = "per_query.csv"
_BATCH_SIZE = 100
_NO_TELEMETRY = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
_RETRY_ENV = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}


@dataclass(frozen=True, slots=True)
class LoggedRuns:
    """The systems that were written, and those already in the store."""

    written: tuple[str, ...]
    already_logged: tuple[str, ...]


def log_to_mlflow(results: ExperimentResult, *, uri: str, experiment: str) -> LoggedRuns:
    """Logs a run for each system that the experiment lacks; on an error the current run is marked as failed."""
    if not experiment.strip():
        raise UsageError("the experiment name is empty", fix="pass a name with --experiment")
    file = sqlite_path(uri)
    client, failures = _client(uri)
    written, known = [], []
    try:
        place = _experiment(
            client, truncate_visible(experiment, MAX_NAME_LENGTH), None if file is None else artifact_folder(file)
        )
        for entry in mlflow_runs(results):
            if client.search_runs(
                [place], f"tags.`{RUN_ID_TAG}` = '{entry.tags[RUN_ID_TAG]}' and attributes.status = 'FINISHED'"
            ):
                known.append(entry.system)
            else:
                _write(client, place, entry)
                written.append(entry.system)
    except failures as error:
        raise ExternalError(_error_text(error, uri)) from None
    return LoggedRuns(tuple(written), tuple(known))


def _client(uri: str) -> tuple[Any, tuple[type[Exception], ...]]:
    """The MLflow client with telemetry disabled, and its exceptions."""
    os.environ.update(_NO_TELEMETRY)
    for name, value in _RETRY_ENV.items():
        os.environ.setdefault(name, value)
    with extra("mlflow"):
        import mlflow.exceptions
        from mlflow.tracking import MlflowClient
        from sqlalchemy.exc import SQLAlchemyError
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    failures = (mlflow.exceptions.MlflowException, SQLAlchemyError, OSError)
    try:
        return MlflowClient(tracking_uri=uri, registry_uri=uri), failures
    except failures as error:
        raise ExternalError(_error_text(error, uri)) from None


def _experiment(client: Any, name: str, artifacts: str | None) -> str:
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return str(client.create_experiment(name, artifact_location=artifacts))
    if experiment.lifecycle_stage != "active":
        raise UsageError(
            f"the MLflow experiment {name} is deleted", fix="restore it in MLflow, or choose another with --experiment"
        )
    return str(experiment.experiment_id)


def _write(client: Any, experiment: str, entry: MlflowRun) -> None:
    """Writes one run and ends it as finished or failed."""
    name = truncate_visible(entry.system, MAX_NAME_LENGTH)
    run = client.create_run(experiment, start_time=entry.made, tags=dict(entry.tags), run_name=name).info.run_id
    state = "FAILED"
    try:
        _log_run(client, run, entry)
        state = "FINISHED"
    finally:
        client.set_terminated(run, state, end_time=entry.made)


def _log_run(client: Any, run: str, entry: MlflowRun) -> None:
    with extra("mlflow"):
        from mlflow.entities import Metric, Param

    when = entry.made or 0
    for part in _batches(entry.params):
        client.log_batch(run, params=[Param(name, value) for name, value in part.items()])
    for numbers in _batches(entry.metrics):
        client.log_batch(run, metrics=[Metric(name, value, when, 0) for name, value in numbers.items()])
    client.log_text(run, entry.table, TABLE_FILE)


def _batches(values: Mapping[str, NamedValue]) -> Iterator[dict[str, NamedValue]]:
    """The values in batches that a server accepts."""
    items = iter(values.items())
    while part := dict(islice(items, _BATCH_SIZE)):
        yield part


def _error_text(error: Exception, uri: str) -> str:
    """The error without secrets of the URI."""
    lines = str(error).replace(uri, redacted_uri(uri)).splitlines() or [type(error).__name__]
    secret = uri.partition("://")[2].rpartition("@")[0].rpartition(":")[2]
    line = lines[0].replace(secret, "…") if secret else lines[0]
    return escape_invisible(
        f"MLflow at {redacted_uri(uri)} failed ({truncate_visible(line, 300)}); check the URI and the write permission"
    )
