"""Numbers, counts and ids as text, words of scripts without spaces, and texts without markup."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from rankproof.errors import for_message

MASK = "***"
"""What stands for a key or password."""


class MinorNote(str):
    """A note that cannot change a decision: a terminal counts it, and shows it with --notes."""

    __slots__ = ()


def pluralise(count: int, noun: str, plural: str = "") -> str:
    """The number and its noun, as in `1 query` and `2 queries`; the words may include a verb (`1 query has`)."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


_WORD = re.compile(r"\w+")


def plain_words(text: str) -> str:
    """The words of a text, or its signs if it has none; case and punctuation make no other text."""
    return " ".join(_WORD.findall(text.casefold())) or text.strip()


_BRACKETED_END = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\W*$")
_NUMBERED_END = re.compile(r"\s*[(\[][^()\[\]]*\d[^()\[\]]*[)\]]\W*$")
_NUMBER = re.compile(r"\W*\d+\s*[.):]\s+")
_DIGITS = re.compile(r"\d+")


def unnumbered_words(text: str) -> str:
    """The words of a text without the number before it and a bracket with a number after it, as in `3. Why? (variant 2)`."""
    return plain_words(_NUMBERED_END.sub("", _NUMBER.sub("", text, count=1)) or text)


def words_without_digits(text: str) -> tuple[str, ...]:
    """The words of a text without digits and without a bracket after it."""
    return tuple(_WORD.findall(_DIGITS.sub("", _BRACKETED_END.sub("", text)).casefold()))


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st and so on."""
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def in_a_sentence(parts: Sequence[str]) -> str:
    """The parts with commas and a last "and", as in `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def other_unicode_forms(ids: Collection[str]) -> frozenset[str]:
    """The composed and decomposed forms of the ids that are not ids themselves."""
    if "".join(ids).isascii():
        return frozenset()
    forms = {unicodedata.normalize(form, id_) for id_ in ids if not id_.isascii() for form in ("NFC", "NFD")}
    return frozenset(forms.difference(ids))


def query_range(counts: Iterable[int]) -> str:
    """The smallest and the largest of some numbers of queries, as in `200 queries` and `48 to 200 queries`; "" for none."""
    ordered = sorted(counts)
    if not ordered:
        return ""
    low, high = ordered[0], ordered[-1]
    return pluralise(high, "query", "queries") if low == high else f"{low:,} to {high:,} queries"


def shown_time(value: float) -> str:
    """A time with about three digits: 1.23, 45.6, 789."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


_MIN_SHOWN = 0.0001
_MIN_PERCENT = 0.001
MIN_SHOWN_P = 1e-4
"""A p below this is shown as `p < 0.0001`."""


def format_p(p: float) -> str:
    """A p-value, as in `p = 0.0312`."""
    return f"p = {p:.4f}" if p >= MIN_SHOWN_P else f"p < {MIN_SHOWN_P:.4f}"


def format_value(value: float) -> str:
    """A value in a sentence: three decimals."""
    return f"{value:.3f}"


def format_difference(difference: float) -> str:
    """The size of a difference: four decimals, and never 0 where values differ."""
    return f"{difference:.4f}" if difference >= _MIN_SHOWN else f"less than {_MIN_SHOWN}"


def clip_text(text: str, length: int = 60) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def encodable(text: str) -> str:
    """The text with ? for each lone surrogate, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def example_ids(ids: Iterable[str], most: int = 3) -> str:
    """The first different ids, for a message that says what kind of ids they are."""
    shown: dict[str, None] = {}
    for id_ in ids:
        shown[id_] = None
        if len(shown) == most:
            break
    return ", ".join(map(for_message, shown))


def first_ids(ids: Sequence[str], most: int = 5, *, count: int | None = None) -> str:
    """The first ids, for a message; `count` is their number if `ids` has only some of them."""
    return ", ".join(map(for_message, ids[:most])) + (", …" if (len(ids) if count is None else count) > most else "")


_UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af]"
)


@cache
def unspaced_pattern() -> re.Pattern[str]:
    """A character of a script without spaces; compiled on first use, as that takes milliseconds."""
    return re.compile(_UNSPACED)


def separate_unspaced(text: str) -> str:
    """The text with spaces around each such character, so that each is a word (mixed segmentation, as in MLQA)."""
    return text if text.isascii() else unspaced_pattern().sub(r" \g<0> ", text)


@cache
def combining_marks() -> str:
    """The combining marks, for a class of characters in a pattern: Python's \\w has none, but Hindi words consist of them."""
    codes = (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0))
    return "".join(chr(code) for code in codes if unicodedata.category(chr(code))[0] == "M")


@cache
def _punctuation() -> re.Pattern[str]:
    marks = combining_marks()
    return re.compile(rf"[^\w\s{marks}]|(?<![\w{marks}])[{marks}]")


_ASCII_PUNCTUATION = re.compile(r"[^\w\s\x1c-\x1f]", re.ASCII)
"""The control characters are white space in other text, and in `str.split`."""


def without_punctuation(text: str) -> str:
    """The text with letters, digits, underscores and spaces only; combining marks stay with their letters."""
    return (_ASCII_PUNCTUATION if text.isascii() else _punctuation()).sub("", text)


_SUPERSCRIPTS = "¹²³⁰⁴-⁹"
_CITATION = re.compile(
    r"\[\s*\d{1,3}(?:\s*[,;]\s*\d{1,3}|\s*[-–]\s*\d{1,3})*\s*\]|\[\^[^\s\[\]]{1,20}\]|[\[【][^\[\]【】\n]{0,20}†[^\[\]【】\n]{0,80}[\]】]"
    r"|【\d[\d:,，、\s]*】|\[(?:citation|cite|source|doc|document|passage|context|ref)s?[ :_-]?\d{1,3}(?:[ ,;]+\d{1,3})*\]"
    rf"|(?<=[^\W\d_.,;:!?)\]])[{_SUPERSCRIPTS}]+|(?<=[.,;:!?)\]])[{_SUPERSCRIPTS}]+",
    re.IGNORECASE,
)
"""A mark of a citation: [1], [2, 3], [^1], [source 1], 【1†source】, or a superscript number after a word."""
_OTHER_MARKS = re.compile(f"[【{_SUPERSCRIPTS}]")
_TAGS = (
    "a|abbr|answer|article|aside|b|blockquote|body|br|center|cite|code|col|dd|del|details|div|dl|dt|em|figure|final|font|footer"
    "|h[1-6]|head|header|hr|html|i|img|ins|kbd|label|li|link|main|mark|meta|nav|ol|p|pre|q|ref|response|s|samp|section|small|span"
    "|strong|summary|sup|table|tbody|td|tfoot|th|thead|title|tr|tt|u|ul|var"
)
_ATTRIBUTES = r"(?:\s+[\w:-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>]+))?)*\s*/?"
_HIDDEN = re.compile(
    r"<!--(?:(?!<!--).)*?-->|<(script|style)\b[^<>]*>(?:(?!<\1\b).)*?</\1>|<sup\b[^<>]*>\W*\d+\W*</sup>"
    r"|<\|(?:start|channel)\|>\s?\w+(?=<\|)|<\|(?:start|channel|message|end|return|call)\|>",
    re.DOTALL | re.IGNORECASE,
)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\](?:\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)|\[[^\[\]\n]{0,40}\])")
_LINK_ADDRESS = re.compile(r"^[^\S\n]*\[[^\[\]\n]+\]:\s+\S+[^\n]*$|[(<]https?://[^\s<>()]+[)>]", re.MULTILINE)
_TAG = re.compile(rf"</?(?:{_TAGS}){_ATTRIBUTES}>", re.IGNORECASE)
_SUBSCRIPT = re.compile(r"</?sub\b[^<>]*>", re.IGNORECASE)


def without_citations(text: str) -> str:
    """The text with a space for each mark of a citation."""
    return _CITATION.sub(" ", text) if _may_cite(text) else text


def with_blank_citations(text: str) -> str:
    """The text with blanks for its marks of citations, so that every other character keeps its place."""
    return _CITATION.sub(lambda mark: " " * len(mark[0]), text) if _may_cite(text) else text


def _may_cite(text: str) -> bool:
    return "[" in text or (not text.isascii() and _OTHER_MARKS.search(text) is not None)


def has_markup(text: str) -> bool:
    """Whether `without_markup` may change the text."""
    return "<" in text or "&" in text or "(http" in text or _may_cite(text)


def without_markup(text: str) -> str:
    """The text without HTML tags, comments and entities, marks of channels, addresses of links, and marks of citations.

    Emphasis and code ticks stay: they are no part of a word.
    """
    if not has_markup(text):
        return text
    from html import unescape

    plain = _SUBSCRIPT.sub("", _HIDDEN.sub(" ", text))
    plain = without_citations(_LINK_ADDRESS.sub(" ", plain))
    return unescape(_TAG.sub(" ", _LINK.sub(r"\1", plain)))


def percent(share: float | None) -> str:
    """A share: one decimal below 10%, and never 0% for what is only unlikely."""
    if share is None:
        return "unknown"
    if share < _MIN_PERCENT:
        return "below 0.1%"
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def limit_text(limit: float | None) -> str:
    """The limit of a risk with two digits."""
    return "unknown" if limit is None else f"{100 * limit:.2g}%"
