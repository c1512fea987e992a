"""The choice of the engine; both engines have the same functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import pytest

from rankproof import _engine_choice
from rankproof._align import engine, reference
from rankproof._data.validation import ReadOptions
from rankproof.errors import ExternalError, UsageError
from support.native_cases import assert_same_hits

FUNCTIONS = ["judge_text", "judge_qrels", "judge_dict", "align_text", "align_run", "align_dict"]


def parameters(function: Callable[..., object]) -> list[tuple[str, object]]:
    """Names and defaults, but for those that only say how to read."""
    parts = inspect.signature(function).parameters.values()
    return [(part.name, part.default) for part in parts if part.kind != part.KEYWORD_ONLY]


@pytest.fixture(autouse=True)
def _choose_anew() -> Iterator[None]:
    _engine_choice.chosen_name.cache_clear()
    yield
    _engine_choice.chosen_name.cache_clear()


@pytest.mark.parametrize("built", [True, False])
def test_the_native_engine_is_the_default_if_it_was_built(monkeypatch: pytest.MonkeyPatch, built: bool) -> None:
    monkeypatch.delenv(_engine_choice.VARIABLE, raising=False)
    monkeypatch.setattr(_engine_choice, "is_built", lambda: built)
    assert ("native" if built else "reference") == engine.NAME


def test_the_reference_engine_can_be_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_engine_choice.VARIABLE, "reference")
    assert engine.NAME == "reference"


def test_a_selected_engine_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_engine_choice.VARIABLE, "native")
    monkeypatch.setattr(_engine_choice, "is_built", lambda: False)
    with pytest.raises(UsageError, match="is not installed"):
        engine.judge_dict({"1": {"a": 1}}, "qrels")


def test_an_engine_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_engine_choice.VARIABLE, "fast")
    with pytest.raises(UsageError, match="'fast'"):
        _engine_choice.chosen_name()


def test_a_native_engine_that_cannot_be_loaded_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine_choice, "chosen_name", lambda: "broken")
    with pytest.raises(ExternalError, match="broken engine cannot be loaded"):
        engine.judge_dict({"1": {"a": 1}}, "qrels")


def test_the_engine_module_has_no_other_attribute() -> None:
    with pytest.raises(AttributeError):
        engine.__getattr__("name")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_both_engines_have_the_same_functions(function: str) -> None:
    native = pytest.importorskip("rankproof._align.native", exc_type=ImportError)
    ours, theirs, chosen = (parameters(getattr(module, function)) for module in (native, reference, engine))
    assert ours == theirs == chosen


@pytest.mark.parametrize("name", ["native", "reference"])
def test_the_chosen_engine_does_the_work(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pytest.importorskip("rankproof._align.native", exc_type=ImportError)
    monkeypatch.setenv(_engine_choice.VARIABLE, name)
    grades, scores = {"1": {"a": 1, "b": 0}}, {"1": {"b": 2.0, "a": 1.0}}
    judged = engine.judge_dict(grades, "qrels")
    wanted = reference.align_dict(reference.judge_dict(grades, "qrels"), scores, "run", ReadOptions())
    assert_same_hits(engine.align_dict(judged, scores, "run", ReadOptions()), wanted)
    assert (type(judged.handle) is reference.JudgedTable) == (name == "reference")


@pytest.mark.parametrize("float32", [True, False])
def test_scores_of_trec_eval_9_ask_for_its_values(float32: bool) -> None:
    hits = engine.align_dict(engine.judge_dict({"1": {"a": 1}}, "qrels"), {"1": {"a": 1.0}}, "run", ReadOptions(float32=float32))
    assert hits.trec_eval_9 is float32
