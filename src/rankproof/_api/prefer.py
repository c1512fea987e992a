"""`prefer` as a function: the decision from preferences between answers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

from rankproof._data.validation import BUDGET, FILES, REPLIES, public
from rankproof._registry import Option
from rankproof._results.decision_settings import COSTS, LABELS_BY, MARGIN, LabelsBy
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._analysis.preferences import PreferenceResult
    from rankproof._formats.preferences import Preference
    from rankproof._llm.budget import Budget
    from rankproof.models._chat.base import ChatModel

JUDGE = Option("a language model that compares the answers of results in both orders", metavar="NAME", unset="none is asked")
PREFERENCES = Option(
    "files of preferences: of `rankproof serve`, Chatbot Arena, MT-bench, LangSmith, or a table with query, a, b and preferred",
    typed=FILES,
    role="path",
)
RESULTS = Option("a results folder or RAG logs whose answers --judge compares", metavar="RESULTS", typed=str, role="path")


@public
def prefer(
    preferences: Annotated[str | os.PathLike[str] | Sequence[str | os.PathLike[str]], PREFERENCES] = (),
    *,
    answers: Annotated[Any, RESULTS] = None,
    judge: Annotated[str | None, JUDGE] = None,
    model: Annotated[ChatModel | None, Option("the settings of the language model that judges")] = None,
    margin: Annotated[float | str | None, MARGIN] = None,
    costs: Annotated[Mapping[str, float] | None, COSTS] = None,
    labels_by: Annotated[LabelsBy | None, LABELS_BY] = None,
    budget: Annotated[Budget | str | None, BUDGET] = None,
    cache: Annotated[str | os.PathLike[str] | None, REPLIES] = None,
) -> PreferenceResult:
    """Which system to ship by preferences between its answers and those of others.

    A Bradley-Terry model gives the chance that an answer of a system is preferred to that of another one, corrected for the place
    where answers are shown; questions are the sample. Preferences of people decide. Those of a language model name a leader, and
    are compared with people's if there are any. With `judge`, a model compares the `answers` of results in both orders.
    """
    from rankproof._analysis.preferences import analyse_preferences
    from rankproof._formats.preferences import read_preferences

    paths = [preferences] if isinstance(preferences, str | os.PathLike) else list(preferences)
    files = [read_preferences(os.fspath(path)) for path in paths]
    notes = [note for file in files for note in file.notes]
    made = [preference for file in files for preference in file.preferences]
    if judge is not None:
        more, judge_notes = judged_preferences(answers, judge, model, budget, cache)
        made, notes = [*made, *more], [*notes, *judge_notes]
    if not made:
        raise UsageError("there are no preferences", fix="pass files of preferences, or answers and a judge")
    return analyse_preferences(made, margin=margin, costs=costs, labels_by=labels_by, notes=notes)


def judged_preferences(
    answers: Any,
    judge: str,
    model: ChatModel | None,
    budget: Budget | str | None,
    cache: str | os.PathLike[str] | None,
) -> tuple[list[Preference], list[str]]:
    """The preferences of a language model on the answers of results, and how many of its replies failed."""
    from rankproof._api.programs import open_session
    from rankproof._data.text import pluralise
    from rankproof._judge.preferences import PreferenceJudge
    from rankproof.models._registry import any_chat_by_name

    given, questions = answers_to_compare(answers)
    with ExitStack() as stack:
        session = stack.enter_context(open_session(cache, budget))
        asked = PreferenceJudge(judge, model or any_chat_by_name(judge), session)
        made = asked.compare(given, questions)
    return made, [f"{pluralise(asked.failed, 'comparison')} of {judge} failed"] if asked.failed else []


def answers_to_compare(answers: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The answers of each system, and the questions with their texts."""
    from rankproof._analysis.answers.logged_answers import answers_of_logs
    from rankproof._api.answer_forms import imported_logs
    from rankproof._api.inputs import holds_results, results_of

    if answers is None:
        raise UsageError("a judge needs answers to compare", fix="pass results or RAG logs of at least two systems as answers")
    if holds_results(answers):
        results = results_of(answers)
        given = {run.name: run.answers for run in results.system_runs if run.answers is not None}
        texts = results.texts
    else:
        logs = answers_of_logs(imported_logs(answers, {}))
        given, texts = dict(logs.answers), logs.queries
    if len(given) < 2:
        raise UsageError("there are answers of one system only", fix="pass results or logs of at least two systems")
    return given, {query: texts[query].text for query in texts}
