"""Linear and exponential gain compared: the same discounts, different gains.

First the parts (gains, discounts, one document), then lists that the two gains order differently, then real rankings of the
built-in sample: whether the gain changes the best system, and for how many queries it changes the better of two systems.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

import rankproof as rp
from rankproof.ir_eval import MODES, dcg_at_k, evaluate_all, ndcg_at_k, run_systems
from rankproof.ir_eval._measures import Method

METHODS: tuple[Method, Method] = ("linear", "exponential")
LISTS = {"one excellent": [3, 0, 0], "two good": [2, 2, 0], "three fair": [1, 1, 1], "excellent, late": [0, 0, 3]}
RANKINGS = {"exact first": ["exact", "x", "y"], "substitutes first": ["one", "other", "x"]}
GRADES = {"exact": 3, "one": 2, "other": 2}


def main() -> None:
    """Prints the demo."""
    print(parts())
    print(lists())
    print(real_systems())


def parts() -> str:
    """Gains by grade, discounts by position, and one document at position 2."""
    gains = "  ".join(f"{grade} -> {grade} and {2**grade - 1}" for grade in range(4))
    discounts = "  ".join(f"{rank}: {1 / math.log2(rank + 1):.2f}" for rank in range(1, 6))
    linear, exponential = (dcg_at_k([0, 3], 2, method=method) for method in METHODS)
    return "\n".join(
        [
            f"Gain of each grade, linear and exponential:  {gains}",
            f"Discount of each position, the same for both:  {discounts}",
            f"Grade 3 at position 2: linear 3 / {math.log2(3):.3f} = {linear:.2f}, exponential 7 / {math.log2(3):.3f} = "
            f"{exponential:.2f}, {exponential / linear:.1f} times as much",
            "",
        ]
    )


def lists() -> str:
    """DCG of short lists of grades, and two rankings of one query whose order depends on the gain."""
    lines = [f"{'DCG@3 of a list':<24}{'grades':<12}{'linear':>8}{'exponential':>13}"]
    for name, grades in LISTS.items():
        linear, exponential = (dcg_at_k(grades, 3, method=method) for method in METHODS)
        lines.append(f"{name:<24}{grades!s:<12}{linear:>8.3f}{exponential:>13.3f}")
    lines += ["", f"{'nDCG@3 of a ranking':<36}{'linear':>8}{'exponential':>13}"]
    for name, ranking in RANKINGS.items():
        linear, exponential = (ndcg_at_k(ranking, GRADES, 3, method=method) for method in METHODS)
        lines.append(f"{name:<36}{linear:>8.3f}{exponential:>13.3f}")
    lines += ["Two substitutes beat one exact hit with linear gain and lose with exponential gain: choose before you look.", ""]
    return "\n".join(lines)


def real_systems() -> str:
    """Four systems on the sample with both gains, and the queries for which the better of two systems changes."""
    data = rp.read_dataset("sample")
    runs = run_systems(data.queries, data.corpus, MODES, 10, model="wordllama")
    means = {
        method: {mode: evaluate_all(run, data.qrels, 10, method)["NDCG@10"] for mode, run in runs.items()} for method in METHODS
    }
    lines = [f"{'nDCG@10 on the sample':<28}{'linear':>8}{'exponential':>13}"]
    lines += [f"{mode:<28}{means['linear'][mode]:>8.4f}{means['exponential'][mode]:>13.4f}" for mode in MODES]
    orders = {method: sorted(MODES, key=means[method].__getitem__, reverse=True) for method in METHODS}
    same = orders["linear"] == orders["exponential"]
    lines += ["", f"The order of the systems is {'the same' if same else 'not the same'} with both gains:"]
    lines += [f"  {method:<12} {' > '.join(orders[method])}" for method in METHODS]
    lines += ["Queries for which the better of two systems changes with the gain:"]
    for one, other in combinations(MODES, 2):
        changed = sum(sides(runs[one][query], runs[other][query], grades) for query, grades in data.qrels.items())
        lines.append(f"  {one} and {other}: {changed} of {len(data.qrels)}")
    effect = "Here the gain does not change the winner; with closer systems it can" if same else "Here the gain changes the order"
    lines.append(f"{effect}. State the gain with every value; rankproof audit shows both.")
    return "\n".join(lines)


def sides(one: list[str], other: list[str], grades: Mapping[str, int]) -> bool:
    """Whether the better of two rankings of a query depends on the gain."""
    linear, exponential = (ndcg_at_k(one, grades, 10, how) - ndcg_at_k(other, grades, 10, how) for how in METHODS)
    return linear * exponential < 0


if __name__ == "__main__":
    main()
