"""`evaluate_answers` as a function of RAG logs, results, or answers with references."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from rankproof._data.validation import BUDGET, FILES, LABELS, NAMED_FILES, REL, REPLIES, public
from rankproof._evaluation.options import QrelsLike
from rankproof._registry import Option

if TYPE_CHECKING:
    from rankproof._api.answer_forms import AnswersLike, NuggetsLike, ReferencesLike
    from rankproof._evaluation.evaluate import MeasuresLike
    from rankproof._evaluation.result import Result
    from rankproof._llm.budget import Budget
    from rankproof.measures._answers import Encode
    from rankproof.models._chat.base import ChatModel


@public
def evaluate_answers(
    answers: Annotated[
        Mapping[str, AnswersLike] | str | os.PathLike[str] | Any,
        Option(
            "RAG logs: a path, a data frame, rows as dicts, or {name: one of these}; or results; or {name: {query: answer}}",
            typed=NAMED_FILES,
            role="path",
        ),
    ],
    references: Annotated[
        ReferencesLike | None,
        Option(
            "{query: text or texts}, or queries with the field answers: a Dataset, Queries, or the path of a JSONL file",
            unset="those of the log",
            typed=str,
            role="path",
        ),
    ] = None,
    qrels: Annotated[
        QrelsLike | None, Option("judgements, for citations; results have their own", metavar="FILE", typed=str, role="path")
    ] = None,
    measures: Annotated[
        MeasuresLike,
        Option("one measure or several", unset="what the log has inputs for", letter="-m", metavar="MEASURES", typed=FILES),
    ] = None,
    encode: Annotated[
        Encode | None,
        Option("a function of an encoder name and texts that gives one vector per text", unset="the encoders of rankproof"),
    ] = None,
    *,
    judge: Annotated[
        str | None,
        Option(
            "the judge of measures of claims that name none: overlap, an encoder, nli:FOLDER, logprob:MODEL, or a language model",
            metavar="NAME",
            unset="that of the results, else overlap",
        ),
    ] = None,
    model: Annotated[ChatModel | None, Option("the settings of the language model that judges")] = None,
    contexts: Annotated[Mapping[str, str] | None, Option("the texts of passages by id")] = None,
    corpus: Annotated[
        Any, Option("the documents of contexts that are logged by their ids", metavar="SOURCE", typed=str, role="path", rare=True)
    ] = None,
    nuggets: Annotated[
        NuggetsLike | None,
        Option("nuggets in place of those of the questions", metavar="FILE", typed=str, role="path", rare=True),
    ] = None,
    labels: Annotated[
        str | os.PathLike[str] | None,
        LABELS._replace(description=f"{LABELS.description}: decision, agreement, corrected means", rare=False, unset=""),
    ] = None,
    settings: Annotated[
        Mapping[str, str] | None,
        Option(
            "the columns of logs whose names do not tell: question=ask, answer=reply, contexts=chunks, reference=gold",
            unset="recognised by name",
            flag="--set",
            metavar="NAME=COLUMN",
            repeated=True,
        ),
    ] = None,
    rel: Annotated[int | None, REL._replace(unset="1, or that of the results")] = None,
    document: Annotated[Callable[[str], str], Option("maps a cited passage to its judged document")] = str,
    budget: Annotated[Budget | str | None, BUDGET] = None,
    cache: Annotated[str | os.PathLike[str] | None, REPLIES] = None,
) -> Result:
    """The measures of every system's answers.

    A missing answer scores 0, a failed one is left out. An empty answer abstains; an empty reference says that there is no
    answer. A measure as an object has its judge if that is not overlap. With `labels`, `calibrations` of the result has the
    agreement of the judges with people.
    """
    from contextlib import ExitStack

    from rankproof._analysis.answers.answer_input import answer_input_from_files, answer_input_from_results, has_failed_verdicts
    from rankproof._analysis.answers.logged_answers import AnswerJudges, answers_of_logs, usual_log_measures
    from rankproof._api import answer_forms as forms
    from rankproof._api.inputs import holds_results, results_of
    from rankproof._api.programs import qrels_of
    from rankproof._evaluation.result import with_answer_inputs
    from rankproof._io.open import path_text
    from rankproof.measures._claim_base import OVERLAP, judged_measures

    judged = None if qrels is None else qrels_of(qrels)
    chosen = None if measures is None else judged_measures(measures, judge or OVERLAP)
    with ExitStack() as stack:
        how = AnswerJudges(encode, forms.judge_by_name(stack, model, budget, cache))
        if references is not None:
            texts = {**({} if corpus is None else forms.document_texts(corpus)), **(contexts or {})}
            inputs = forms.Referenced(answers, references, judged, texts, nuggets).evaluated(chosen, how, rel or 1, document)
        elif holds_results(answers):
            forms.check_no_texts(qrels=qrels, contexts=contexts, corpus=corpus)
            named = measures if chosen is None or judge is None else list(map(str, chosen))
            results = forms.results_with_nuggets(results_of(answers), nuggets)
            asks = chosen is not None and judge not in (None, OVERLAP)
            again = nuggets is not None or (asks and has_failed_verdicts(results))
            inputs = answer_input_from_results(results, named, rel=rel, how=how, again=again).inputs
        else:
            given_logs = answers_of_logs(forms.imported_logs(answers, settings or {}))
            logs = forms.logs_with_texts(given_logs, judged, contexts, corpus, nuggets)
            wanted = chosen or judged_measures(usual_log_measures(logs, judge or OVERLAP), judge or OVERLAP)
            inputs = answer_input_from_files(logs, list(map(str, wanted)), rel=rel or 1, how=how).inputs
    labelled = inputs if labels is None else forms.with_labels(inputs, path_text(labels, "labels"))
    return with_answer_inputs(labelled.result, labelled)
