"""Where a person judges: the page with what is left, and what becomes of a grade."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..errors import RankproofError, UsageError, visible
from ..judging.rubric import GRADES, HIGHEST, LOWEST
from ..report.blocks import json_block
from .assets import judge_script, page
from .ledger import Ledger
from .pile import Pile, Question
from .reply import RefusedError, Reply, as_json


def other_scale(highest: int) -> str:
    """What to beware of where the results were judged on another scale; empty where they were not."""
    if highest == HIGHEST:
        return ""
    return (
        f"the judgements that the results rest on go up to {highest}, and those made here from {LOWEST} to {HIGHEST}:"
        " a grade may not mean the same in both, so do not simply put both in one file"
    )


class Bench:
    """The ledger that keeps the grades, as pages see it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def page(self, id: str, name: str, pile: Pile) -> Reply:
        """The page on which the pile is judged."""
        self._ledger.refuse_other(pile.fingerprint)
        places = {pair: at for at, pair in enumerate(pile.questions)}
        last = self._ledger.last
        data = {
            "judge": f"/r/{id}/judge",
            "undo": f"/r/{id}/undo",
            "pairs": [_shown(question) for question in pile.questions.values()],
            "beginnings": [at for at, question in enumerate(pile.questions.values()) if not question.whole],
            "last": None if last is None else places.get(last),
            **self._standing(pile),
        }
        return page(
            "judge.html.j2",
            title=f"Judge {name}",
            script=judge_script(),
            data=json_block(data),
            pile=pile,
            rubric=GRADES,
            beginnings=any(not question.whole for question in pile.questions.values()),
            scale=other_scale(pile.highest),
            who=self._ledger.who,
            file=os.path.basename(self._ledger.path),
        )

    def judge(self, pile: Pile, body: dict[str, Any]) -> Reply:
        """Keeps a grade; the reply says where the systems have the document."""
        question, grade = _asked(pile, body), body.get("grade")
        if not isinstance(grade, int) or isinstance(grade, bool) or grade not in GRADES:
            raise RefusedError(400, f"the grade must be one of {', '.join(map(str, GRADES))}")
        return self._kept(pile, question, lambda: self._ledger.judge(question.pair, grade, pile.fingerprint))

    def undo(self, pile: Pile, body: dict[str, Any]) -> Reply:
        """Takes back a pair's last judgement."""
        question = _asked(pile, body)
        return self._kept(pile, question, lambda: self._ledger.undo(question.pair, pile.fingerprint))

    def _kept(self, pile: Pile, question: Question, change: Callable[[], None]) -> Reply:
        try:
            change()
        except RankproofError as error:
            raise RefusedError(409 if isinstance(error, UsageError) else 500, str(error)) from None
        grade = self._ledger.grade(question.pair)
        return as_json(200, {"grade": grade, "stands": "" if grade is None else question.stands, **self._standing(pile)})

    def _standing(self, pile: Pile) -> dict[str, Any]:
        """The grades so far, by the place of the pair in the pile."""
        found = ((at, self._ledger.grade(pair)) for at, pair in enumerate(pile.questions))
        return {"grades": {at: grade for at, grade in found if grade is not None}}


def _shown(question: Question) -> list[str]:
    """The pair as it is asked for by, and then as people can see it."""
    texts = (question.query, question.doc, question.text, question.passage)
    return [*question.pair, *(visible(" ".join(text.split())) for text in texts)]


def _asked(pile: Pile, body: dict[str, Any]) -> Question:
    query, doc = body.get("query"), body.get("doc")
    if not isinstance(query, str) or not isinstance(doc, str):
        raise RefusedError(400, "query and doc must be texts")
    question = pile.questions.get((query, doc))
    if question is None:
        raise RefusedError(400, "this pair is not in the list; load the page again")
    return question
