"""Finds the sentences of a text that state nothing, without a model, and the lead-in of each list item.

When in doubt, a sentence is a claim: a heading needs a mark and no verb, and a phrase must be the whole sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from rankproof._data.sentences import Span, item_indent, sentence_spans
from rankproof._data.text import unspaced_pattern, with_blank_citations, without_citations, without_markup
from rankproof._data.wording.languages import LANGUAGES, LATIN
from rankproof._data.wording.western import Language

Remark = Literal["thinking", "lead-in", "heading", "greeting", "offer of help", "question", "abstention", "markup"]
"""Why a sentence has nothing to check."""
_CACHED_TEXTS = 4096


class TextUnit(NamedTuple):
    """A sentence with its place, why it states nothing, if it does not, and the line that introduces it, if it is a list item."""

    start: int
    end: int
    remark: Remark | None = None
    lead_in: str = ""


class _Line(NamedTuple):
    """A sentence without markup, with what stands before it on its line, and its indentation if it is a list item."""

    start: int
    end: int
    plain: str
    before: str
    indent: int | None

    @property
    def introduces(self) -> bool:
        """Whether the sentence ends in a colon."""
        return self.plain.endswith(":")

    @property
    def is_marked(self) -> bool:
        """Whether the sentence has the mark of a heading, or ends in a colon."""
        return self.before.lstrip("> \t").startswith("#") or self.introduces


@lru_cache(maxsize=_CACHED_TEXTS)
def text_units(text: str) -> tuple[TextUnit, ...]:
    """The sentences of a text that have a letter or digit; a block of thinking is one unit, or part of the sentence around it."""
    thoughts = thinking_spans(text)
    shown = text
    for start, end in thoughts:
        shown = f"{shown[:start]}{' ' * (end - start)}{shown[end:]}"
    lines = [line for line in _lines(shown) if any(map(str.isalnum, without_citations(shown[line.start : line.end])))]
    inside = {span for span in thoughts for line in lines if line.start < span[0] < line.end}
    units = [*_classified(shown, lines), *(TextUnit(*span, "thinking") for span in thoughts if span not in inside)]
    return tuple(sorted(units))


def _lines(text: str) -> Iterator[_Line]:
    for start, end in sentence_spans(with_blank_citations(text)):
        before = text[text.rfind("\n", 0, start) + 1 : start]
        yield _Line(start, end, _plain(text[start:end]), before, item_indent(text, start))


_BEFORE_TEXT = re.compile(r"[^\w¿¡(\"“«|]+")
_AFTER_TEXT = '.:!?…。！？।؟：;)"”»%|'
_VOWEL_SIGN = re.compile("[\u0900-\u0903\u093a-\u094f]")
_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "：": ":", "？": "?"})


def _plain(text: str) -> str:
    """The text on one line, without markup, emphasis and emoji around it."""
    line = " ".join(without_markup(text).replace("*", "").replace("`", "").split())
    end = len(line)
    while end and not (line[end - 1].isalnum() or line[end - 1] in _AFTER_TEXT or _VOWEL_SIGN.match(line, end - 1)):
        end -= 1
    edge = _BEFORE_TEXT.match(line, 0, end)
    plain = line[edge.end() if edge else 0 : end]
    return plain if plain.isascii() else plain.translate(_APOSTROPHES)


# Blocks of thinking

_TAGS = "think|thinking|thought|reasoning|scratchpad|reflection"
_MARK = re.compile(
    r"(?P<code>```.*?(?:```|\Z)|`[^`\n]+`)"
    rf"|(?P<opening><(?P<tag>{_TAGS})>|\[THINK\]|◁think▷|(?:<\|start\|>assistant)?<\|channel\|>analysis<\|message\|>)"
    r"|(?<![\w`'\"(])</think(?:ing)?>(?=\s*(?:\n|\Z|(?-i:[A-Z])))",
    re.DOTALL | re.IGNORECASE,
)
_ENDS = {
    "[": re.compile(r"\[/THINK\]", re.IGNORECASE),
    "◁": re.compile("◁/think▷"),
    "<": re.compile(r"<\|end\|>|(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>"),
}


@lru_cache(maxsize=_CACHED_TEXTS)
def thinking_spans(text: str) -> tuple[Span, ...]:
    """The places outside code of blocks such as <think>…</think>; one that starts a line and is not closed ends with the text.

    A closing tag before any opening one, which some servers leave out, closes a block that starts with the text.
    """
    spans: list[Span] = []
    at, opened = 0, False
    while mark := _MARK.search(text, at):
        start, at = mark.span()
        if mark["opening"]:
            opened = True
            tag = mark["tag"]
            closing = re.compile(f"</{tag}>", re.IGNORECASE) if tag else _ENDS[mark[0][0]]
            before = text[max(text.rfind("\n", 0, start) + 1, spans[-1][1] if spans else 0) : start]
            if (end := closing.search(text, at)) or not before.strip():
                at = end.end() if end else len(text)
                spans.append((start, at))
        elif not mark["code"] and not opened and not spans and text[:start].strip():
            spans.append((0, at))
    return tuple(spans)


def without_thinking(text: str) -> str:
    """The text without its blocks of thinking."""
    spans = [(0, 0), *thinking_spans(text), (len(text), len(text))]
    return " ".join(text[start:end] for (_, start), (end, _) in pairwise(spans) if start < end)


# Kinds of sentences


def _classified(text: str, lines: Sequence[_Line]) -> Iterator[TextUnit]:
    """The sentences with their kinds, and the lead-ins of list items."""
    open_lines: list[tuple[int, str]] = []
    label = ""
    for line, following in pairwise([*lines, None]):
        assert line is not None
        remark = _remark(text, line, following)
        starts_list = (
            following is not None and following.indent is not None and (line.indent is None or following.indent > line.indent)
        )
        if remark is None and line.introduces and starts_list:
            remark = "lead-in"
        lead_in, label = label, ""
        if line.indent is not None:
            while open_lines and open_lines[-1][0] >= line.indent:
                open_lines.pop()
            lead_in = " ".join(words for _, words in open_lines)
        elif not line.before:
            open_lines = []
        if remark in ("lead-in", "heading") and not _is_phrase_about_itself(line.plain):
            words = line.plain if line.introduces else f"{line.plain}:"
            if starts_list:
                open_lines.append((-1 if line.indent is None else line.indent, words))
            elif remark == "heading" and line.introduces:
                label = words
        yield TextUnit(line.start, line.end, remark, "" if remark else lead_in)


def _remark(text: str, line: _Line, following: _Line | None) -> Remark | None:
    plain = line.plain
    if not any(map(str.isalnum, plain)):
        return "markup"
    if _TABLE_HEADER.search(text[line.start : line.end]):
        return "heading"
    return _phrase_kind(plain) or ("heading" if is_heading(plain, line.is_marked, following is None) else None)


_TABLE_HEADER = re.compile(r"\|[^\n]*\n\s*\|?\s*:?-{2,}[^\n]*\|[-:|\s]*\Z")
_FINAL_MARKS = ".!…。！।~"
_LONGEST_GREETING = 80
_LONGEST_PHRASE = 250
_QUESTION = re.compile(r"[?？؟]\Z|か。?\Z")


@lru_cache(maxsize=_CACHED_TEXTS)
def _phrase_kind(plain: str) -> Remark | None:
    """The kind of a sentence by its wording alone."""
    if len(plain) > _LONGEST_PHRASE:
        return None
    core = _core(plain)
    patterns = _phrases(_languages(core))
    if _QUESTION.search(plain):
        asked = core.lstrip("¿ ").rstrip("?")
        if patterns["offers"].fullmatch(asked):
            return "offer of help"
        return "question" if not patterns["tells"].match(asked) and (core[:1] == "¿" or patterns["asks"].match(asked)) else None
    if len(core) <= _LONGEST_GREETING and patterns["greetings"].fullmatch(core.lstrip("¡")):
        return "greeting"
    if patterns["offers"].fullmatch(core):
        return "offer of help"
    opening = patterns["openings"].match(core)
    if patterns["lead_ins"].fullmatch(core) or (opening and patterns["lead_ins"].fullmatch(core, opening.end())):
        return "lead-in"
    return "abstention" if _declines(core, strict=True) else None


def _core(plain: str) -> str:
    """The text in lower case, without its final marks."""
    # The lower case of a Turkish capital with a dot has a mark of its own.
    return plain.lower().replace("i\u0307", "i").rstrip(_FINAL_MARKS + " ")


def _is_phrase_about_itself(plain: str) -> bool:
    """Whether a lead-in names nothing but the text itself, as "Here is a summary:" does."""
    return _ABOUT_ITSELF.fullmatch(_core(plain)) is not None


def _languages(text: str) -> tuple[Language, ...]:
    """The languages that the text may be in, by its script."""
    return LATIN if text.isascii() or max(text) < _FIRST_OTHER_SCRIPT or not _OTHER_SCRIPT.search(text) else LANGUAGES


def _alternatives(parts: Sequence[str]) -> str:
    return f"(?:{'|'.join(parts)})"


def _is_spaced(language: Language) -> bool:
    return re.search("[\u0900-\u097f\uac00-\ud7af]", language.but) is None and unspaced_pattern().search(language.but) is None


def _bounded(language: Language, pattern: str) -> str:
    return rf"\b(?:{pattern})\b" if _is_spaced(language) else f"(?:{pattern})"


def _filled(language: Language, pattern: str, *, strict: bool = False) -> str:
    """The pattern with its placeholders replaced; the rest of a strict one has no comma."""
    rest = rf"(?:(?!{_bounded(language, language.but)}|, (?:which|who|whose|where)\b|[;:；{',，、' if strict else ''}]).)*"
    return pattern.replace("SOURCE", f"(?:{language.source})").replace("REST", rest)


@cache
def _phrases(languages: tuple[Language, ...]) -> dict[str, re.Pattern[str]]:
    """One pattern for each kind, over the languages; compiled on first use, as that takes milliseconds."""

    def every(name: str) -> str:
        return _alternatives([f"(?:{_filled(language, getattr(language, name), strict=True)})" for language in languages])

    greeting = f"(?:{every('greetings')}|{every('sorry')})"
    sources = {
        "greetings": f"{greeting}(?:[,!.] *{greeting})?",
        "offers": rf"{every('offers')}(?:(?!, (?:which|who|where|because|since|as) )[^;:])*",
        "lead_ins": f"{every('lead_ins')} ?:?",
        "asks": _alternatives([_bounded(language, language.asks) for language in languages]),
        "tells": every("tells"),
        "openings": rf"(?:{every('greetings')}|{_REPLY}|{every('based')}) *[,，、!:.]\s*",
    }
    return {name: re.compile(pattern) for name, pattern in sources.items()}


_FIRST_OTHER_SCRIPT = "\u0400"
_OTHER_SCRIPT = re.compile("[\u0400-\u04ff\u0600-\u06ff\u0900-\u097f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ABOUT_ITSELF = re.compile(
    r"[^:]*\b(?:summary|overview|answer|response|explanation|breakdown|key points|takeaways|zusammenfassung|antwort|überblick"
    r"|samenvatting|résumé|réponse|resumen|respuesta|riassunto|risposta|resumo|resposta|podsumowanie|odpowiedź|резюме|ответ)\b[^:]*:?"
    "|[^:]*(?:摘要|总结|概述|要約|まとめ|요약)[^:]*:?"
)
_REPLY = (
    "(?:yes|no|yep|nope|true|false|correct|incorrect|ja|nein|doch|nee|oui|non|si|sí|sì|sim|não|tak|nie|да|нет"
    "|是的?|不是|否|对|はい|いいえ|네|예|아니요)"
)
_BARE_REPLY = re.compile(_REPLY)


# Abstentions

_LONGEST_DECLINE = 400
_BESIDE = re.compile(r"(?:please|could you|can you|would you|if you|as an ai|thank you)\b[^;:]*")


@cache
def _decline_pattern(language: Language, *, strict: bool) -> re.Pattern[str]:
    before = f"(?:{language.sorry})?(?:{_filled(language, language.based)}[ ,，、]*)?(?:{language.sorry})?"
    whole = before + _alternatives([_filled(language, decline, strict=strict) for decline in language.declines])
    return re.compile(whole)


def _declines(core: str, *, strict: bool) -> bool:
    """Whether a sentence in lower case declines to answer; a strict one does nothing else."""
    languages, sentence = _languages(core), f"{core} "
    if _negation(languages).search(sentence) is None:
        return False
    negating = (candidate for candidate in languages if any(word in sentence for word in candidate.negations))
    return any(_decline_pattern(language, strict=strict).fullmatch(core) for language in negating)


@cache
def _negation(languages: tuple[Language, ...]) -> re.Pattern[str]:
    return re.compile(_alternatives([re.escape(word) for language in languages for word in language.negations]))


@lru_cache(maxsize=_CACHED_TEXTS)
def declines_to_answer(text: str) -> bool:
    """Whether the text only declines to answer, in one of fifteen languages: "I don't know", "the passages do not say".

    Beside that it may have sentences that state nothing. A text with any other sentence, or with a "but", is an answer.
    """
    plain = without_thinking(text)
    if len(plain) > _LONGEST_DECLINE or not plain.strip():
        return False
    declines = False
    for unit in text_units(plain):
        core = _core(_plain(plain[unit.start : unit.end]))
        if unit.remark == "abstention" or _declines(core, strict=False):
            declines = True
        elif unit.remark is None and _BESIDE.fullmatch(core) is None:
            return False
    return declines


# Headings

_NUMBER = re.compile(r"^(?:\d{1,2}|[IVX]{1,4}|[A-Z])[.)]\s+")
_LAST_NUMBER = re.compile(r"\s\d{1,2}\Z")
_STATES = re.compile(r"[\d,:()—–=]|(?<!TL);|[.!?。！？]\Z")
_LONGEST_HEADING = 7
_LONGEST_NAME = 2
_VERB = re.compile(
    "is|are|was|were|be|been|being|has|have|had|does|do|did|can|could|will|would|may|might|must|shall|should|became"
    "|become|becomes|gets|got|make|makes|made|win|wins|won|lose|loses|lost|die|dies|died|rise|rises|rose|fall|falls|fell"
    "|grow|grows|grew|lead|leads|led|begin|begins|began|end|ends|say|says|said|show|shows|cause|kill|kills|save|saves"
    "|beat|beats|hit|hits|cut|cuts|need|needs|cost|costs|run|runs|ran|go|goes|went|come|comes|came|take|takes|took|give"
    "|gives|gave|help|helps|work|works|opens|reach|reaches|ist|sind|(?-i:war)|waren|hat|haben|wird|wurde|wurden|kann|est|sont"
    "|était|étaient|ont|fut|es|son|fue|era|está|están|tiene|sono|fu|è|é|são|foi|tem|zijn|werd|heeft|jest|są|był|była"
    "|było|ma|есть|был|была|было|были|является|стал|стала",
    re.IGNORECASE,
)


@cache
def _heading_words() -> tuple[re.Pattern[str], frozenset[str]]:
    """A word of a heading, and the words between them."""
    links = frozenset(word for language in LANGUAGES for word in language.links.split("|"))
    return re.compile(_alternatives([language.headings for language in LANGUAGES]), re.IGNORECASE), links


@lru_cache(maxsize=_CACHED_TEXTS)
def is_heading(plain: str, marked: bool, last: bool) -> bool:
    """Whether a line is a heading that states nothing: known words, or before other text a marked phrase without a verb."""
    numbered = _NUMBER.sub("", plain).rstrip(": ")
    title = _LAST_NUMBER.sub("", numbered) if marked else numbered
    words = title.split()
    if not words or len(words) > _LONGEST_HEADING or _STATES.search(title):
        return False
    known, links = _heading_words()
    kinds = ["link" if word.casefold() in links else "known" if known.fullmatch(word) else "other" for word in words]
    if "other" not in kinds:
        return "known" in kinds and (marked or not last)
    return marked and not last and title == numbered and _names_a_thing(words, kinds)


def _names_a_thing(words: Sequence[str], kinds: Sequence[str]) -> bool:
    """Whether the words can be no sentence: none looks like a verb, and at most two that are not known follow each other."""
    run = 0
    for at, (word, kind) in enumerate(zip(words, kinds, strict=True)):
        if _VERB.fullmatch(word):
            return False
        follows = at > 0 and kinds[at - 1] != "link"
        if kind == "other" and follows and (word[0].islower() or word.endswith(("s", "ed"))):
            return False
        run = run + 1 if kind == "other" else 0
        if run > _LONGEST_NAME:
            return False
    return True


def without_opening(text: str) -> str:
    """A claim without "Yes," "Based on the passages," or a label such as "Answer:" before it; nothing of a bare "Yes."."""
    plain = _plain(text)
    lower = plain.lower()
    if _BARE_REPLY.fullmatch(_core(plain)):
        return ""
    label, colon, rest = plain.partition(": ")
    if colon and rest and is_heading(label, True, True):
        return rest
    opening = _phrases(_languages(lower))["openings"].match(lower)
    rest = plain[opening.end() :] if opening and len(lower) == len(plain) else ""
    return rest if any(map(str.isalnum, rest)) else text
