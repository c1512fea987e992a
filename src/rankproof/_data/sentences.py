"""Splits texts into sentences by rule; headings, list items, table rows and code blocks are units of their own.

A sentence ends at a mark such as . ! ? 。 । ؟, which takes closing quotes and citations such as [1] with it. A full stop does not
end one before lower case, after an abbreviation, or in Thai, where a space after a long clause ends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from rankproof._data.text import unspaced_pattern

Span = tuple[int, int]
"""Start and end of a part of a text, in characters; the end is excluded."""
SENTENCE_RULES = 4
"""The version of the rules; another version may give other sentences."""


def sentence_starts(text: str) -> list[int]:
    """The position of the first non-blank character of each sentence; none in a blank text."""
    starts: list[int] = []
    for first, last, whole in _blocks(text):
        starts.append(first)
        if not whole:
            starts += _starts_inside(text, first, last)
    return _with_words(text, starts)


def sentence_spans(text: str) -> list[Span]:
    """The sentences of a text, without the blanks around them and without the mark of a list item, heading or quotation."""
    spans = []
    for start, end in pairwise([*sentence_starts(text), len(text)]):
        first = _after_marker(text, start, end)
        spans.append((first if _HAS_WORD.search(text, first, end) else start, start + len(text[start:end].rstrip())))
    return spans


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped."""
    return [text[start:end] for start, end in sentence_spans(text)]


_HAS_WORD = re.compile(r"[^\W_]")


def _with_words(text: str, starts: list[int]) -> list[int]:
    """The starts without those of parts that have no word (`---`, `[…]`), which belong to the sentence before."""
    kept: list[int] = []
    for start, end in pairwise([*starts, len(text)]):
        if not kept or _HAS_WORD.search(text, start, end):
            kept.append(start)
    if len(kept) > 1 and not _HAS_WORD.search(text, kept[0], kept[1]):
        del kept[1]
    return kept


# Lines

_NUMBER_MARKER = r"\(?\d{1,3}[.)](?![^\S\n]+(?:ORDINAL)\b)|\(?[A-Za-z]\)|[a-z]\."
_AFTER_ORDINALS = (
    "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhunderts?|Jahrtausends?|Jh|Weltkriegs?"
    "|Auflage|Dünya|Ocak|Şubat|Mart|Nisan|Mayıs|Haziran|Temmuz|Ağustos|Eylül|Ekim|Kasım|Aralık|Yüzyıl"
)
_LIST_MARKER = rf"(?:[-*+•‣◦▪●–—·]|{_NUMBER_MARKER.replace('ORDINAL', _AFTER_ORDINALS)})[^\S\n]++(?=\S)"
_MARKER = re.compile(rf"(?>(?:>[^\S\n]*+)*)(?>(?:{_LIST_MARKER}|#{{1,6}}[^\S\n]++)?)(?=\S)")
_LINE = re.compile(r"[^\S\n]*+(?>(?P<text>\S[^\n]*+)?)(?:\n|\Z)")
_NEW_ITEM = re.compile(rf"(?>(?:>[^\S\n]*+)*){_LIST_MARKER}")
_HEADING = re.compile(r"#{1,6}[^\S\n]|(?:\*\*|__)[^*_\n]+(?:\*\*|__)[:：]?[^\S\n]*\Z|[^\n]*[:：][^\S\n]*\Z")
_TABLE_ROW = re.compile(r"[^|\n]*\|[^|\n]*\||[^\t\n]+\t")
_RECORD = re.compile(r"[^\W_][^:.!?\n]{0,30}:[^\S\n]+\S")
_CODE_START = re.compile(r"```+|~~~+")
_CONTINUES = re.compile(r"[,;(\-–—&/]\s*\Z")
_MIN_ROOM = 15
_DEEPEST_INDENT = 200


def _after_marker(text: str, start: int, end: int) -> int:
    """The position after the mark of a list item, heading or quotation; `start` where there is none."""
    marker = _MARKER.match(text, start, end)
    if marker is None or marker.end() == start:
        return start
    before = text[max(start - _DEEPEST_INDENT, 0) : start].rstrip(" \t")
    return marker.end() if before.endswith("\n") or (start <= _DEEPEST_INDENT and not before) else start


def item_indent(text: str, start: int) -> int | None:
    """The indentation of the list item whose text starts there; None where no item starts."""
    line = text.rfind("\n", 0, start) + 1
    mark = _NEW_ITEM.match(text, first := line + len(text[line:start]) - len(text[line:start].lstrip()))
    return first - line if mark and mark.end() == start else None


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """The parts of a text that no sentence crosses: start, end, and whether it is one unit, as a code block is."""
    if "\n" not in text:
        if (first := len(text) - len(text.lstrip())) < len(text):
            yield first, len(text), False
        return
    lines = [(match.start("text"), match["text"].rstrip()) for match in _LINE.finditer(text) if match["text"]]
    at = 0
    while at < len(lines):
        start, line = lines[at]
        if opening := _CODE_START.match(line):
            after = _after_code(lines, at, opening[0])
            yield start, lines[after - 1][0] + len(lines[after - 1][1]), True
        else:
            after = _after_paragraph(text, lines, at)
            yield from _paragraph_blocks(lines[at:after])
        at = after


def _after_code(lines: list[tuple[int, str]], at: int, opening: str) -> int:
    """The number of the line after a code block; a block that is not closed ends with the text."""
    return next((number + 1 for number in range(at + 1, len(lines)) if lines[number][1].startswith(opening)), len(lines))


def _after_paragraph(text: str, lines: list[tuple[int, str]], at: int) -> int:
    """The number of the line after a paragraph: lines without a blank line or a code block between them."""
    for number in range(at + 1, len(lines)):
        start, line = lines[number]
        before, previous = lines[number - 1]
        if text.count("\n", before + len(previous), start) > 1 or _CODE_START.match(line):
            return number
    return len(lines)


def _paragraph_blocks(lines: list[tuple[int, str]]) -> Iterator[tuple[int, int, bool]]:
    width = max(len(line) for _, line in lines)
    first = lines[0][0]
    for (start, line), (following, next_line) in pairwise(lines):
        if _is_boundary(line, next_line, width):
            yield first, start + len(line), False
            first = following
    yield first, lines[-1][0] + len(lines[-1][1]), False


def _is_boundary(line: str, following: str, width: int) -> bool:
    """Whether a line ends a unit: before an item, around headings, rows and records, or where the next word had room."""
    if _NEW_ITEM.match(following) or _HEADING.match(line) or following.startswith("#"):
        return True
    if any(kind.match(line) and kind.match(following) for kind in (_TABLE_ROW, _RECORD)) or _TABLE_ROW.match(line):
        return True
    if following[0].islower() or _CONTINUES.search(line):
        return False
    word = 1 if unspaced_pattern().match(following) else len(following.split(None, 1)[0])
    return len(line) + 1 + word + _MIN_ROOM <= width


# Sentences

_CLOSING = "\"'”’»›)]}」』）】》〉*_"
_OPENING = "\"'“‘«‹„‚([{¿¡「『（【《〈*_"
_UNSPACED_MARKS = "。！？｡．।॥։።፧។៕။"
_GREEK_QUESTION = ";\u037e"
_MARKS = re.escape(f".!?…؟۔{_UNSPACED_MARKS}{_GREEK_QUESTION}")
_AFTER_MARK = rf"(?>(?:[^\S\n]»(?=\s))?)[{re.escape(_CLOSING)}]*+(?>(?:[^\S\n]?\[\d++(?>(?:\s?[,–-]\s?\d++)*)\]|[¹²³⁰⁴-⁹])*)"
_CJK = "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
# A match starts at a run of marks and consumes the whole run, so the time is linear in the text.
_MARK_END = (
    rf"(?P<mark>[{_MARKS}](?<![{_MARKS}]{{2}})[{_MARKS}]*+)"
    rf"(?:(?<=[{_UNSPACED_MARKS}])(?<![．॥](?=\d)){_AFTER_MARK}\s*+|(?<=[!?])(?={_CJK})|{_AFTER_MARK}\s++)(?=\S)"
)
_THAI_SPACE = r"(?<=[\u0e01-\u0e4d\u0e81-\u0ecd])(?P<thai>[^\S\n]++)(?=[\u0e01-\u0e44\u0e81-\u0ec4])"
_END = re.compile(_MARK_END)
_END_THAI_OR_CODE = re.compile(rf"{_MARK_END}|{_THAI_SPACE}|(?P<code>`[^`\n]++`)")
_THAI_OR_CODE = re.compile("[`\u0e01-\u0eff]")


def _starts_inside(text: str, first: int, last: int) -> list[int]:
    """Where sentences start in a part of a text, without the first."""
    end = _END_THAI_OR_CODE if _THAI_OR_CODE.search(text, first, last) else _END
    start = _after_marker(text, first, last)
    starts: list[int] = []
    for match in end.finditer(text, start, last):
        if _is_sentence_end(text, match, start):
            start = match.end()
            starts.append(start)
    return starts


def _is_sentence_end(text: str, match: re.Match[str], start: int) -> bool:
    """Whether the sentence from `start` ends there: not before lower case, and not after an abbreviation."""
    mark = match["mark"]
    if mark is None:
        return match.lastgroup == "thai" and _ends_thai_clause(text, start, match)
    if mark[-1] in _UNSPACED_MARKS:
        return text[match.end() - 1] not in "」』" or not _QUOTED_ON.match(text, match.end())
    if mark == "." and match.start() - start < _LONGEST_ABBREVIATION and _ITEM_NUMBER.fullmatch(text, start, match.start()):
        return False
    follows = text[match.end() : match.end() + 3].lstrip(_OPENING)[:1]
    if follows.islower() or (mark in _GREEK_QUESTION and not _GREEK_LETTER.match(text, match.start() - 1)):
        return False
    return mark != "." or not _is_abbreviation(text, match.start(), match.end(), follows)


_QUOTED_ON = re.compile("[とっをのがはもにで]")
"""A particle that goes on with the sentence after a quotation in Japanese."""
_ITEM_NUMBER = re.compile(r"(?:\d{1,3}|[IVX]+)(?:\[\d+\])?")
_GREEK_LETTER = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
_MIN_THAI_CLAUSE = 100
_THAI_ENDS = ("ครับ", "ค่ะ", "คะ")
_THAI_CONTINUES = re.compile("และ|หรือ|ที่|ซึ่ง|แต่|โดย|เพราะ|คือ|เช่น|ได้แก่|รวมถึง|ของ|ກັບ|ແລະ|ຫຼື|ທີ່|ແຕ່")


def _ends_thai_clause(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a space ends a clause in Thai or Lao: after a final particle, or after 100 characters before no conjunction."""
    if text.endswith(_THAI_ENDS, start, match.start()):
        return True
    long = match.start() - start >= _MIN_THAI_CLAUSE
    return long and text[match.start() - 1] not in "ๆฯໆ" and not _THAI_CONTINUES.match(text, match.end())


_LETTER = r"(?:[^\W\d_]|[\u0900-\u0903\u093a-\u094f])"
_LAST_WORD = re.compile(rf"(?<!{_LETTER})(?<!\d)(?:{_LETTER}\.[^\S\n]?)*{_LETTER}+\Z")
_THAI_LETTER = re.compile("[\u0e01-\u0eff]\\Z")
_WORD_AFTER = re.compile(r"\W*+([^\W\d_]++)(?!\.)")
_ORDINAL = re.compile(r"(?<![\w.,])(?:\d{1,2}|[IVX]+)\Z")
_GERMAN_ORDINAL = re.compile(r"\b(?:d(?:er|ie|as|em|en|es)|zu[mr]|[ia]m|[vb](?:o|ei)m) \d{1,2}\Z")
_ORDINAL_NOUN = re.compile(rf"(?:{_AFTER_ORDINALS})\b")
_LONGEST_ABBREVIATION = 12


def _is_abbreviation(text: str, dot: int, after: int, follows: str) -> bool:
    """Whether the full stop at `dot` belongs to an abbreviation, initials (U.S., J.) or an ordinal (3. Oktober)."""
    low = max(dot - _LONGEST_ABBREVIATION, 0)
    last = text[text.rfind(" ", low, dot) + 1 : dot]
    if len(last) > 1 and last.isascii() and last.isalpha() and not last.isupper() and last.lower() not in _ABBREVIATIONS:
        return False  # Nearly all sentences end in a word like this one.
    if _ORDINAL.search(text, low, dot) and (_ORDINAL_NOUN.match(text, after) or _GERMAN_ORDINAL.search(text, low, dot)):
        return True
    last_word = _LAST_WORD.search(text, low, dot)
    if last_word is None:
        return bool(_THAI_LETTER.search(text, low, dot))
    word = "".join(last_word[0].split())
    lower = word.lower()
    if lower in _NEVER_LAST or lower.rpartition(".")[2] in _NEVER_LAST or _THAI_LETTER.search(word):
        return True
    if follows.isdigit():
        return lower in _BEFORE_NUMBERS or (_is_initials(word) and (len(word) > 1 or word.islower()))
    return (lower in _SELDOM_LAST or _is_initials(word)) and not _starts_a_sentence(text, after)


def _is_initials(word: str) -> bool:
    """Whether a word is one letter or initials (U.S, J, А.С, the z of z. B.), but not a word such as I."""
    if len(word) == 1:
        return word not in _WORDS_OF_ONE_LETTER
    return not word.islower() and all(len(letter) == 1 for letter in word.split("."))


def _starts_a_sentence(text: str, after: int) -> bool:
    """Whether the next word is one that often starts a sentence."""
    word = _WORD_AFTER.match(text, after)
    return text[after] in "¿¡" or (word is not None and word[1].lower() in _STARTERS)


_NEVER_LAST = {
    *("mr", "mrs", "ms", "dr", "prof", "st", "rev", "hon", "gen", "col", "maj", "capt", "cmdr", "lt", "sgt", "gov", "sen", "rep"),
    *("pres", "messrs", "mme", "mlle", "mt", "ft", "vs", "viz", "cf", "al", "e.g", "i.e", "approx", "ca"),
    *("sig", "sigg", "dott", "egr", "mevr", "dhr", "drs", "mej", "inż", "mgr"),
    *("hr", "fr", "z.b", "d.h", "u.a", "vgl", "bzw", "ggf", "evtl", "inkl", "sog", "geb", "gest", "bspw", "abs", "h.c"),
    *("p.ej", "sr", "sra", "srta", "dra", "ud", "uds", "lic", "ing", "avda", "aprox", "ee"),
    *("dl", "dna", "sf", "jud", "bul", "str", "κ", "κα", "κος", "δρ", "αγ", "καθ", "βλ", "δηλ", "π.χ", "χαρ"),
    *("им", "ул", "проф", "акад", "св", "тов", "напр", "см", "ср", "пос", "обл", "т.е", "т.к", "доц", "гр"),
    *("doç", "sn", "av", "bkz", "örn", "cad", "sok", "mah", "ts", "ths", "gs", "pgs", "tp", "tx", "bs", "ks"),
    *("डॉ", "प्रो", "श्री", "सुश्री", "कु", "मि", "ए", "बी", "सी", "डी", "ई", "एफ", "एच", "आई", "जे", "के", "एल", "एम", "एन", "ओ", "पी"),
    *("आर", "एस", "टी", "यू", "वी", "أ", "د", "م", "أ.د", "ص"),
}
"""Abbreviations that a name or another word follows: no sentence ends there."""
_BEFORE_NUMBERS = {
    *("no", "nos", "nr", "vol", "vols", "fig", "figs", "eq", "eqs", "sec", "ch", "p", "pp", "bd", "art", "tab", "kap", "abb"),
    *("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "b.c", "a.d", "a.c", "d.c"),
    *("pág", "págs", "núm", "cap", "str", "lit", "ex", "σελ", "αρ", "рис", "стр", "гл", "стб", "κεφ", "fl"),
}
"""Abbreviations that end no sentence where a number follows."""
_SELDOM_LAST = {
    *("inc", "co", "corp", "ltd", "llc", "bros", "jr", "ph.d", "m.sc", "b.sc", "plc", "uu", "гг", "вв", "тыс", "млн", "млрд"),
}
"""Abbreviations that end a sentence only before a word that often starts one."""
_ABBREVIATIONS = _NEVER_LAST | _BEFORE_NUMBERS | _SELDOM_LAST
_WORDS_OF_ONE_LETTER = {"I", "a", "e", "o", "y", "u", "à", "я", "Я", "э"}
_STARTERS = {
    *("the", "a", "an", "it", "he", "she", "they", "we", "you", "i", "this", "that", "these", "those", "there", "in", "on", "at"),
    *(
        "as",
        "but",
        "and",
        "however",
        "if",
        "when",
        "while",
        "after",
        "before",
        "for",
        "with",
        "his",
        "her",
        "its",
        "their",
        "our",
    ),
    *("who", "what", "why", "how", "also", "although", "because", "since", "some", "many", "most", "then", "to", "from", "by"),
    *("der", "die", "das", "er", "sie", "es", "ein", "eine", "im", "am", "auf", "dies", "diese", "dieser", "doch", "aber", "und"),
    *("el", "la", "los", "las", "un", "una", "en", "este", "esta", "se", "su", "pero", "le", "les", "il", "elle", "ce", "cette"),
    *("acesta", "aceasta", "ea", "ei", "dar", "o", "ο", "η", "το", "οι", "τα", "αυτό", "αυτός", "στη", "στο", "και", "αλλά"),
    *("он", "она", "оно", "они", "это", "этот", "эта", "но", "и", "в", "на", "по", "мы", "bu", "ve", "ama", "bir"),
    *("ông", "bà", "đây", "và", "nhưng", "nó", "họ", "một"),
}
