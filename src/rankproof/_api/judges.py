"""`agreement` as a function."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from rankproof._analysis.rater_agreement import Pair, Rater, agreement_tables, rater_agreement
from rankproof._api.values import RaterAgreement
from rankproof._data.qrels import Qrels
from rankproof._data.table import Table
from rankproof._evaluation.options import EvaluateOptions, QrelsLike
from rankproof._evaluation.sources import read_judgements
from rankproof._evaluation.user_forms import Coercion
from rankproof._io.file_errors import file_error
from rankproof._io.files import is_results_folder, open_plain_file, unreadable_file_error
from rankproof._io.open import path_text
from rankproof._registry import Option
from rankproof.errors import UsageError, for_message, type_phrase

_LOG_SUFFIX = ".log.jsonl"


def agreement(
    judgements: Annotated[
        QrelsLike | Sequence[QrelsLike] | Mapping[str, Any],
        Option("judgements, a list of them, or {name: judgements}; a file of `rankproof serve` has people; or results folders"),
    ],
) -> RaterAgreement:
    """How far people, and machines that judge, agree: Krippendorff's alpha, Fleiss', Randolph's and Cohen's kappa.

    `judgements` is a file of judgements or a list of them, or {name: judgements}. A file that `rankproof serve` wrote has the
    people of its log. In other judgements, the people are one rater with the name of the file, and each label of a machine judge
    is another one. Results folders with answers have the differences of their judges, or of one judge at several dates.
    """
    sources = list(_sources(judgements))
    paths = [os.fspath(source) for _, source in sources if isinstance(source, str | os.PathLike)]
    if folders := [path for path in paths if is_results_folder(path)]:
        return RaterAgreement((_judge_differences(sources, folders),))
    raters: dict[str, Rater] = {}
    adjudicated: dict[Pair, int] = {}
    for name, source in sources:
        raters_of_source, decided = _raters(name, source)
        adjudicated.update(decided)
        for rater in raters_of_source:
            raters[rater.name] = _joined(raters[rater.name], rater) if rater.name in raters else rater
    return RaterAgreement(tuple(agreement_tables(rater_agreement(list(raters.values()), adjudicated))))


def _judge_differences(sources: Sequence[tuple[str | None, Any]], folders: Sequence[Any]) -> Table:
    """How far the judges of results folders are apart on the same answers."""
    from rankproof._analysis.answers.judge_reliability import judge_differences_table, judge_values
    from rankproof._results.folder import load_results

    if len(folders) < len(sources):
        raise UsageError(
            "results folders cannot be mixed with judgements",
            fix="check judges of answers by rankproof answers FOLDER --labels FILE",
        )
    several = len(sources) > 1
    named = [(name or os.path.basename(os.path.normpath(folder)), folder) for name, folder in sources]
    return judge_differences_table(
        [values for name, folder in named for values in judge_values(load_results(folder), name if several else "")]
    )


def _sources(judgements: Any) -> Iterator[tuple[str | None, Any]]:
    """Each source of judgements, with a name where one is given."""
    if isinstance(judgements, Mapping) and not isinstance(judgements, Qrels):
        yield from ((str(name), source) for name, source in judgements.items())
    elif isinstance(judgements, list | tuple):
        paths = [os.fspath(judgement) for judgement in judgements if isinstance(judgement, str | os.PathLike)]
        if twice := next((path for at, path in enumerate(paths) if path in paths[:at]), None):
            raise UsageError(f"{for_message(twice)} is specified twice", fix="specify each file of judgements once")
        short = {path: os.path.basename(path) for path in paths}
        for at, judged in enumerate(judgements, start=1):
            path = os.fspath(judged) if isinstance(judged, str | os.PathLike) else None
            own = f"qrels {at}" if path is None else path if list(short.values()).count(short[path]) > 1 else None
            yield own, judged
    else:
        yield None, judgements


def _joined(rater: Rater, other: Rater) -> Rater:
    """A rater of several files; two grades of one pair are an error."""
    for pair, grade in other.grades.items():
        if rater.grades.get(pair, grade) != grade:
            what = f"{for_message(rater.name)} has two grades for document {for_message(pair[1])} of query {for_message(pair[0])}"
            raise UsageError(what, fix="pass one of the files, or give the people different names")
    return Rater(rater.name, {**rater.grades, **other.grades}, rater.is_machine, {**rater.notes, **other.notes})


def _raters(name: str | None, source: Any) -> tuple[list[Rater], Mapping[Pair, int]]:
    """The raters of a source, and the adjudicated grades."""
    if isinstance(source, str | os.PathLike):
        path = path_text(source)
        log = _log_content(path)
        if log is not None:
            return _people(*log)
        name = name or os.path.basename(path)
    elif not isinstance(source, Qrels | Mapping) and not hasattr(source, "__arrow_c_stream__"):
        raise UsageError(f"judgements cannot be {type_phrase(source)}", fix="pass files, or {name: judgements}")
    qrels = read_judgements(Coercion().qrels(source), EvaluateOptions())
    return list(_of_qrels(name or qrels.source, qrels)), {}


def _of_qrels(name: str, qrels: Qrels) -> Iterator[Rater]:
    """The people of judgements as one rater, and each machine."""
    people: dict[Pair, int] = {}
    machines: dict[str, dict[Pair, int]] = {}
    for query, docs in qrels.items():
        for doc, grade in docs.items():
            label = qrels.judge_labels.get((query, doc))
            (machines.setdefault(label, {}) if label else people)[query, doc] = grade
    if people:
        yield Rater(name, people)
    yield from (Rater(label, grades, is_machine=True) for label, grades in machines.items())


def _people(content: bytes, path: str) -> tuple[list[Rater], Mapping[Pair, int]]:
    """The people of a log, and the adjudicated grades."""
    from rankproof._server.judgement_log import adjudicated_grades, raters_of, read_judgement_log

    merged = list(read_judgement_log(content, path).merged())
    return raters_of(merged), adjudicated_grades(merged)


def _log_content(path: str) -> tuple[bytes, str] | None:
    """The content of the log of a file that `serve` wrote, or of the log itself; None for another file."""
    log = path if path.endswith(_LOG_SUFFIX) else f"{path}{_LOG_SUFFIX}"
    try:
        with open_plain_file(log) as file:
            return file.read(), log
    except FileNotFoundError:
        if log == path:
            raise file_error("missing", source=path) from None
        return None
    except OSError as error:
        raise unreadable_file_error(Path(log), error) from None
