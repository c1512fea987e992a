"""The sentences of a decision on the values of a machine judge."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rankproof._analysis.decision.record import Decision, JudgeCheck
from rankproof._data.text import pluralise
from rankproof._statistics.labelled_means import MIN_CLAIM_LABELS, MIN_LABELLED
from rankproof.errors import for_message
from rankproof.measures._base import Measure

# From `python -m benchmarks.judge_labels` over six judges from useless to good; of answers from its part `rag` over real judges.
_WRONG_LEADERS = ((2, 2), (3, 3))
"""Of ten comparisons of so many systems or more, how many a judge alone decided wrongly."""
CHANCE_OF_FIRST_LABELS = f"{MIN_LABELLED} decide 5 of 10 comparisons of two systems, 3 of 10 of three, 1 of 10 of seven."
_ANSWER_CHANCE = f"{MIN_LABELLED} decide 2 of 10 comparisons of two systems, 100 decide 5 of 10."
"""How often so many labelled questions decided between rankings and between answers, with the limits for many looks."""


def by_unchecked_judge(judge: str) -> str:
    """The start of a sentence on values of a machine judge that people have not checked."""
    return f"By {for_message(judge)} (not checked by people)"


def judge_leads_sentences(decision: Decision) -> Iterator[str]:
    """Which system leads by the judge, how often such leaders are wrong, and how to check the judge."""
    leader, n = decision.of(str(decision.leader)), pluralise(decision.n, "question")
    value = f"{leader.value:.3f} {decision.measure}"
    unchecked = f"{by_unchecked_judge(str(decision.judge))}, {for_message(leader.name)}"
    if not decision.against:
        yield f"Nothing is compared: no question has values of {decision.measure} from two systems."
    elif any(pair.difference == 0 for pair in decision.against):
        equal = next(pair.other for pair in decision.against if pair.difference == 0)
        yield f"{unchecked} and {for_message(equal)} lead: {value}, {n}. Whether people agree is not known."
    else:
        second = decision.against[0]
        ahead = f"{difference_text(abs(second.difference), decision.measure)} ahead of {for_message(second.other)}"
        yield f"{unchecked} leads: {value}, {ahead}, {n}. Whether people agree is not known."
    yield f"In simulations, machine judges alone named a system more than 2 pp below the best in {_wrong(decision)}."
    if decision.detail:
        yield decision.detail
    check = decision.check
    if check is not None and check.agreement:
        yield check.agreement
    if check is not None and check.unusable:
        file = for_message(os.path.basename(check.file))
        yield f"The labels in {file} {check.unusable}: they cannot correct the judge."
    yield check_command(decision)


def _wrong(decision: Decision) -> str:
    systems = len(decision.distinct)
    return f"{max(wrong for least, wrong in _WRONG_LEADERS if systems >= least)} of 10 comparisons"


def check_command(decision: Decision) -> str:
    """The command with which people check the judge, and how many labels it takes."""
    if decision.measure.kind == "answer" and not decision.labels_for_check:
        return "Next: decide by a measure whose claims people can label, such as Faithfulness (-m), or by a reference (F1)."
    drawn = min(MIN_LABELLED, decision.n)
    what, usual = ("labels", _ANSWER_CHANCE) if decision.measure.kind == "answer" else ("grades", CHANCE_OF_FIRST_LABELS)
    work = f", about {decision.labels_for_check:,} {what}" if decision.labels_for_check else ""
    chance = usual if decision.n >= MIN_LABELLED else f"A decision needs at least {MIN_LABELLED} questions."
    return f"Next: {decision.check_command} ({drawn} questions at random{work}). {chance}"


def by_labels(decision: Decision) -> str:
    """Whose labels a mean rests on, to be put behind it; empty if all values are people's."""
    if not decision.labelled or decision.check is None or decision.check.weight is None:
        return ""
    people = f" by people's labels of {_labelled_text(decision)}"
    return f"{people} and {for_message(str(decision.judge))} on all" if decision.check.weight else people


def _labelled_text(decision: Decision) -> str:
    """How much people labelled: whole questions, or single claims."""
    questions = f"{decision.labelled:,} of {decision.queries:,} questions"
    claims = decision.check.claims if decision.check is not None else None
    return questions if claims is None else f"{claims:,} claims in {questions}"


def labels_not_decided(decision: Decision) -> Iterator[str]:
    """How many questions are labelled and how many decide, and how far the leader is ahead."""
    yield _labels_needed(decision)
    if decision.is_corrected and decision.against and (ci := decision.against[0].ci) is not None:
        pair, scale = decision.against[0], 100 if decision.measure.is_fraction else 1
        digits, unit = (".1f", " pp") if decision.measure.is_fraction else (".3g", "")
        apart, low, high = (f"{scale * end:z{digits}}" for end in (pair.difference, *ci))
        names = f"{for_message(pair.system)} minus {for_message(pair.other)}"
        yield f"{names}: {apart}{unit}, 95% CI [{low}, {high}]."


def _labels_needed(decision: Decision) -> str:
    labelled, every = int(decision.labelled or 0), decision.queries
    is_claims = decision.check is not None and decision.check.claims is not None
    have = f"Not decided: {_labelled_text(decision)} {'is' if labelled == 1 and not is_claims else 'are'} labelled"
    if is_claims:
        needs = f", and a decision needs {MIN_CLAIM_LABELS} claims in {MIN_LABELLED}" if decision.reason == "few_labels" else ""
        return f"{have}{needs}. Label more claims drawn at random, or whole questions with rankproof serve RESULTS --label."
    if labelled < MIN_LABELLED:
        return f"{have}, and a decision needs {MIN_LABELLED} ({MIN_LABELLED - labelled} more)."
    if decision.reason != "risk":
        return f"{have}; {decision.detail}."
    needed = decision.check.needed if decision.check is not None else None
    if needed is None or needed > every:
        return f"{have}. More labels than you have questions may be needed: add questions."
    more = f"{needed - labelled:,} more"
    return f"{have}. About {needed:,} labelled questions ({more}) decide with a chance of 80%."


def check_sentences(decision: Decision) -> Iterator[str]:
    """That the user calls the labels people's; what the judge adds to labels; and whom the judge alone would name."""
    judge, check = for_message(str(decision.judge)), decision.check
    if decision.judge is not None and decision.labels_by == "people":
        yield f"The labels of {judge} count as people's, because you said so."
    if check is None:
        return
    if check.changed:
        yield _changed(decision, check)
    if check.weight:
        worth = round(check.worth or 0)
        further = pluralise(worth, "more labelled question") if worth > 0 else "less than one more labelled question"
        yield f"{judge} counts with weight {check.weight:.2f}: worth {further}."
    elif check.weight is not None:
        yield f"{judge} does not help here: labels alone count."
    if check.leader is not None:
        yield _other_leader(decision, check, judge)


def _changed(decision: Decision, check: JudgeCheck) -> str:
    """How many questions have labels that do not count, because what was labelled has changed."""
    other = "other answers or contexts" if decision.measure.kind == "answer" else "other documents than those at the top now"
    labels = f"The labels of {pluralise(check.changed, 'question')} in {for_message(os.path.basename(check.file))}"
    return f"{labels} are of {other}: they do not count."


def outside_range_note(decision: Decision) -> Iterator[str]:
    """Which corrected means are outside the range of the measure."""
    if decision.check is not None and decision.check.outside:
        low, high = decision.measure.range
        means = ", ".join(f"{for_message(name)} {mean:.3f}" for name, mean in decision.check.outside.items())
        what = f"corrected means outside {low:g} to {high:g}, the range of {decision.measure}, are shown at its end"
        yield f"{what}: {means}; differences and risks are not limited"


def _other_leader(decision: Decision, check: JudgeCheck, judge: str) -> str:
    """The judge's own leader, and where it is by labels."""
    leader, best = for_message(str(check.leader)), for_message(str(decision.leader))
    lead, corrected = (difference_text(abs(apart or 0.0), decision.measure) for apart in (check.lead, check.corrected_lead))
    worse = "higher" if decision.measure.higher_is_better is False else "lower"
    return f"By {judge} alone {leader} would lead {best} by {lead}; with people's labels it is {corrected} {worse}."


def difference_text(size: float, measure: Measure) -> str:
    """The size of a difference in percentage points, or in the measure's own unit."""
    return f"{100 * size:.1f} pp" if measure.is_fraction else f"{size:.3g}"
