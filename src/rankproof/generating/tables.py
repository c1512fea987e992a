"""What was generated, and what generating would cost, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analysis.table import Column, Table
from ..analysis.wording import counted
from ..asking.estimate import Estimate
from ..asking.tally import estimation_note
from ..models.chat.port import ChatModel
from .draft import REASONS
from .generate import Generated
from .report import shortfalls

_EXAMPLES = 3


def generated_table(found: Generated, check: Mapping[str, Any] | None, estimated: int = 0) -> Table:
    """Counts by category; each reason in words; what BM25 finds again where that was asked for.

    `estimated` is how many replies came without a count of their tokens.
    """
    counts = found.counts()
    met = [reason for reason in REASONS if any(reason in each["left_out"] for each in counts.values())]
    checked = (Column("bm25 finds", "share", "targets among BM25's first 10"),) if check else ()
    columns = (Column("category"), *(Column(name, "count") for name in ("wanted", "made", "failed", *met)), *checked)
    rows = []
    for category, each in counts.items():
        share = () if not check else (_share(check["categories"].get(category)),)
        left_out = (each["left_out"].get(reason, 0) for reason in met)
        rows.append((category, each["wanted"], each["made"], each["failed"], *left_out, *share))
    return Table(
        "generate",
        f"{counted(len(found.made), 'query', 'queries')} by {found.mark}",
        columns,
        tuple(rows),
        sentences=tuple(f"{reason}: {REASONS[reason]}." for reason in met),
        notes=(*shortfalls(found), *filter(None, (estimation_note(estimated),))),
        facts={"made_by": found.mark, "made": len(found.made), "wanted": sum(found.wanted.values()), "check": check},
    )


def example_table(found: Generated) -> Table:
    """The first queries of each category."""
    rows = []
    for category in found.wanted:
        own = [one for one in found.made if one.source.category == category]
        rows += [(category, one.text, one.source.docs[0]) for one in own[:_EXAMPLES]]
    columns = (Column("category"), Column("query"), Column("target"))
    return Table("generate-examples", "the first of each category", columns, tuple(rows))


def plan_table(wanted: Mapping[str, int], most: Estimate, model: ChatModel | None) -> Table:
    """What asking would come to; nobody is asked."""
    usage = most.usage(model.price_in, model.price_out) if model else most.usage(0, 0)
    money = usage.money if model and (model.price_in or model.price_out) else None
    columns = (
        Column("queries", "count"),
        *(Column(name, "count") for name in ("calls", "tokens in", "tokens out")),
        Column("money", "number", "at the model's prices; empty where nobody said them"),
    )
    said = "Nothing was asked. Tokens are estimated by 4 characters each; what is left out or of no use is asked for anew."
    row = (sum(wanted.values()), most.calls, most.tokens_in, most.tokens_out, money)
    return Table("generate-plan", "what it would take", columns, (row,), sentences=(said,), facts={"wanted": dict(wanted)})


def _share(found: Mapping[str, int] | None) -> float | None:
    return found["found"] / found["of"] if found else None
