"""The same answers in eleven languages: words, claims and prompts do not depend on the language."""

from __future__ import annotations

import pytest

from rankproof._data.answers import Answer, Reference
from rankproof._data.sentences import sentences
from rankproof._evaluation.answers import evaluate_answers
from rankproof._judge.claims.base import Piece
from rankproof._judge.claims.prompts import verdict_request

TEXTS = {
    "de": (
        "Die Brücke wurde 1932 eröffnet. Sie ist 503 Meter lang.",
        "Wann wurde die Brücke eröffnet?",
        "Der Turm hat neun Glocken.",
    ),
    "fr": ("Le pont a ouvert en 1932. Il mesure 503 mètres.", "Quand le pont a-t-il ouvert ?", "La tour porte neuf cloches."),
    "es": ("El puente se abrió en 1932. Mide 503 metros.", "¿Cuándo se abrió el puente?", "La torre tiene nueve campanas."),
    "it": ("Il ponte fu aperto nel 1932. È lungo 503 metri.", "Quando fu aperto il ponte?", "La torre ha nove campane."),
    "pt": ("A ponte foi aberta em 1932. Ela mede 503 metros.", "Quando a ponte foi aberta?", "A torre tem nove sinos."),
    "ru": ("Мост открыли в 1932 году. Его длина 503 метра.", "Когда открыли мост?", "На башне девять колоколов."),
    "zh": ("这座桥于1932年通车。桥长503米。", "这座桥何时通车？", "塔上有九口钟。"),
    "ja": ("この橋は1932年に開通しました。長さは503メートルです。", "この橋はいつ開通しましたか？", "塔には鐘が九つある。"),
    "ko": (
        "이 다리는 1932년에 개통되었습니다. 길이는 503미터입니다.",
        "이 다리는 언제 개통되었습니까?",
        "탑에는 종이 아홉 개 있다.",
    ),
    "ar": ("افتتح الجسر عام 1932. يبلغ طوله 503 أمتار.", "متى افتتح الجسر؟", "في البرج تسعة أجراس."),
    "hi": ("पुल 1932 में खुला। इसकी लंबाई 503 मीटर है।", "पुल कब खुला?", "मीनार में नौ घंटियाँ लगी थीं।"),
}


def values(language: str, answer: str) -> dict[str, float | None]:
    """The values of one answer to the question of a language, with the first text as context and reference."""
    text, question, _ = TEXTS[language]
    result = evaluate_answers(
        {"a": {"q": Answer(answer, given=("d",))}},
        {"q": Reference((text,))},
        measures=["Faithfulness", "ContextR", "ClaimF1", "AnswerRate"],
        questions={"q": question},
        passage={"d": text}.get,
    )
    return {name: measured.per_query.get("q") for name, measured in result.systems[0].measures.items()}


@pytest.mark.parametrize("language", TEXTS)
def test_a_text_has_two_sentences_in_each_language(language: str) -> None:
    first, second = sentences(TEXTS[language][0])
    assert "1932" in first
    assert "503" in second


@pytest.mark.parametrize("language", TEXTS)
def test_words_of_a_copied_answer_are_found_and_those_of_another_are_not(language: str) -> None:
    text, _, other = TEXTS[language]
    copied, different = values(language, text), values(language, other)
    assert [*copied.values()] == [1.0] * 4
    assert (different["Faithfulness(judge='overlap')"] or 0.0) <= 0.34
    assert (different["ClaimF1(judge='overlap')"] or 0.0) <= 0.34


@pytest.mark.parametrize("language", TEXTS)
def test_a_prompt_shows_every_sentence_with_its_label_and_the_claims_as_they_are(language: str) -> None:
    text, question, other = TEXTS[language]
    first, second = sentences(text)
    request = verdict_request("answer-contexts", question, [Piece(1, 1, first), Piece(1, 2, second)], [other])
    prompt = "\n".join(message.text for message in request.messages)
    lines = prompt.splitlines()
    assert f"[1.1] {first}" in lines
    assert f"[1.2] {second}" in lines
    assert question in prompt
    assert other in prompt
