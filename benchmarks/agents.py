"""How often the decision between two agents is right if it is known which search tool is better.

An agent searches until it has both facts of a question, four times at most. Each call finds a missing fact with a chance that is
the quality of the tool, and the answer is right the more often the more facts it has. The logs are those of an agent: calls with
their passages and tokens. Wrong is a choice that is truly more than 2 pp below the other one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import rankproof as rp
from rankproof._analysis.answers.log_tables import trajectory
from rankproof._data.answers import SearchCall
from rankproof._statistics.intervals import mean_interval

ROUNDS, MARGIN, MOST_CALLS, TRUTH = 40, 0.02, 4, 100_000
COVERED_ROUNDS = 1000


@dataclass(frozen=True)
class Tool:
    """A search tool: the chance that a call finds a missing fact, and the tokens of what it returns."""

    finds: float
    tokens: int = 100


@dataclass(frozen=True)
class World:
    """Two agents that answer the same questions, each with a tool of its own."""

    name: str
    tools: tuple[Tool, Tool]
    questions: int = 150


WORLDS = (
    World("better tool", (Tool(0.7), Tool(0.3))),
    World("better tool, three times the tokens", (Tool(0.7, 300), Tool(0.3, 100))),
    World("a little better", (Tool(0.5), Tool(0.4))),
    World("equal, twice the tokens", (Tool(0.5, 100), Tool(0.5, 200)), 600),
)


def calls_of(tool: Tool, random: np.random.Generator) -> list[SearchCall]:
    """The calls of an agent for one question."""
    missing, calls, tokens = ["fact 1", "fact 2"], list[SearchCall](), 0
    while missing and len(calls) < MOST_CALLS:
        new = [fact for fact in missing if random.random() < tool.finds]
        missing = [fact for fact in missing if fact not in new]
        tokens += tool.tokens * (len(calls) + 1)
        calls.append(SearchCall(f"search {len(calls)}", (f"noise {random.integers(9)}", *new), tokens))
    return calls


def is_right(calls: list[SearchCall], random: np.random.Generator) -> bool:
    """Whether the answer is right: with 20%, and 35% more for each fact."""
    facts = {doc for call in calls for doc in call.returned if doc.startswith("fact")}
    return bool(random.random() < 0.2 + 0.35 * len(facts))


def truths(tool: Tool) -> tuple[float, float, float]:
    """The true share of right answers, evidence and calls."""
    random = np.random.default_rng(99)
    made = [calls_of(tool, random) for _ in range(TRUTH // 4)]
    evidence = np.mean([trajectory(calls, frozenset({"fact 1", "fact 2"}), {}).evidence for calls in made])
    return 0.2 + 0.7 * float(evidence), float(evidence), float(np.mean(list(map(len, made))))


def log(tool: Tool, questions: int, random: np.random.Generator) -> Iterator[dict[str, Any]]:
    """The rows of the log of an agent."""
    for number in range(questions):
        calls = calls_of(tool, random)
        searches = [
            {"query": call.query, "contexts": [f"{doc} of {number}" for doc in call.returned], "tokens": call.tokens}
            for call in calls
        ]
        yield {
            "question": f"question {number}",
            "answer": "right" if is_right(calls, random) else "wrong",
            "answers": ["right"],
            "reference_contexts": [f"fact 1 of {number}", f"fact 2 of {number}"],
            "searches": searches,
            "tokens_in": calls[-1].tokens,
            "tokens_out": 20,
        }


def row(world: World, rounds: int) -> str:
    """The decisions on the logs of the world."""
    random, true = np.random.default_rng(1), [truths(tool)[0] for tool in world.tools]
    best, chosen = max(true), list[tuple[str, ...]]()
    for _ in range(rounds):
        logs = {name: list(log(tool, world.questions, random)) for name, tool in zip("ab", world.tools, strict=True)}
        decision = rp.compare(rp.evaluate_answers(logs, measures="EM")).decision
        chosen.append(decision.systems if decision.decided else ())
    right = sum("a" in names for names in chosen)
    wrong = sum(any(true["ab".index(name)] < best - MARGIN for name in names) for names in chosen)
    shares = [f"{count / rounds:.0%}" for count in (right, wrong, chosen.count(()))]
    return f"| {world.name} | {world.questions} | {true[0]:.3f}, {true[1]:.3f} | {' | '.join(shares)} |"


def covered_row(world: World, questions: int, rounds: int) -> str:
    """How often the 95% intervals of `Evidence` and of its difference between two agents cover the truth."""
    random, true = np.random.default_rng(2), [truths(tool)[1] for tool in world.tools]
    means, shown, differences = 0, 0, 0
    for _ in range(rounds):
        logs = {name: list(log(tool, questions, random)) for name, tool in zip("ab", world.tools, strict=True)}
        result = rp.evaluate_answers(logs, measures="Evidence")
        low, high = mean_interval(np.array(list(result.per_query("b")["Evidence"].values())), within=(0.0, 1.0)) or (1.0, 0.0)
        means += low <= true[1] <= high
        pair = rp.compare(result).pairs[0]
        if pair.ci is not None:
            shown += 1
            differences += pair.ci[0] <= (true[0] - true[1]) * (1 if pair.system == "a" else -1) <= pair.ci[1]
    shares = f"{means / rounds:.3f} | {shown / rounds:.0%} | {differences / shown:.3f}"
    return f"| {world.name} | {questions} | {true[1]:.3f} | {shares} |"


def main() -> None:
    """Prints a row for each world; the first agent is the better or the cheaper one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--covered-rounds", type=int, default=COVERED_ROUNDS, help="logs of each number of questions")
    args = parser.parse_args()
    rounds = args.rounds
    print("| tools | questions | true Evidence of b | coverage | difference has an interval | coverage |")
    print("|---|---:|---:|---:|---:|---:|")
    for world, questions in ((WORLDS[0], 150), (WORLDS[2], 30), (WORLDS[2], 150)):
        print(covered_row(world, questions, args.covered_rounds), flush=True)
    print("| tools | questions | true shares right | chose a | wrong | open |\n|---|---:|---:|---:|---:|---:|")
    for world in WORLDS:
        print(row(world, rounds), flush=True)


if __name__ == "__main__":
    main()
