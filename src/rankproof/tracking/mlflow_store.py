"""Results in MLflow, a run for each system: a local database unless the address is that of a server."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from .._extras import extra
from ..errors import UsageError, WorldError, visible
from ..experiment.rung import Climb
from .address import artifacts_beside, database, harmless
from .entries import ID, Entry, entries_of
from .names import LONGEST_NAME, cut

TABLE = "per_query.csv"
_AT_ONCE = 100
_QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Tracked:
    """The systems that were written, and those that the store had already."""

    written: tuple[str, ...]
    known: tuple[str, ...]


def track(climb: Climb, *, uri: str, experiment: str) -> Tracked:
    """Writes a run for each system that the experiment lacks; where that fails, the run under way is marked as failed."""
    if not experiment.strip():
        raise UsageError("the experiment has no name", fix="name it")
    file = database(uri)
    client, failures = _client(uri)
    written, known = [], []
    try:
        place = _experiment(client, cut(experiment, LONGEST_NAME), None if file is None else artifacts_beside(file))
        for entry in entries_of(climb):
            if client.search_runs([place], f"tags.`{ID}` = '{entry.tags[ID]}' and attributes.status = 'FINISHED'"):
                known.append(entry.system)
            else:
                _write(client, place, entry)
                written.append(entry.system)
    except failures as error:
        raise WorldError(_told(error, uri)) from None
    return Tracked(tuple(written), tuple(known))


def _client(uri: str) -> tuple[Any, tuple[type[Exception], ...]]:
    """MLflow's client, which reports nothing to its makers, and what it fails with."""
    os.environ.update(_QUIET)
    for name, value in _PATIENCE.items():
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
        raise WorldError(_told(error, uri)) from None


def _experiment(client: Any, name: str, artifacts: str | None) -> str:
    found = client.get_experiment_by_name(name)
    if found is None:
        return str(client.create_experiment(name, artifact_location=artifacts))
    if found.lifecycle_stage != "active":
        raise UsageError(f"MLflow's experiment {name} is deleted", fix="restore it there, or name another with --experiment")
    return str(found.experiment_id)


def _write(client: Any, experiment: str, entry: Entry) -> None:
    """One run, ended in the state that it came to."""
    name = cut(entry.system, LONGEST_NAME)
    run = client.create_run(experiment, start_time=entry.made, tags=dict(entry.tags), run_name=name).info.run_id
    state = "FAILED"
    try:
        _log(client, run, entry)
        state = "FINISHED"
    finally:
        client.set_terminated(run, state, end_time=entry.made)


def _log(client: Any, run: str, entry: Entry) -> None:
    with extra("mlflow"):
        from mlflow.entities import Metric, Param

    when = entry.made or 0
    for part in _parts(entry.params):
        client.log_batch(run, params=[Param(name, value) for name, value in part.items()])
    for numbers in _parts(entry.metrics):
        client.log_batch(run, metrics=[Metric(name, value, when, 0) for name, value in numbers.items()])
    client.log_text(run, entry.table, TABLE)


def _parts(values: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    """As many at once as a server takes."""
    items = iter(values.items())
    while part := dict(islice(items, _AT_ONCE)):
        yield part


def _told(error: Exception, uri: str) -> str:
    """What failed, without the secrets that an address may hold."""
    lines = str(error).replace(uri, harmless(uri)).splitlines() or [type(error).__name__]
    secret = uri.partition("://")[2].rpartition("@")[0].rpartition(":")[2]
    line = lines[0].replace(secret, "…") if secret else lines[0]
    return visible(f"MLflow at {harmless(uri)} failed ({cut(line, 300)}); check the address, and whether it may be written")
