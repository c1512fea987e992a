"""pytrec_eval in a process of its own, since it can crash: reads a line of JSON, prints its values."""

from __future__ import annotations

import json
import sys


def main() -> None:
    import pytrec_eval

    for line in sys.stdin:
        asked = json.loads(line)
        evaluator = pytrec_eval.RelevanceEvaluator(
            asked["qrels"], set(asked["measures"]), relevance_level=asked["rel"], judged_docs_only_flag=asked["judged_only"]
        )
        print(json.dumps(evaluator.evaluate(asked["run"])), flush=True)


if __name__ == "__main__":
    main()
