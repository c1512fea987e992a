"""The sentences of a decision: each branch with its words, and the numbers at which the words change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rankproof._analysis.decision.judge_sentences import outside_range_note
from rankproof._analysis.decision.record import (
    Decision,
    JudgeCheck,
    MissingCount,
    OtherMargin,
    OwnDocuments,
    PairDifference,
    QueriesNeeded,
    Scenario,
    SystemRisk,
    UnjudgedRival,
)
from rankproof._analysis.decision.repeats import RepeatedAnswers, SystemRepeats, repeat_sentences
from rankproof._analysis.decision.scenarios import doubt_table, missing_sentences
from rankproof._analysis.decision.sentences import cost_text, margin_text, points
from rankproof._data.replies import ReusedReplies
from rankproof.measures import parse_measure
from rankproof.measures._base import Measure

NDCG, ANSWER, UNBOUNDED = parse_measure("nDCG@10"), parse_measure("F1"), parse_measure("DCG@10")
LOWER = type("Lower", (type(NDCG),), {"higher_is_better": False})(cutoff=10)


def system(name: str, value: float = 0.5, risk: float | None = 0.01, **more: Any) -> SystemRisk:
    return SystemRisk(name, value, risk, **{"limit": 0.05, "rival": None, "cost": None, "failed": 0.0, **more})


def pair(name: str, other: str, difference: float = 0.03, ci: Any = (0.01, 0.05), **more: Any) -> PairDifference:
    return PairDifference(name, other, difference, ci, **{"differing": 40, "is_significant": True, **more})


A, B = system("a", rival="b"), system("b", 0.47)
PAIR = pair("a", "b")


def decision(outcome: Any, *systems: SystemRisk, measure: Measure = NDCG, **more: Any) -> Decision:
    """`a` leads `b` by 3 pp."""
    usual = {"margin": 0.02, "n": 100, "queries": 100, "leader": "a", "risk": 0.01, "limit": 0.05, "against": (PAIR,)}
    return Decision(outcome, measure, by_system=systems or (A, B), **{**usual, **more})


def shipped(kind: Any = "better", *systems: SystemRisk, **more: Any) -> Decision:
    return decision(more.pop("outcome", "ship"), *systems, kind=kind, systems=("a",), **more)


def is_open(reason: Any = "risk", *systems: SystemRisk, **more: Any) -> Decision:
    return decision("not_decided", *systems, reason=reason, **{"rival": "b", **more})


def better(*pairs: str) -> Decision:
    """An open decision in which the first system of each pair is better than the second."""
    return is_open(better=tuple(pair(names[0], names[1]) for names in pairs))


BETTER = "Ship a: 0.500 nDCG@10, better than every other system (next: b, -3.0 pp, 95% CI [-5.0, -1.0])."
RISK = "Risk 1.0% (limit 5%) of being more than 2 pp (4%) below the best; n = 100."
MARGIN = "Margin 2 pp, 4% of the best; n = 100."


def costs(first: float | None, second: float | None, risk: float = 0.01) -> tuple[SystemRisk, SystemRisk]:
    return system("a", cost=first), system("b", 0.47, risk=risk, cost=second)


@pytest.mark.parametrize(
    ("made", "sentences"),
    [
        (shipped(), [BETTER, RISK]),
        (
            shipped(against=(pair("a", "b", ci=None, differing=1),)),
            ["Ship a: 0.500 nDCG@10, better than every other system (next: b, -3.0 pp, 1 query differs).", RISK],
        ),
        (
            shipped("better", system("a", 0.1), system("b", 0.2), measure=LOWER, against=(pair("a", "b", -0.1, (-0.12, -0.08)),)),
            [
                "Ship a: 0.100 nDCG@10 (lower is better),"
                " better than every other system (next: b, +10.0 pp, 95% CI [8.0, 12.0]).",
                "Risk 1.0% (limit 5%) of being more than 2 pp (2.2%) above the best; n = 100.",
            ],
        ),
        (
            shipped("safe", system("a", 0.1), system("b", 0.2, 0.4), measure=LOWER, against=(pair("a", "b", 0.1, (0.08, 0.12)),)),
            [
                "Ship a: 0.100 nDCG@10 (lower is better); risk 1.0% (limit 5%) of being more than 2 pp (2.2%) above the best."
                " It is not shown to be better than b (+10.0 pp, 95% CI [8.0, 12.0]),"
                " but b could be more than 2 pp higher (risk 40%).",
                "Margin 2 pp, 2.2% of the best; n = 100.",
            ],
        ),
        (
            shipped("safe", against=(pair("a", "c"), pair("a", "b", is_significant=False))),
            [
                "Ship a: 0.500 nDCG@10; risk 1.0% (limit 5%) of being more than 2 pp (4%) below the best."
                " It is not shown to be better than b (+3.0 pp, 95% CI [1.0, 5.0], which one further query can change),"
                " but b could be more than 2 pp worse (risk 1.0%).",
                MARGIN,
            ],
        ),
        (
            shipped("safe", against=(pair("a", "b", ci=None, differing=3, is_significant=False),)),
            [
                "Ship a: 0.500 nDCG@10; risk 1.0% (limit 5%) of being more than 2 pp (4%) below the best."
                " It is not shown to be better than b (+3.0 pp, 3 queries differ),"
                " but b could be more than 2 pp worse (risk 1.0%).",
                MARGIN,
            ],
        ),
        (
            shipped("cheaper", *costs(0.0, 1.0), cost_unit="money"),
            [
                "Ship a: 0.500 nDCG@10 at 0 per 1,000 queries, free, unlike b, and no difference that matters"
                " (+3.0 pp, within 2 pp; risk 1.0%, limit 5%).",
                MARGIN,
                "In 100 queries, failures of a on up to 3.0% of all queries can go unseen.",
            ],
        ),
        (
            shipped("cheaper", *costs(1.0, 5.0), cost_unit="ms", against=(pair("a", "b", failures=3, other_failures=2),)),
            [
                "Ship a: 0.500 nDCG@10 at 1.00 ms, 5 times faster than b and no difference that matters"
                " (+3.0 pp, within 2 pp; risk 1.0%, limit 5%).",
                MARGIN,
                "a fails completely on 3 of 100 queries where b does well (the reverse: 2).",
            ],
        ),
        (
            shipped(
                "cheaper_and_worse",
                *costs(1.0, 5.0),
                system("c", risk=0.3, cost=9.0),
                cost_unit="given",
                against=(pair("a", "c", -0.08), pair("a", "b", -0.03, (-0.05, -0.01), failures=2, other_failures=2)),
            ),
            [
                "Ship a only to save cost: it is 5 times cheaper, and measurably worse than b by 3.0 pp (95% CI [1.0, 5.0]),"
                " which your margin of 2 pp allows. For quality alone ship b.",
                RISK,
            ],
        ),
        (shipped(outcome="keep"), [BETTER.replace("Ship", "Keep"), MARGIN]),
        (
            shipped(
                "cheaper_and_worse",
                *costs(1.0, 5.0, risk=0.3),
                outcome="keep",
                against=(pair("a", "b", -0.03, (-0.05, -0.01), failures=1),),
            ),
            [
                "Keep a only to save cost: b is measurably better by 3.0 pp (95% CI [1.0, 5.0]),"
                " which your margin of 2 pp allows, and is 5 times more expensive.",
                MARGIN,
                "a fails completely on 1 of 100 queries where b does well (the reverse: 0).",
            ],
        ),
        (
            shipped("safe", outcome="keep"),
            ["Keep a: nothing is shown to be better, and a is within 2 pp of the best (risk 1.0%, limit 5%).", MARGIN],
        ),
        (
            decision("either", A, system("b", risk=0.02), system("c", risk=0.5), systems=("a", "b")),
            [
                "Either of a and b: no difference that matters (each is within 2 pp of the best, risk at most 2.0%)."
                " Costs do not decide.",
                MARGIN,
            ],
        ),
        (
            decision(
                "either",
                system("a", risk=0.0),
                system("b", risk=0.0009),
                systems=("a", "b"),
                against=(pair("a", "b", 0.0, None, differing=0), pair("a", "c")),
            ),
            [
                "Either of a and b: no query tells them apart (each is within 2 pp of the best, risk below 0.1%)."
                " Costs do not decide.",
                MARGIN,
            ],
        ),
    ],
)
def test_a_choice_is_a_sentence_with_its_risk_and_what_follows(made: Decision, sentences: list[str]) -> None:
    assert list(made.sentences) == sentences


RIVAL = UnjudgedRival(OwnDocuments("a", 90, 50, 300), OwnDocuments("b", 0, 0, 1300), 0.25, has_zeros=True, depth=10)
UNJUDGED = (
    "b may not have been judged. Of the documents that only a shows in its top 10, 90 of 300 are judged;"
    " of those of b 0 of 1,300. If 25% of the unjudged ones are relevant, the risk of a is above 5%."
)
NOISY = "The judge is too noisy: asked again, the difference from b changes by 2.0 pp, more than half of it."


@pytest.mark.parametrize(
    ("more", "sentences"),
    [
        (
            {"look": 2},
            [
                BETTER,
                "This is the 2nd look at these systems: the limit of 5% for one look does not cover it (--looks many does).",
                RISK,
            ],
        ),
        ({"look": 3, "looks": "many"}, [BETTER, f"{RISK[:-1]}, limits for many looks."]),
        ({"look": 2, "risk": None}, [BETTER, RISK.replace("1.0%", "unknown")]),
        ({"by_system": (A, B, system("c"))}, [BETTER, RISK]),
        (
            {"by_system": (A, B, system("c"), system("d"))},
            [BETTER, RISK, "It was chosen from 4 systems, so its value is optimistic."],
        ),
        (
            {"by_system": (A, B, system("c"), system("d", same_as="c"), system("e", same_as="c"))},
            [BETTER, "d and e have the same rankings as c: they count as one system.", RISK],
        ),
        ({"unjudged_rival": RIVAL}, [BETTER, RISK, UNJUDGED]),
        ({"unjudged_rival": replace(RIVAL, is_near=False)}, [BETTER, RISK]),
        (
            {"unjudged_rival": replace(RIVAL, has_zeros=False)},
            [BETTER, RISK, UNJUDGED.replace("are judged", "are known to be relevant")],
        ),
        ({"other_margin": OtherMargin(0.05, "b")}, [BETTER, RISK, "If 5 points do not matter to you, ship b: 0.470."]),
        (
            {"other_margin": OtherMargin(0.05, "b"), "by_system": costs(2.0, 1.0), "cost_unit": "given"},
            [
                BETTER.replace("nDCG@10", "nDCG@10 at cost 2"),
                RISK,
                "If 5 points do not matter to you, ship b: 0.470 and 2 times cheaper.",
            ],
        ),
        (
            {"reused_replies": (ReusedReplies("a", 3, 5, "2026-01-02T03:04:05Z", "2026-01-02T04:04:05Z"),)},
            [
                BETTER,
                "a: 3 of 5 replies recorded 2026-01-02 03:04 to 04:04 UTC, not asked again; use rankproof run --ask-again.",
                RISK,
            ],
        ),
        (
            {"margin": 0.6},
            [
                BETTER,
                "A margin of 60 pp is no limit: with it even a system with the worst value on every query is good enough.",
                RISK.replace("2 pp (4%)", "60 pp (120%)"),
            ],
        ),
        ({"margin": 0.0501}, [BETTER, RISK.replace("2 pp (4%)", "5.01 pp (10%)")]),
        (
            {"missing": (MissingCount("b", 1, 0, 0),)},
            [
                BETTER.replace("other system", "other system with missing queries counted as 0"),
                RISK,
                "b lacks 1 of 100 queries; they count as 0.",
            ],
        ),
        (
            {"missing": (MissingCount("b", 60, 0, 0),), "measure": parse_measure("F1")},
            [
                BETTER.replace("nDCG@10", "F1(tokens='bag')").replace(
                    "other system", "other system with unanswered questions counted as 0"
                ),
                RISK,
                "b did not answer 60 of 100 questions; they count as 0.",
            ],
        ),
        (
            {"missing": (MissingCount("b", 0, 1, 0),), "measure": parse_measure("F1")},
            [
                BETTER.replace("nDCG@10", "F1(tokens='bag')"),
                RISK,
                "b abstained on 1 of 100 questions; they count as 0.",
            ],
        ),
        ({"judge_noise": 0.02}, [BETTER, RISK, NOISY]),
        ({"judge": "tiny", "labels_by": "people"}, [BETTER, RISK, "The labels of tiny count as people's, because you said so."]),
        (
            {"n": 3000, "queries": 4200, "without_relevant": 1200, "judgements": "complete"},
            [
                BETTER,
                RISK.replace("n = 100", "n = 3,000 of 4,200 queries, 1,200 without a relevant document, judgements complete"),
            ],
        ),
    ],
)
def test_what_else_is_known_of_a_choice_follows_its_sentence(more: dict[str, Any], sentences: list[str]) -> None:
    assert list(replace(shipped(), **more).sentences) == sentences


@pytest.mark.parametrize(
    ("n", "measure", "more", "unseen"),
    [
        (149, NDCG, {}, "In 149 queries, failures of a on up to 2.0% of all queries can go unseen."),
        (150, NDCG, {}, None),
        (149, NDCG, {"failures": 1, "other_failures": 1}, None),
        (149, UNBOUNDED, {}, None),
    ],
)
def test_failures_on_more_queries_than_the_margin_can_go_unseen(
    n: int, measure: Measure, more: dict[str, int], unseen: str | None
) -> None:
    made = shipped("cheaper", *costs(1.0, 5.0), n=n, queries=n, measure=measure, against=(pair("a", "b", **more),))
    assert [text for text in made.sentences if "unseen" in text] == ([] if unseen is None else [unseen])
    assert not any("unseen" in text for text in replace(made, kind="better").sentences)


@pytest.mark.parametrize(
    ("made", "sentences"),
    [
        (
            decision(None, A, ci=(0.4, 0.6)),
            ["One system, so nothing to decide: a has 0.500 nDCG@10 (95% CI [0.400, 0.600]).", "n = 100."],
        ),
        (decision(None, A), ["One system, so nothing to decide: a has 0.500 nDCG@10.", "n = 100."]),
        (
            decision(None, A, system("b", same_as="a"), n=40, queries=40),
            ["No decision: b has the same rankings as a on all 40 queries.", "a has 0.500 nDCG@10; n = 40."],
        ),
        (
            decision(None, A, system("b", same_as="a"), system("c", same_as="a"), n=1, queries=1, measure=ANSWER),
            ["No decision: b and c have the same answers and contexts as a on 1 question.", f"a has 0.500 {ANSWER}; n = 1."],
        ),
    ],
)
def test_one_system_or_copies_of_it_leave_nothing_to_decide(made: Decision, sentences: list[str]) -> None:
    assert list(made.sentences) == sentences


OPEN = "Not decided: a leads, but its risk of being more than 2 pp (4%) below b is 1.0% (limit 5%)."
LEADS = "a leads with 0.500 nDCG@10; n = 100."
ZERO = (system("a", 0.0, rival="b"), system("b", 0.0))


@pytest.mark.parametrize(
    ("made", "sentences"),
    [
        (is_open(), [OPEN, LEADS]),
        (is_open(race=3), [OPEN.replace("limit 5%", "limit 5% for 3 systems"), LEADS]),
        (
            is_open(measure=LOWER),
            [OPEN.replace("below", "above").replace("4%", "3.8%"), LEADS.replace("nDCG@10", "nDCG@10 (lower is better)")],
        ),
        (is_open("risk", *ZERO), [OPEN.replace(" (4%)", ""), "n = 100."]),
        (is_open("all_worst", *ZERO, detail="all are 0"), ["Not decided: all are 0.", "n = 100."]),
        (is_open("few_queries", detail="too few"), ["Not decided: too few.", LEADS]),
        (is_open("few_queries", A, detail="too few", against=()), ["Not decided: too few.", LEADS]),
        (
            is_open(against=(pair("a", "b", 0.0, None, differing=0),)),
            [
                "Not decided: no query tells the systems apart, but"
                " the risk of a of being more than 2 pp (4%) below b is 1.0% (limit 5%).",
                "n = 100.",
            ],
        ),
        (is_open(against=(pair("a", "b", 0.0, None, differing=0), pair("a", "c"))), [OPEN, LEADS]),
        (
            is_open("unjudged", unjudged_rival=RIVAL, audit_command="rankproof audit R"),
            [
                f"Not decided: {UNJUDGED}",
                "Next: rankproof audit R, or --judgements complete if nothing relevant is missing.",
                LEADS,
            ],
        ),
        (
            is_open(judge_next=(("q", "d"),), unjudged=1, audit_command="rankproof audit R"),
            [OPEN, LEADS, "1 pair is unjudged; judge first: q d (rankproof audit R lists more)."],
        ),
        (is_open(judge_noise=0.02), [OPEN, LEADS, NOISY]),
        (is_open(missing=(MissingCount("b", 2, 0, 0),)), [OPEN, LEADS, "b lacks 2 of 100 queries; they count as 0."]),
        (is_open(needed=QueriesNeeded(None, None)), [OPEN, LEADS, "More queries alone are unlikely to decide."]),
        (is_open("no_system"), ["Not decided: no system retrieved anything."]),
        (better("bc"), [f"{OPEN} b is better than c by 3.0 pp (95% CI [1.0, 5.0]).", LEADS]),
        (better("ac", "bc"), [f"{OPEN} Both are better than c.", LEADS]),
        (better("bc", "xc"), [f"{OPEN} b and x are better than c.", LEADS]),
        (better("ac", "ad"), [f"{OPEN} a is better than c and d.", LEADS]),
        (better("ac", "ad", "ae"), [f"{OPEN} a is better than c, d and e.", LEADS]),
        (better("ac", "ad", "ae", "af"), [f"{OPEN} a is better than c, d and 2 others.", LEADS]),
        (better("ac", "ad", "bd"), [f"{OPEN} a is better than c and d.", LEADS]),
    ],
)
def test_an_open_decision_says_why_and_what_is_known(made: Decision, sentences: list[str]) -> None:
    assert list(made.sentences) == sentences


@pytest.mark.parametrize(
    ("measure", "counts", "sentences"),
    [
        (
            ANSWER,
            [MissingCount("a", 1, 2, 3)],
            [
                "a did not answer 1 of 2,000 questions; they count as 0.",
                "a abstained on 2 of 2,000 questions; they count as 0.",
                "The judge gave a no value for 3 of 2,000 questions; they count as 0.",
            ],
        ),
        (
            ANSWER,
            [MissingCount(name, 0, 1, 0) for name in "abcd"],
            [f"{name} abstained on 1 of 2,000 questions; they count as 0." for name in "abc"],
        ),
        (
            NDCG,
            [MissingCount(name, 1_000, 0, 0) for name in "abcd"],
            ["a lacks 1,000, b 1,000, c 1,000 and d 1,000 of 2,000 queries; they count as 0."],
        ),
        (LOWER, [MissingCount("a", 1, 0, 0)], ["a lacks 1 of 2,000 queries; they count as 1."]),
        (parse_measure("infAP"), [], []),
    ],
)
def test_missing_values_are_counted_by_their_reason(measure: Measure, counts: list[MissingCount], sentences: list[str]) -> None:
    assert list(missing_sentences(measure, counts, 2_000)) == sentences


def test_sizes_and_costs_have_their_units() -> None:
    assert [points(size, NDCG) for size in (None, 0.0, 0.00099, 0.001, -0.05)] == [
        "unknown",
        "0.0 pp",
        "less than 0.1 pp",
        "0.1 pp",
        "5.0 pp",
    ]
    assert (points(-1.234567, UNBOUNDED), margin_text(0.0123456, NDCG), margin_text(0.25, UNBOUNDED)) == (
        "1.23",
        "1.23 pp",
        "0.25",
    )
    assert [cost_text(0.0125, unit) for unit in ("ms", "money", "given", None)] == [
        "0.01 ms",
        "12.5 per 1,000 queries",
        "cost 0.0125",
        "cost 0.0125",
    ]


CHECK = JudgeCheck("labels/people.txt", weight=0.5, worth=3.4, needed=80)


def by_judge(*systems: SystemRisk, **more: Any) -> Decision:
    """`a` leads by a judge that nobody checked."""
    usual = {"judge": "tiny", "check_command": "rankproof serve R --label 30", "labels_for_check": 60}
    return decision("judge_leads", *systems, **{**usual, **more})


TINY = (
    "By tiny (not checked by people), a leads: 0.500 nDCG@10, 3.0 pp ahead of b, 100 questions."
    " Whether people agree is not known."
)
WRONG = "In simulations, machine judges alone named a system more than 2 pp below the best in 2 of 10 comparisons."
THREE_WRONG = WRONG.replace("2 of 10", "3 of 10")
NEXT = (
    "Next: rankproof serve R --label 30 (30 questions at random, about 60 grades)."
    " 30 decide 5 of 10 comparisons of two systems, 3 of 10 of three, 1 of 10 of seven."
)


@pytest.mark.parametrize(
    ("made", "sentences"),
    [
        (by_judge(), [TINY, WRONG, NEXT]),
        (
            by_judge(against=(pair("a", "b", 0.0), pair("a", "c"))),
            [TINY.replace("a leads", "a and b lead").replace(" 3.0 pp ahead of b,", ""), WRONG, NEXT],
        ),
        (by_judge(A, B, system("c")), [TINY, THREE_WRONG, NEXT]),
        (by_judge(*(system(name) for name in "abcdefg")), [TINY, THREE_WRONG, NEXT]),
        (
            by_judge(A, B, system("c", same_as="b")),
            [TINY, "c has the same rankings as b: they count as one system.", WRONG, NEXT],
        ),
        (
            by_judge(n=29, queries=29, labels_for_check=1_400),
            [
                TINY.replace("100", "29"),
                WRONG,
                "Next: rankproof serve R --label 30 (29 questions at random, about 1,400 grades)."
                " A decision needs at least 30 questions.",
            ],
        ),
        (by_judge(labels_for_check=None), [TINY, WRONG, NEXT.replace(", about 60 grades", "")]),
        (
            by_judge(measure=ANSWER, n=30, queries=30),
            [
                TINY.replace("nDCG@10", str(ANSWER)).replace("100", "30"),
                WRONG,
                "Next: rankproof serve R --label 30 (30 questions at random, about 60 labels)."
                " 30 decide 2 of 10 comparisons of two systems, 100 decide 5 of 10.",
            ],
        ),
        (
            by_judge(measure=ANSWER, labels_for_check=None),
            [
                TINY.replace("nDCG@10", str(ANSWER)),
                WRONG,
                "Next: decide by a measure whose claims people can label, such as Faithfulness (-m), or by a reference (F1).",
            ],
        ),
        (
            by_judge(measure=UNBOUNDED, against=(pair("a", "b", -1.23456),)),
            [TINY.replace("nDCG", "DCG").replace("3.0 pp", "1.23"), WRONG, NEXT],
        ),
        (
            by_judge(check=JudgeCheck("labels/people.txt", "are of other systems", "They agree."), judge_noise=0.02),
            [
                TINY,
                WRONG,
                "They agree.",
                "The labels in people.txt are of other systems: they cannot correct the judge.",
                NEXT,
                NOISY,
            ],
        ),
    ],
)
def test_a_leader_by_a_judge_alone_comes_with_what_a_check_takes(made: Decision, sentences: list[str]) -> None:
    assert list(made.sentences) == sentences


HAVE = "Not decided: 40 of 400 questions are labelled"
NEEDED = f"{HAVE}. About 80 labelled questions (40 more) decide with a chance of 80%."
INTERVAL = "a minus b: 3.0 pp, 95% CI [1.0, 5.0]."
BOTH = (
    "a leads with 0.500 nDCG@10 by people's labels of 40 of 400 questions and tiny on all;"
    " n = 40 labelled questions of 400, limits for many looks."
)
WORTH = "tiny counts with weight 0.50: worth 3 more labelled questions."
MORE_CLAIMS = "Label more claims drawn at random, or whole questions with rankproof serve RESULTS --label."


def labelled(reason: Any = "risk", **more: Any) -> Decision:
    """Forty of 400 questions are labelled, and the judge counts too."""
    usual = {"judge": "tiny", "labelled": 40, "queries": 400, "check": CHECK}
    return is_open(reason, **{**usual, **more})


@pytest.mark.parametrize(
    ("made", "sentences"),
    [
        (labelled(), [NEEDED, INTERVAL, BOTH, WORTH]),
        (labelled(check=replace(CHECK, weight=None)), [NEEDED, "a leads with 0.500 nDCG@10; " + BOTH.partition("; ")[2]]),
        (
            labelled(check=replace(CHECK, weight=0.0)),
            [NEEDED, INTERVAL, BOTH.replace(" and tiny on all", ""), "tiny does not help here: labels alone count."],
        ),
        (labelled(against=(pair("a", "b", ci=None, differing=2),)), [NEEDED, BOTH, WORTH]),
        (
            labelled(better=(PAIR,)),
            [NEEDED, INTERVAL, "a is better than b by 3.0 pp (95% CI [1.0, 5.0]).", BOTH, WORTH],
        ),
        (
            labelled("few_labels", labelled=29),
            [
                "Not decided: 29 of 400 questions are labelled, and a decision needs 30 (1 more).",
                INTERVAL,
                BOTH.replace("40", "29", 1).replace("n = 40", "n = 29"),
                WORTH,
            ],
        ),
        (
            labelled("failed_calls", detail="calls failed", against=(pair("a", "b", ci=None),)),
            [f"{HAVE}; calls failed.", BOTH, WORTH],
        ),
        (
            labelled("few_labels", labelled=1, check=JudgeCheck("people.jsonl", claims=99)),
            [
                "Not decided: 99 claims in 1 of 400 questions are labelled, and a decision needs 100 claims in 30."
                f" {MORE_CLAIMS}",
                "a leads with 0.500 nDCG@10; n = 1 labelled question of 400, limits for many looks.",
            ],
        ),
        (
            labelled(check=replace(CHECK, claims=1_100, weight=0.3, worth=None)),
            [
                f"Not decided: 1,100 claims in 40 of 400 questions are labelled. {MORE_CLAIMS}",
                INTERVAL,
                BOTH.replace("40 of 400 questions and", "1,100 claims in 40 of 400 questions and"),
                "tiny counts with weight 0.30: worth less than one more labelled question.",
            ],
        ),
        (
            labelled(check=replace(CHECK, changed=2, leader="b", lead=0.1, corrected_lead=-0.02)),
            [
                NEEDED,
                INTERVAL,
                BOTH,
                "The labels of 2 questions in people.txt are of other documents than those at the top now: they do not count.",
                WORTH,
                "By tiny alone b would lead a by 10.0 pp; with people's labels it is 2.0 pp lower.",
            ],
        ),
    ],
)
def test_labels_of_people_are_counted_and_their_worth_is_named(made: Decision, sentences: list[str]) -> None:
    assert list(made.sentences) == sentences


@pytest.mark.parametrize(
    ("needed", "words"),
    [
        (None, "More labels than you have questions may be needed: add questions."),
        (401, "More labels than you have questions may be needed: add questions."),
        (400, "About 400 labelled questions (360 more) decide with a chance of 80%."),
    ],
)
def test_no_more_labels_are_asked_for_than_there_are_questions(needed: int | None, words: str) -> None:
    assert labelled(check=replace(CHECK, needed=needed)).sentences[0] == f"{HAVE}. {words}"


def test_thirty_labels_are_enough_to_say_how_many_decide() -> None:
    thirty = labelled(labelled=30, check=replace(CHECK, worth=1.2)).sentences
    have = "Not decided: 30 of 400 questions are labelled"
    assert thirty[0] == f"{have}. About 80 labelled questions (50 more) decide with a chance of 80%."
    assert thirty[-1] == "tiny counts with weight 0.50: worth 1 more labelled question."


@pytest.mark.parametrize(
    ("interval", "can_change"),
    [((-0.01, 0.05), False), ((0.0, 0.05), False), ((-0.05, 0.0), False), ((0.001, 0.05), True), ((-0.05, -0.001), True)],
)
def test_one_further_query_can_change_an_interval_without_0(interval: tuple[float, float], can_change: bool) -> None:
    sentence = shipped("safe", against=(pair("a", "b", ci=interval, is_significant=False),)).sentences[0]
    assert (", which one further query can change" in sentence) == can_change


@pytest.mark.parametrize(
    ("measure", "interval", "changed", "other"),
    [
        (LOWER, "a minus b: 3.0 pp, 95% CI [1.0, 5.0].", "other documents than those at the top now", "10.0 pp; 2.0 pp higher"),
        (ANSWER, "a minus b: 3.0 pp, 95% CI [1.0, 5.0].", "other answers or contexts", "10.0 pp; 2.0 pp lower"),
        (UNBOUNDED, "a minus b: 0.03, 95% CI [0.01, 0.05].", "other documents than those at the top now", "0.1; 0.02 lower"),
    ],
)
def test_sentences_on_labels_fit_the_measure(measure: Measure, interval: str, changed: str, other: str) -> None:
    check = replace(CHECK, changed=1, leader="b", lead=-0.1, corrected_lead=0.02)
    sentences = labelled(measure=measure, check=check).sentences
    lead, corrected = other.split("; ")
    assert interval in sentences
    assert f"The labels of 1 question in people.txt are of {changed}: they do not count." in sentences
    assert f"By tiny alone b would lead a by {lead}; with people's labels it is {corrected}." in sentences


def test_corrected_means_outside_the_range_are_noted() -> None:
    similarity = parse_measure("Similarity(model='m')")
    made = labelled(measure=similarity, check=replace(CHECK, outside={"a": 1.25, "b": -1.5}))
    assert list(outside_range_note(made)) == [
        "corrected means outside -1 to 1, the range of Similarity(model='m'), are shown at its end: a 1.250, b -1.500;"
        " differences and risks are not limited"
    ]
    assert [list(outside_range_note(other)) for other in (labelled(), is_open())] == [[], []]


SHARES = {
    "system": "a",
    "rival": "b",
    "between": 0.01,
    "within": 0.09,
    "repeats": 3.0,
    "question_share": 0.25,
    "repeat_share": 0.75,
}
OF_VARIANCE = "Of the variance of the difference 25% are questions, 75% repeats."


def answered(**counts: int) -> tuple[SystemRepeats, ...]:
    return tuple(SystemRepeats(name, 40, count, 0.5, 0.1) for name, count in counts.items())


@pytest.mark.parametrize(
    ("counts", "shares", "sentences"),
    [
        (
            {"a": 120, "b": 120, "c": 1_400},
            SHARES,
            [
                f"120 answers per system to 40 questions (3 each): n = 40. {OF_VARIANCE}",
                "With 120 answers per system, 40 questions x 3 (standard error 0.032) or 120 x 1 (0.029).",
            ],
        ),
        (
            {"a": 120, "b": 120},
            {**SHARES, "judge_share": 0.1, "between": 0.0},
            [
                f"120 answers per system to 40 questions (3 each): n = 40. {OF_VARIANCE[:-1]} (10% the judge).",
                "More repeats help as much as more questions.",
            ],
        ),
        (
            {"a": 120, "b": 110},
            {**SHARES, "repeats": 2.0},
            [
                f"Answers: 120 of a and 110 of b to 40 questions: n = 40. {OF_VARIANCE}",
                "With 80 answers per system, 40 questions x 2 (standard error 0.037) or 80 x 1 (0.035).",
            ],
        ),
        ({"a": 42, "b": 42}, {**SHARES, "repeats": 1.05}, [f"42 answers per system to 40 questions: n = 40. {OF_VARIANCE}"]),
        ({"a": 42, "b": 42}, {}, ["42 answers per system to 40 questions: n = 40."]),
        ({"a": 42}, {}, ["Answers: 42 of a to 40 questions: n = 40."]),
    ],
)
def test_repeated_answers_are_counted_with_the_advice_that_their_variance_gives(
    counts: dict[str, int], shares: dict[str, Any], sentences: list[str]
) -> None:
    assert list(repeat_sentences(RepeatedAnswers(answered(**counts), **shares))) == sentences


LABELS = "One hour of work is 12 further labelled questions, at 5 minutes each."
LABELS_OR_QUERIES = LABELS.replace("each.", "each, or 6 further queries, at 10 minutes each.")
MORE_LABELS, MORE_QUERIES = "More labels remove most per hour.", "More queries without labels remove most per hour."
QUERIES = "One hour of work is 6 further queries, at 10 minutes each."


@pytest.mark.parametrize(
    ("made", "rows", "work"),
    [
        (shipped(unjudged_rival=RIVAL), [("queries", 1.0, 6 / 106)], [UNJUDGED, QUERIES]),
        (
            shipped(repeats=RepeatedAnswers((), repeats=3.0, question_share=0.6, repeat_share=0.4, judge_share=0.1)),
            [("queries", 0.6, 6 / 106), ("repeats", 0.4, None), ("judge, part of the repeats", 0.1, None)],
            [QUERIES, "Asking every question once more removes 10%, without work of people."],
        ),
        (labelled(check=replace(CHECK, label_share=1.0)), [("labelled questions", 1.0, 12 / 52)], [LABELS]),
        (
            labelled(queries=46, check=replace(CHECK, label_share=0.1)),
            [("labelled questions", 0.1, 0.1 * 12 / 52), ("judge's values of the other questions", 0.9, 0.9 * 6 / 12)],
            [LABELS_OR_QUERIES, MORE_QUERIES],
        ),
        (
            labelled(check=replace(CHECK, label_share=0.75)),
            [("labelled questions", 0.75, 0.75 * 12 / 52), ("judge's values of the other questions", 0.25, 0.25 * 6 / 366)],
            [LABELS_OR_QUERIES, MORE_LABELS],
        ),
        (
            labelled(check=replace(CHECK, label_share=0.75), repeats=RepeatedAnswers((), question_share=0.6, repeat_share=0.4)),
            [
                ("labelled questions", 0.45, 0.75 * 12 / 52),
                ("judge's values of the other questions", 0.15, 0.25 * 6 / 366),
                ("repeats", 0.4, None),
            ],
            [LABELS_OR_QUERIES, MORE_LABELS],
        ),
        (
            labelled(check=replace(CHECK, label_share=1.0), repeats=RepeatedAnswers((), question_share=0.6, repeat_share=0.4)),
            [("labelled questions", 0.6, 12 / 52), ("repeats", 0.4, None)],
            [LABELS],
        ),
        (
            labelled(check=None, repeats=RepeatedAnswers((), question_share=0.6, repeat_share=0.4)),
            [("labelled questions", 0.6, 12 / 52), ("repeats", 0.4, None)],
            [LABELS],
        ),
    ],
)
def test_the_sources_of_doubt_have_their_shares_and_what_an_hour_removes(
    made: Decision, rows: list[tuple[str, float, float | None]], work: list[str]
) -> None:
    table = doubt_table(made)
    assert table is not None
    assert [row[0] for row in table.rows] == [row[0] for row in rows]
    assert [row[1] for row in table.rows] == pytest.approx([row[1] for row in rows])
    assert [row[2] for row in table.rows] == [row[2] and pytest.approx(row[2]) for row in rows]
    assert list(table.sentences) == work


def test_each_scenario_has_its_choice_and_its_risk() -> None:
    scenarios = Scenario("without abstentions", ("a", "b"), 0.02), Scenario("with all at their best", (), 0.3)
    table = doubt_table(is_open(scenarios=scenarios))
    assert table is not None
    assert [(row[0], *row[3:]) for row in table.rows[1:]] == [
        ("without abstentions", "a, b", 0.02),
        ("with all at their best", "open", 0.3),
    ]


def test_queries_alone_need_no_table_of_doubt() -> None:
    assert doubt_table(shipped()) is None


@pytest.mark.parametrize(
    ("best", "share"),
    [(0.8, "50%"), (0.4021, "99%"), (0.4019, "100%"), (0.4017, "100%"), (0.4, "100%"), (0.02, "2,000%"), (0.0, None)],
)
def test_a_margin_is_a_share_of_the_best_mean_with_two_digits_below_100_percent(best: float, share: str | None) -> None:
    words = "40 pp" if share is None else f"40 pp ({share})"
    sentences = " ".join(is_open("risk", system("a", best, rival="b"), system("b", 0.0), margin=0.4).sentences)
    assert f"its risk of being more than {words} below b is 1.0%" in sentences
