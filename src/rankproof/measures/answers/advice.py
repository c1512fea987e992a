"""When a measure of answers is the one to use, and when not."""

from __future__ import annotations

from ..advice import Advice

ANSWERS: dict[str, Advice] = {
    "EM": Advice(
        "answering",
        "answers are short and have one form: names, numbers, dates.",
        "answers are sentences: one word more and it is 0.",
    ),
    "F1": Advice(
        "answering",
        "answers are short phrases that may be put in several ways; with tokens='bag' values compare with SQuAD's.",
        "answers are long: words around a right answer lower it, and a wrong one in the same words scores high.",
    ),
    "Contains": Advice(
        "answering",
        "a model talks around a short reference: it asks only whether the reference is there.",
        "an answer may list everything: it does not punish length.",
    ),
    "ROUGE-L": Advice(
        "answering",
        "answers and references are sentences of much the same length, and the order of words matters.",
        "meaning is what counts: a paraphrase scores low and a negation high.",
    ),
    "Similarity": Advice(
        "answering",
        "paraphrases should count; name the model beside the value.",
        "facts matter: vectors of 1990 and 1991, or of yes and no, lie close. Its scale differs from model to model.",
    ),
    "CiteP": Advice(
        "answering",
        "readers check sources: every citation should hold.",
        "answers cite nothing: the value is then 0 for lack of citations and not for wrong ones.",
    ),
    "CiteR": Advice(
        "answering",
        "an answer should name everything that supports it.",
        "one good source is enough.",
    ),
}
