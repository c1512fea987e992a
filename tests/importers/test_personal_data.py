"""Personal data in queries: what rules find, and usual queries that they leave alone."""

from __future__ import annotations

import pytest

from rankproof._importers.search_log.personal_data import PERSONAL_DATA, personal_data

# Numbers are the examples of ISO 13616, RFC 5737, RFC 3849, and test cards.
_FOUND = {
    "mail jane.doe+shop@example.co.uk": "e-mail address",
    "jane@exämple.de": "e-mail address",
    "https://shop.example/orders?id=17": "URL with parameters",
    "shop.example/reset?token=abc": "URL with parameters",
    "GB82 WEST 1234 5698 7654 32": "IBAN",
    "de89370400440532013000 refund": "IBAN",
    "4111 1111 1111 1111": "card number",
    "5500-0000-0000-0004 declined": "card number",
    "router 192.0.2.14": "IP address",
    "2001:db8::1": "IP address",
    "+49 (0)30 123456": "phone number",
    "0041 44 668 18 00": "phone number",
    "030 / 123 45 67": "phone number",
    "(555) 123-4567": "phone number",
    "order 123456789": "9 or more digits in a row",
    "４１１１ １１１１ １１１１ １１１１": "card number",
}
_PLAIN = [
    "red shoes size 44",
    "iphone 15 pro max 256gb",
    "2024-11-03 opening hours",
    "python 3.11.4 release notes",
    "c++ std::vector",
    "aspect ratio 16:9 1920x1080",
    "isbn 978-3",
    "wd-40 400 ml",
    "din en 1992-1-1",
    "70 000 km service",
    "user@home",
    "what is 1.5.2 / 3",
    "how do I ask a question?",
    "www.example.com",
    "12345678",
]


@pytest.mark.parametrize(("text", "kind"), _FOUND.items())
def test_personal_data_is_found(text: str, kind: str) -> None:
    assert personal_data(text) == kind


@pytest.mark.parametrize("text", _PLAIN)
def test_a_usual_query_has_no_personal_data(text: str) -> None:
    assert personal_data(text) is None


def test_every_rule_has_an_example() -> None:
    assert set(_FOUND.values()) == set(PERSONAL_DATA)


def test_a_card_number_needs_its_check_digit() -> None:
    assert PERSONAL_DATA["card number"]("4111 1111 1111 1111")
    assert not PERSONAL_DATA["card number"]("4111 1111 1111 1112")


def test_an_account_number_needs_its_check_digits() -> None:
    assert not PERSONAL_DATA["IBAN"]("GB83 WEST 1234 5698 7654 32")
