"""The scripted model of the comparison with ragas and DeepEval, on our side of it."""

from __future__ import annotations

import json

import pytest
from benchmarks.rag_peers import BROKEN, Model, made_rows, outcomes, reply_to


@pytest.mark.slow
def test_a_second_run_asks_nothing_and_each_row_has_its_true_value() -> None:
    first, second = outcomes("rankproof", "", Model(), 2)
    assert (first.calls, second.calls) == (50, 0)
    assert list(first.values) == [0.5 if number % 2 else 1.0 for number in range(len(made_rows()))]
    assert second.values == first.values


def test_a_fifth_of_the_replies_are_useless_and_a_repeated_request_is_drawn_anew() -> None:
    prompts, model = [f"prompt {number}" for number in range(400)], Model(BROKEN)
    good = reply_to(prompts[0])
    first, second = ([prompt for prompt in prompts if model.reply(prompt) != good] for _ in range(2))
    assert 50 <= len(first) <= 110
    assert first != second


def test_the_model_mends_a_reply_when_it_is_asked_to() -> None:
    prompt = 'Fully: fully understandable statements\ninput: {"answer": "Item 3 is blue."}\nOutput: '
    wanted = json.dumps({"output_string": "", "prompt_value": prompt})
    mended = json.loads(reply_to(f"It did not satisfy the constraints\ninput: {wanted}\nOutput: "))
    assert json.loads(mended["text"]) == {"statements": ["Item 3 is blue."]}
