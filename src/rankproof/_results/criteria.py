"""The rubrics of results, so that people can grade answers where the rubric files are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankproof._data.claims import CRITERION, Rubric
from rankproof._evaluation.result import Result
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import UsageError, for_message
from rankproof.measures._criterion import RubricGrade

CRITERIA_FACT = "criteria"
"""The key of the provenance with the rubrics by what answers are checked against."""


def criteria_facts(evaluated: Result, known: Mapping[str, Any]) -> dict[str, Any]:
    """The rubrics of the measures for the provenance, besides those that are known."""
    criteria = dict(known.get(CRITERIA_FACT, {}))
    measures = [measured.measure for measured in evaluated.systems[0].measures.values()] if evaluated.systems else []
    for measure in measures:
        against = measure.table.removeprefix("answer-") if isinstance(measure, RubricGrade) else ""
        if isinstance(measure, RubricGrade) and against not in criteria:
            grades = {str(grade): meaning for grade, meaning in measure.criterion.grades.items()}
            criteria[against] = {"question": measure.criterion.question, "grades": grades}
    return {CRITERIA_FACT: criteria} if criteria else {}


def stored_rubric(results: ExperimentResult, against: str) -> Rubric:
    """The question and the grades of a rubric in the provenance."""
    plain: Any = dict(results.provenance.get(CRITERIA_FACT, {})).get(against)
    try:
        grades = {int(grade): str(meaning) for grade, meaning in plain["grades"].items()}
        return Rubric(against.removeprefix(CRITERION).split(":")[0], str(plain["question"]), grades)
    except (TypeError, KeyError, ValueError, AttributeError):
        what = f"the results do not have the rubric of {for_message(against)}"
        raise UsageError(what, fix="evaluate the answers again with the rubric file") from None
