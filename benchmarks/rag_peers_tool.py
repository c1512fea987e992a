"""Faithfulness of the rows of a JSONL file by one tool, as its documentation shows it, with the interpreter that has the tool.

Usage: `PYTHON rag_peers_tool.py TOOL ADDRESS ROWS`. Prints the value of each row as JSON, null where there is none.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

os.environ.update(RAGAS_DO_NOT_TRACK="true", DEEPEVAL_TELEMETRY_OPT_OUT="YES", DEEPEVAL_NO_INSPECT_PROMPT="1")
MODEL, KEY = "scripted", "none"


def with_ragas(address: str, rows: list[dict[str, Any]]) -> list[float | None]:
    """`evaluate` with a model of LangChain."""
    from langchain_openai import ChatOpenAI
    from ragas import EvaluationDataset, evaluate
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import Faithfulness

    model = LangchainLLMWrapper(ChatOpenAI(model=MODEL, base_url=address, api_key=KEY))
    samples = [{"user_input": row["question"], "response": row["answer"], "retrieved_contexts": row["contexts"]} for row in rows]
    result = evaluate(EvaluationDataset.from_list(samples), metrics=[Faithfulness()], llm=model, show_progress=False)
    values = [score["faithfulness"] for score in result.scores]
    print(f"mean as printed: {result}", file=sys.stderr)
    return [None if math.isnan(value) else value for value in values]


def with_deepeval(address: str, rows: list[dict[str, Any]]) -> list[float | None]:
    """`measure` of one test case after the other, as `evaluate` stops at the first exception."""
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.models import OpenAIModel
    from deepeval.test_case import LLMTestCase

    values: list[float | None] = []
    for row in rows:
        metric = FaithfulnessMetric(model=OpenAIModel(model=MODEL, api_key=KEY, base_url=address))
        case = LLMTestCase(input=row["question"], actual_output=row["answer"], retrieval_context=row["contexts"])
        try:
            values.append(float(metric.measure(case, _show_indicator=False)))
        except Exception as error:  # Whatever it raises is what its users get.
            print(f"{type(error).__name__}: {str(error)[:80]}", file=sys.stderr)
            values.append(None)
    return values


if __name__ == "__main__":
    tool, address, path = sys.argv[1:]
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    values = {"ragas": with_ragas, "deepeval": with_deepeval}[tool](address, list(map(json.loads, lines)))
    print(json.dumps({"values": values}))
