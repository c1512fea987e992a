"""Personal data in queries: rules that find it, so that such queries are never written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from ipaddress import ip_address

_EMAIL = re.compile(r"[^\s@<>()]+@[^\s@<>()]+\.[^\s@<>().]{2,}")
_URL = re.compile(r"(?:https?://|www\.)\S*[?&;#]\S|\S+\.\S+\?\S+=\S", re.IGNORECASE)
_IBAN = re.compile(r"(?<![A-Z0-9])([A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30})(?![A-Z0-9])", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
_PHONE = re.compile(
    r"(?<![\w.])(?:\+|00)[1-9](?:[ ()./-]{0,2}\d){6,14}(?!\d)|(?<![\w.])\(?0\d{1,4}\)?(?:[ ./-]{1,3}\d{2,}){2,}(?!\d)"
)
_NATIONAL_PHONE = re.compile(r"(?<![\w.])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?!\d)")
_DIGITS = re.compile(r"\d{9,}")
_WORD = re.compile(r"[^\s,;()\[\]/]+")


def personal_data(text: str) -> str | None:
    """The kind of personal data in a text, None if no rule finds any."""
    plain = unicodedata.normalize("NFKC", text)
    return next((kind for kind, is_in in PERSONAL_DATA.items() if is_in(plain)), None)


def _has_card(text: str) -> bool:
    """Whether 13 to 19 digits, with spaces or hyphens between them, have the check digit of Luhn (1960)."""
    return any(_passes_luhn(re.sub(r"\D", "", number)) for number in _NUMBER.findall(text))


def _passes_luhn(digits: str) -> bool:
    doubled = [int(digit) * (2 if at % 2 else 1) for at, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _has_iban(text: str) -> bool:
    """Whether the check digits of an account number are right (ISO 13616); words after it may look like a part of it."""
    for match in _IBAN.findall(text):
        account = match.replace(" ", "").upper()
        if any(_passes_iban(account[:length]) for length in range(15, len(account) + 1)):
            return True
    return False


def _passes_iban(account: str) -> bool:
    return int("".join(str(int(mark, 36)) for mark in account[4:] + account[:4])) % 97 == 1


def _has_address(text: str) -> bool:
    """Whether a word is an IP address; version numbers with three dots look the same."""
    return any(_is_address(word) for word in _WORD.findall(text) if word.count(".") >= 3 or word.count(":") >= 2)


def _is_address(word: str) -> bool:
    try:
        ip_address(word.strip("."))
    except ValueError:
        return False
    return True


PERSONAL_DATA: Mapping[str, Callable[[str], bool]] = {
    "e-mail address": lambda text: _EMAIL.search(text) is not None,
    "URL with parameters": lambda text: _URL.search(text) is not None,
    "IBAN": _has_iban,
    "card number": _has_card,
    "IP address": _has_address,
    "phone number": lambda text: _PHONE.search(text) is not None or _NATIONAL_PHONE.search(text) is not None,
    "9 or more digits in a row": lambda text: _DIGITS.search(text) is not None,
}
"""The rules by the kind of personal data that they find, in their order."""
