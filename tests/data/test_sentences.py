"""Sentences: tables of texts, and laws that hold for any text."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.arrays import IntArray
from rankproof._data.sentences import sentence_spans, sentence_starts, sentences
from support.examples import examples
from support.shared_data import collection


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Dr. Smith paid $3.50. He left.", ["Dr. Smith paid $3.50.", "He left."]),
        ('"Why?" she asked. "Go!" He went.', ['"Why?" she asked.', '"Go!"', "He went."]),
        ("The U.S. Army came. J. R. Tolkien saw it.", ["The U.S. Army came.", "J. R. Tolkien saw it."]),
        ("See No. 5 and Fig. 3. He said no. Then he left.", ["See No. 5 and Fig. 3.", "He said no.", "Then he left."]),
        ("It grew (a record). Then... nothing. Wait… What?!", ["It grew (a record).", "Then... nothing.", "Wait…", "What?!"]),
        ("他说：“好！”然后走了。真的吗？是", ["他说：“好！”", "然后走了。", "真的吗？", "是"]),
        ("यह है। वह था।", ["यह है।", "वह था।"]),
        ("a heading\n\nand text. more\nlines", ["a heading", "and text. more\nlines"]),
        ("  \n ", []),
        ("no mark at all", ["no mark at all"]),
    ],
)
def test_sentences_end_where_expected(text: str, wanted: list[str]) -> None:
    assert sentences(text) == wanted


LANGUAGES = {
    "ar": [
        ("وصل د. أحمد إلى القاهرة. هل تعرفه؟ نعم! انتهى.", ["وصل د. أحمد إلى القاهرة.", "هل تعرفه؟", "نعم!", "انتهى."]),
        ("ذهب م. علي إلى البيت؛ ثم نام. استيقظ مبكراً.", ["ذهب م. علي إلى البيت؛ ثم نام.", "استيقظ مبكراً."]),
    ],
    "de": [
        ("Am 3. Oktober 1990 war es so weit. Es regnete.", ["Am 3. Oktober 1990 war es so weit.", "Es regnete."]),
        (
            "Im 19. Jahrhundert, z. B. in Berlin, lebte Prof. Dr. h.c. Müller. Er starb 1890. Die Nr. 5 bleibt.",
            ["Im 19. Jahrhundert, z. B. in Berlin, lebte Prof. Dr. h.c. Müller.", "Er starb 1890.", "Die Nr. 5 bleibt."],
        ),
        ("Sie ging in die 2. Klasse. Dann kam er.", ["Sie ging in die 2. Klasse.", "Dann kam er."]),
    ],
    "el": [
        ("Ο κ. Παπαδόπουλος ήρθε. Τι ώρα είναι; Δεν ξέρω.", ["Ο κ. Παπαδόπουλος ήρθε.", "Τι ώρα είναι;", "Δεν ξέρω."]),
        ("Η Αθήνα, π.χ. το κέντρο, είναι μεγάλη. Το ξέρω.", ["Η Αθήνα, π.χ. το κέντρο, είναι μεγάλη.", "Το ξέρω."]),
    ],
    "en": [
        ("Smith et al. (2019) found it. So did we.", ["Smith et al. (2019) found it.", "So did we."]),
        (
            "Apple Inc. CEO Tim Cook lives in the U.S. He likes it.",
            ["Apple Inc. CEO Tim Cook lives in the U.S.", "He likes it."],
        ),
        ("See https://a.b/c?d=e. Go to www.x.org. Done.", ["See https://a.b/c?d=e.", "Go to www.x.org.", "Done."]),
        ("Homer (c. 800 BC) wrote it. Version 1.2. is out.", ["Homer (c. 800 BC) wrote it.", "Version 1.2. is out."]),
        ("It was the 1980s. Berlin fell. See Brown v. Board.", ["It was the 1980s.", "Berlin fell.", "See Brown v. Board."]),
        ("Pi is 3.14. It costs $5.00; no more.", ["Pi is 3.14.", "It costs $5.00; no more."]),
    ],
    "es": [
        (
            "La Sra. López, p. ej., llegó a las 3.5 h. ¿Qué pasó? ¡Nada! El Sr. Ruiz vive en EE. UU. La casa es grande.",
            [
                "La Sra. López, p. ej., llegó a las 3.5 h.",
                "¿Qué pasó?",
                "¡Nada!",
                "El Sr. Ruiz vive en EE. UU.",
                "La casa es grande.",
            ],
        ),
    ],
    "fr": [
        (
            "M. Durand l'a goûté : « C'est trop salé ! » Que faut-il changer ? Moins de sel.",
            ["M. Durand l'a goûté : « C'est trop salé ! »", "Que faut-il changer ?", "Moins de sel."],
        ),
    ],
    "hi": [
        ("डॉ. राजेंद्र प्रसाद आए। वह था?", ["डॉ. राजेंद्र प्रसाद आए।", "वह था?"]),
        ("ए. पी. जे. अब्दुल कलाम वैज्ञानिक थे।वह था। हाँ!", ["ए. पी. जे. अब्दुल कलाम वैज्ञानिक थे।", "वह था।", "हाँ!"]),
    ],
    "it": [
        (
            "Il sig. Bianchi ha comprato 3,5 kg di farina. Costa 1.200 lire? La dott.ssa Neri lo conferma.",
            ["Il sig. Bianchi ha comprato 3,5 kg di farina.", "Costa 1.200 lire?", "La dott.ssa Neri lo conferma."],
        ),
    ],
    "ja": [("東京は首都です。本当ですか？「はい。」と答えた。", ["東京は首都です。", "本当ですか？", "「はい。」と答えた。"])],
    "ko": [
        (
            "냉장고는 어제 도착했습니다. 가격은 49.9만 원입니다! 누가 확인했습니까?",
            ["냉장고는 어제 도착했습니다.", "가격은 49.9만 원입니다!", "누가 확인했습니까?"],
        ),
    ],
    "nl": [
        (
            "Mevr. De Vries bakt brood, bijv. roggebrood. Wie koopt het?",
            ["Mevr. De Vries bakt brood, bijv. roggebrood.", "Wie koopt het?"],
        ),
    ],
    "pl": [
        (
            "Sklep prowadzi dr Nowak, tj. mój sąsiad. Kto tam kupuje?",
            ["Sklep prowadzi dr Nowak, tj. mój sąsiad.", "Kto tam kupuje?"],
        )
    ],
    "pt": [
        (
            "O Sr. Lopes vendeu a casa em 2004. Quem a comprou? Foi a Dra. Maria, por 120.000 euros.",
            ["O Sr. Lopes vendeu a casa em 2004.", "Quem a comprou?", "Foi a Dra. Maria, por 120.000 euros."],
        ),
    ],
    "ro": [
        ("D-l. Popescu a venit la ora 5. Dl. Ion a plecat.", ["D-l. Popescu a venit la ora 5.", "Dl. Ion a plecat."]),
        ("Stă pe str. Mare, nr. 5. E frumos!", ["Stă pe str. Mare, nr. 5.", "E frumos!"]),
    ],
    "ru": [
        ("В 1812 г. Наполеон вошёл в Москву. Это факт.", ["В 1812 г. Наполеон вошёл в Москву.", "Это факт."]),
        ("А. С. Пушкин родился в 1799 году. Это я. Она тут.", ["А. С. Пушкин родился в 1799 году.", "Это я.", "Она тут."]),
        ("Были яблоки, груши и т. д. Он ушёл.", ["Были яблоки, груши и т. д.", "Он ушёл."]),
    ],
    "th": [
        (
            "รัฐธรรมนูญแห่งราชอาณาจักรไทยเป็นกฎหมายสูงสุด ประเทศไทยมีพระมหากษัตริย์เป็นประมุข และมีนายกรัฐมนตรีเป็นหัวหน้ารัฐบาล"
            " ในปี พ.ศ. 2475 มีการเปลี่ยนแปลงการปกครอง",
            [
                "รัฐธรรมนูญแห่งราชอาณาจักรไทยเป็นกฎหมายสูงสุด ประเทศไทยมีพระมหากษัตริย์เป็นประมุข และมีนายกรัฐมนตรีเป็นหัวหน้ารัฐบาล",
                "ในปี พ.ศ. 2475 มีการเปลี่ยนแปลงการปกครอง",
            ],
        ),
        ("สวัสดีครับ ผมชื่อสมชาย", ["สวัสดีครับ", "ผมชื่อสมชาย"]),
    ],
    "tr": [
        ("2. Dünya Savaşı 1939'da başladı. Bitti.", ["2. Dünya Savaşı 1939'da başladı.", "Bitti."]),
        ("Prof. Dr. Ayşe Hanım M.Ö. 5. yüzyılı anlattı. Bitti.", ["Prof. Dr. Ayşe Hanım M.Ö. 5. yüzyılı anlattı.", "Bitti."]),
    ],
    "vi": [("TP. Hồ Chí Minh rất lớn. GS. Nguyễn Văn A. đã đến.", ["TP. Hồ Chí Minh rất lớn.", "GS. Nguyễn Văn A. đã đến."])],
    "zh": [
        ("圆周率是３．５。1563年发生瘟疫。", ["圆周率是３．５。", "1563年发生瘟疫。"]),
        ("你好吗?我很好!谢谢", ["你好吗?", "我很好!", "谢谢"]),
        ("他来了；我走了……真的。是的！", ["他来了；我走了……真的。", "是的！"]),
    ],
}


@pytest.mark.parametrize(("text", "wanted"), [case for cases in LANGUAGES.values() for case in cases])
def test_sentences_end_where_a_reader_of_the_language_expects(text: str, wanted: list[str]) -> None:
    assert sentences(text) == wanted


STRUCTURES = {
    "a lead-in and items": (
        "The steps are:\n1. Install it. Then run it.\n2) Check\n(c) Go\n\n- one\n- two\n  continued here\n* three",
        ["The steps are:", "Install it.", "Then run it.", "Check", "Go", "one", "two\n  continued here", "three"],
    ),
    "numbers inside a line": ("Do it so. 1. Stop. 2. Go on.", ["Do it so.", "1. Stop.", "2. Go on."]),
    "headings": (
        "# Title\nText here. More.\n\n**Part**\nRest of it.\n## Last\nEnd",
        ["Title", "Text here.", "More.", "**Part**", "Rest of it.", "Last", "End"],
    ),
    "a short line before a long one": (
        "Paris\nParis is the capital of France and its largest city.",
        ["Paris", "Paris is the capital of France and its largest city."],
    ),
    "a wrapped line": ("The capital of\nFrance is Paris. It\nis old.", ["The capital of\nFrance is Paris.", "It\nis old."]),
    "a table": ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", ["| a | b |\n|---|---|", "| 1 | 2 |", "| 3 | 4 |"]),
    "columns by tabs": ("name\tage\nAnna\t12\nBo\t13", ["name\tage", "Anna\t12", "Bo\t13"]),
    "records": ("Name: Anna\nAge: 12\nCity: Rome", ["Name: Anna", "Age: 12", "City: Rome"]),
    "a code block": (
        "Run this.\n```python\nx = 1. \nY = 2\n\nz()\n```\nAfter it. End",
        ["Run this.", "```python\nx = 1. \nY = 2\n\nz()\n```", "After it.", "End"],
    ),
    "a code block that is not closed": ("See:\n~~~\na. B\n\nc", ["See:", "~~~\na. B\n\nc"]),
    "code in a line": ("Call `a. B` now. Then `c`. Done", ["Call `a. B` now.", "Then `c`.", "Done"]),
    "a quotation": ("> She said so. He did not.\n\nI agree.", ["She said so.", "He did not.", "I agree."]),
    "citations": (
        "Paris is big.[1][2] It is old. [3] Rome too [4, 5]. End",
        ["Paris is big.[1][2]", "It is old. [3]", "Rome too [4, 5].", "End"],
    ),
    "parts without a word": ("One. [...] Two.\n\n---\n\nThree. 😀", ["One. [...]", "Two.\n\n---", "Three. 😀"]),
    "line ends of Windows": ("- one\r\n- two\r\n\r\nEnd. It is.", ["one", "two", "End.", "It is."]),
    "an initial at the start of a line": ("A. Smith said so.\nHe left.", ["A. Smith said so.", "He left."]),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_items_headings_rows_and_code_are_units(name: str) -> None:
    text, wanted = STRUCTURES[name]
    assert sentences(text) == wanted


_PIECES = ["word", "Über", "日本。", "Is it?", "e.g. ", "3.5", "U.S.", "😀", " ", "\n", "\n\n", "\t", ". ", "!", '"', "- ", "1. "]
TEXTS = st.lists(st.sampled_from([*_PIECES, "# ", "|", "```", "`", "> ", "ครับ ", "ไทย", "[1]", ";", "ά; ", ": "]), max_size=30)


@examples(300)
@given(TEXTS.map("".join))
def test_spans_are_in_order_stripped_and_hold_every_word(text: str) -> None:
    spans = sentence_spans(text)
    starts = sentence_starts(text)
    assert starts == sorted(set(starts))
    assert all(start <= first < last for start, (first, last) in zip(starts, spans, strict=True))
    assert all(text[first:last] == text[first:last].strip() for first, last in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert bool(spans) == bool(text.strip())
    assert all(any(letter.isalnum() for letter in text[first:last]) for first, last in spans) or len(spans) == 1


def _texts(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]


def _sentence_counts(path: Path) -> IntArray:
    return np.array([len(sentences(text)) for text in _texts(path)])


def test_a_translated_paragraph_has_as_many_sentences_as_the_english_one() -> None:
    folder = collection("xquad-en")
    english = _sentence_counts(folder / "corpus.jsonl")
    for language in ("ar", "de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"):
        other = _sentence_counts(folder / "i18n" / f"corpus.{language}.jsonl")
        least = 0.68 if language == "th" else 0.89
        assert np.mean(abs(english - other) <= 1) >= least, language
        assert 0.95 < other.sum() / english.sum() < 1.1, language
        questions = _sentence_counts(folder / "i18n" / f"queries.{language}.jsonl")
        assert np.count_nonzero(questions != 1) <= 3, language


@pytest.mark.parametrize(
    "text",
    ["." * 200_000, " " * 200_000 + "x", "\n " * 100_000 + "x", '."' * 100_000, "A." * 100_000, "1) " * 70_000, "`" * 200_000],
)
def test_a_text_that_is_all_marks_or_blanks_is_one_sentence(text: str) -> None:
    assert len(sentences(text)) == 1
