"""What people have as answers, references, logs and nuggets, in the forms of an evaluation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rankproof._analysis.answers.logged_answers import (
    AnswerJudges,
    LoggedAnswers,
    with_corpus,
    with_nuggets,
)
from rankproof._analysis.inputs import AnalysisInput, with_answer_primary
from rankproof._api.programs import corpus_of, open_session
from rankproof._data.answers import (
    ANSWER_FIELDS,
    Answer,
    Answers,
    Reference,
    References,
    as_answer,
    nuggets_from_queries,
    references_from_queries,
    references_from_values,
)
from rankproof._data.claims import Nugget
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._evaluation.answers import evaluate_answers as evaluate_given_answers
from rankproof._evaluation.claim_judges import ClaimJudge
from rankproof._formats.frames import is_frame
from rankproof.errors import UsageError, type_phrase
from rankproof.measures._base import Measure

if TYPE_CHECKING:
    from rankproof._formats.source_table import SourceTable
    from rankproof._importers.base import Imported
    from rankproof._llm.budget import Budget
    from rankproof._results.experiment_result import ExperimentResult
    from rankproof.models._chat.base import ChatModel

AnswersLike = Answers | Mapping[str, Answer | str] | str | os.PathLike[str]
ReferencesLike = References | Mapping[str, Reference | str | Sequence[str]] | Queries | Dataset | str | os.PathLike[str]
NuggetsLike = Mapping[str, Sequence[Nugget | str]] | str | os.PathLike[str]


def with_labels(inputs: AnalysisInput, labels: str) -> AnalysisInput:
    """The input with labels of people, and the agreement of the judges with them."""
    from rankproof._analysis.answers.trust import trust_report
    from rankproof._analysis.compare.people_labels import present_labels

    present, _ = present_labels(inputs, labels)
    calibrations = trust_report(inputs.result, present).calibrations if present.labels else ()
    return replace(inputs, result=replace(inputs.result, calibrations=calibrations), labels=(labels,))


@dataclass(frozen=True, slots=True)
class Referenced:
    """Answers and references as they were passed."""

    answers: Any
    references: ReferencesLike
    qrels: Qrels | None
    texts: Mapping[str, str]
    nuggets: NuggetsLike | None

    def evaluated(
        self, measures: Sequence[Measure] | None, how: AnswerJudges, rel: int, document: Callable[[str], str]
    ) -> AnalysisInput:
        """The measures of the answers, with their references."""
        expected, queries = _references(self.references)
        if not isinstance(self.answers, Mapping):
            fix = "pass {name: answers}, or RAG logs or results without references"
            raise UsageError(f"answers cannot be {type_phrase(self.answers)}", fix=fix)
        _check_order(self.answers, expected)
        answers = {str(name): _answers(answer, queries) for name, answer in self.answers.items()}
        result = evaluate_given_answers(
            answers,
            expected,
            self.qrels,
            measures,
            how.encode,
            rel=rel,
            document=document,
            questions=None if queries is None else {key: query.text for key, query in queries.items()},
            passage=self.texts.get,
            nuggets=_nuggets(self.nuggets, queries),
            judge_of=how.judge_of,
        )
        own = _queries_of(references_from_values(expected)) if queries is None else queries
        judged = self.qrels or Qrels({})
        typed = {name: answer if isinstance(answer, Answers) else _typed_answers(answer) for name, answer in answers.items()}
        return with_answer_primary(AnalysisInput("answers", "", judged, {}, result, rel=rel, texts=own, given_answers=typed))


def _typed_answers(answers: Mapping[str, Answer | str]) -> Answers:
    return Answers({query: as_answer(answer) for query, answer in answers.items()})


def _queries_of(references: References) -> Queries:
    """The questions of references that have no texts of questions."""
    return Queries(Query(key, "", fields={ANSWER_FIELDS[0]: list(reference.answers)}) for key, reference in references.items())


def judge_by_name(
    stack: ExitStack, model: ChatModel | None, budget: Budget | str | None, cache: str | os.PathLike[str] | None
) -> Callable[[str], ClaimJudge]:
    """Judges by name; the session of a language model is opened with the first."""
    made: list[Callable[[str], ClaimJudge]] = []

    def judge_of(name: str) -> ClaimJudge:
        from rankproof._judge.claims.base import claim_judges

        if not made:
            session = stack.enter_context(open_session(cache, budget))
            made.append(claim_judges(session) if model is None else claim_judges(session, chat=lambda _: model))
        return made[0](name)

    return judge_of


def imported_logs(logs: Any, settings: Mapping[str, str]) -> Imported:
    """The logs, whose columns the settings name."""
    from rankproof._importers.base import ImportOptions, ImportSource
    from rankproof._importers.rag import IMPORTER, RAG, merged_logs
    from rankproof._importers.rag_tables import named_columns
    from rankproof._importers.registry import check_settings, import_source

    if isinstance(logs, str | os.PathLike) or (isinstance(logs, list | tuple) and _are_paths(logs)):
        return import_source(logs, ImportOptions(settings=settings), importer=IMPORTER)
    check_settings(IMPORTER, RAG, settings)
    systems = logs if isinstance(logs, Mapping) else {"table": logs}
    tables = {str(name): _table(system, str(name)) for name, system in systems.items()}
    return merged_logs(tables, ImportSource(), named=named_columns(settings))


def logs_with_texts(
    logs: LoggedAnswers, qrels: Qrels | None, contexts: Mapping[str, str] | None, corpus: Any, nuggets: NuggetsLike | None
) -> LoggedAnswers:
    """The answers of logs with the judgements, texts and nuggets of other arguments."""
    if qrels is not None:
        logs = replace(logs, qrels=qrels)
    if contexts:
        logs = replace(logs, contexts={**logs.contexts, **contexts})
    if corpus is not None:
        logs = with_corpus(logs, corpus_of(corpus))
    return logs if nuggets is None else with_nuggets(logs, _nuggets(nuggets, logs.queries) or {})


def check_no_texts(**arguments: Any) -> None:
    """Raises an error for arguments that results have themselves."""
    if named := [name for name, value in arguments.items() if value is not None]:
        raise UsageError(f"results have their own {named[0]}", fix=f"leave out {named[0]}")


def results_with_nuggets(results: ExperimentResult, nuggets: NuggetsLike | None) -> ExperimentResult:
    if nuggets is None:
        return results
    answers = LoggedAnswers(results.name, results.texts, {})
    return replace(results, texts=with_nuggets(answers, _nuggets(nuggets, None) or {}).queries)


def _are_paths(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, str | os.PathLike) for value in values)


def _table(log: Any, name: str) -> SourceTable:
    """The rows of a log: a path, a data frame, or a list of dicts."""
    from rankproof._formats.source_table import SourceTable, open_frame
    from rankproof._importers.base import ImportSource
    from rankproof._importers.rag_tables import log_table

    if isinstance(log, str | os.PathLike):
        path = os.fspath(log)
        return log_table(ImportSource((path,)), path)
    if is_frame(log):
        return open_frame(log, name)
    if isinstance(log, Sequence) and log and all(isinstance(row, Mapping) for row in log):
        rows = [dict(row) for row in log]
        return SourceTable(name, tuple(dict.fromkeys(str(key) for row in rows for key in row)), lambda: enumerate(rows, start=1))
    fix = "pass RAG logs (a path, a data frame, or a list of dicts), a results folder, or answers with references"
    raise UsageError(f"answers cannot be {type_phrase(log)}", fix=fix)


def document_texts(corpus: Any) -> dict[str, str]:
    return {
        doc: f"{document.title}\n{document.text}" if document.title else document.text
        for doc, document in corpus_of(corpus).items()
    }


def _nuggets(nuggets: NuggetsLike | None, queries: Queries | None) -> Mapping[str, Sequence[Nugget]] | None:
    if nuggets is None:
        return None if queries is None else nuggets_from_queries(queries)
    if isinstance(nuggets, str | os.PathLike):
        from rankproof._formats.claims import read_nuggets
        from rankproof._io.open import open_source

        return read_nuggets(open_source(os.fspath(nuggets)))
    return {query: tuple(Nugget(part) if isinstance(part, str) else part for part in nugget) for query, nugget in nuggets.items()}


def _references(references: Any) -> tuple[Any, Queries | None]:
    from rankproof._formats.texts import read_queries
    from rankproof._io.open import open_source

    if isinstance(references, str | os.PathLike):
        references = read_queries(open_source(os.fspath(references)))
    if isinstance(references, Dataset):
        references = references.queries
    if isinstance(references, Queries):
        return references_from_queries(references), references
    if not isinstance(references, Mapping):
        fix = "pass {query: text}, queries with answers, or the path of a JSONL file"
        raise UsageError(f"references cannot be {type_phrase(references)}", fix=fix)
    return references, None


def _check_order(answers: Mapping[Any, Any], references: Mapping[Any, Any]) -> None:
    """Raises an error for references in place of answers, and for answers without the name of their system."""
    call = "evaluate_answers({name: {query: answer}}, references)"
    if isinstance(answers, Queries) or any(isinstance(reference, Mapping) for reference in references.values()):
        raise UsageError("the references come before the answers", fix=f"write {call}")
    if wrong := [answer for answer in answers.values() if not isinstance(answer, Mapping | str | os.PathLike)]:
        raise UsageError(f"the answers of a system cannot be {type_phrase(wrong[0])}", fix=f"write {call}")
    if any(isinstance(answer, str) and name in references for name, answer in answers.items()):
        raise UsageError("answers has the ids of queries in place of names of systems", fix=f"write {call}")


def _answers(answers: Any, queries: Queries | None) -> Any:
    from rankproof._formats.texts import read_answers
    from rankproof._io.open import open_source

    return read_answers(open_source(os.fspath(answers)), queries) if isinstance(answers, str | os.PathLike) else answers
