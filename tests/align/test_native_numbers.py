"""Scores as the native reader parses them: the bits of float(), and nothing that the grammar does not have."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankproof._formats.rows import _DECIMAL, parse_score
from rankproof.errors import InputError
from support.examples import examples

_native = pytest.importorskip("rankproof._native.align", exc_type=ImportError)

HARD = [
    "0",
    "-0",
    "+0",
    "0.0",
    "-0.0",
    "00",
    "000.000",
    "0e0",
    "0e999999999999",
    "-0e-999999999999",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9007199254740995",
    "9007199254740993.0",
    "9007199254740993.00001",
    "9007199254740992.5",
    "900719925474099.25",
    "900719925474099.35",
    "4503599627370496.5",
    "4503599627370497.5",
    "4503599627370497.25",
    "18446744073709551615",
    "18446744073709551616",
    "9999999999999999999",
    "10000000000000000000",
    "99999999999999999999",
    "0.1",
    "0.2",
    "0.3",
    "1.1",
    "123456.789012",
    "12345678.12345678",
    "1234567.123456789012",
    "0.30000000000000004",
    "14.234567890123456",
    "0.8234567890123457",
    "0.08234567890123457",
    "0.0082345678901234567",
    "-12.345678901234567",
    "1.234567890123456780e+01",
    "12.50000000000000000000000000",
    "1e22",
    "1e23",
    "-1e22",
    "1e-22",
    "1e-23",
    "9e-27",
    "9.5e-28",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "2.2250738585072011e-308",
    "2.2250738585072014e-308",
    "5e-324",
    "2e-324",
    "4.9406564584124654e-324",
    "1e-400",
    "8.41e21",
    "2.0e-27",
    "7450580596923828125e-27",
    "9223372036854775808e-27",
    "1.00000000000000011102230246251565",
    "1.5e3",
    "15E2",
    "15e+2",
    "15e-02",
    "1.00000000000000011102230246251566",
    "1e00000001",
    ".5",
    "5.",
    "-.5",
    "+5.",
    "99999999.99999999",
    "9999999.9999999999999",
    "9999999999999999.9",
]
LONG = ["1" * 19, "1" * 20, "1" * 400, "0." + "1" * 400, "0." + "0" * 400, "9" * 17 + ".5"]
NOT_NUMBERS = [
    "+",
    "-",
    ".",
    "-.",
    "e",
    "e5",
    "1e",
    "1e+",
    "1e-",
    "1.e",
    "--1",
    "+-1",
    "1.2.3",
    "1..2",
    "0x10",
    "1_0",
    "1,5",
    "1f",
    "1d5",
    "nan",
    "NaN",
    "-nan",
    "inf",
    "Infinity",
    "1/2",
    "1:5",
    "1.:",
    "1./",
    "12a45.678",
    "1.23x5678",
    "1.234567890x",
    "¹",
    "١",
    "1e5.5",
    "1.5e",
    "infinit",
    "0b1",
    "1l",
    "\x80",
    "1ÿ",
    "1.ÿ",
    "12345678901234567890x",
]
ODD_BYTES = ["", "1 ", " 1", "1\x00", "1.5\x00", "1e 5"]


def bits(value: float | None) -> bytes | None:
    return None if value is None else struct.pack("d", value)


def native(token: bytes) -> bytes | None:
    """The bits of the native reader's score, the same for every width of its vectors."""
    found = {bits(_native.parse_score(token, level)) for level in range(4)}
    assert len(found) == 1
    return found.pop()


def plainly(token: bytes) -> float | None:
    """The plain reader's score; None where it refuses it as no decimal."""
    try:
        return parse_score(token)
    except InputError:
        return float(token) if _DECIMAL.fullmatch(token) else None


@pytest.mark.parametrize("token", HARD + LONG)
def test_a_decimal_has_the_bits_of_float(token: str) -> None:
    assert native(token.encode()) == bits(float(token))


@pytest.mark.parametrize("token", NOT_NUMBERS + ODD_BYTES)
def test_anything_but_a_decimal_is_none(token: str) -> None:
    assert native(token.encode()) is None
    assert plainly(token.encode()) is None


@pytest.mark.parametrize("size", range(1, 9))
def test_no_other_character_is_taken_for_a_digit(size: int) -> None:
    """Eight bytes are read at a time, so a wrong character that fills all of them is the hardest to see."""
    read = 0
    for character in map(chr, range(1, 128)):
        for token in (character * size, f"{character * size}.5", f"1.{character * size}", f"1.{character * size}12345678"):
            value = plainly(token.encode())
            assert native(token.encode()) == bits(value), token
            read += value is not None
    assert read >= 40


@examples(2000)
@given(digits=st.integers(0, 10**21), point=st.integers(0, 30), sign=st.sampled_from(["", "-", "+"]))
def test_any_digits_with_a_point_anywhere_have_the_bits_of_float(digits: int, point: int, sign: str) -> None:
    text = str(digits).rjust(point + 1, "0")
    token = sign + (f"{text[: len(text) - point]}.{text[len(text) - point :]}" if point else text)
    assert native(token.encode()) == bits(float(token))


@examples(2000)
@given(digits=st.integers(0, 10**20), exponent=st.integers(-60, 60))
def test_any_exponent_has_the_bits_of_float(digits: int, exponent: int) -> None:
    token = f"{digits}e{exponent}"
    assert native(token.encode()) == bits(float(token))


@examples(2000)
@given(mantissa=st.integers(1 << 52, 1 << 53), power=st.integers(0, 3), side=st.sampled_from([-1, 0, 0, 1]))
def test_a_number_half_way_between_two_floats_rounds_as_float_does(mantissa: int, power: int, side: int) -> None:
    scaled = (2 * mantissa + 1) * 5 ** (power + 1) * 1000 + side
    text = str(scaled)
    cut = power + 4
    for token in (f"{text[:-cut]}.{text[-cut:]}", f"{scaled}e-{cut}", f"{scaled}e-{cut + 8}"):
        assert native(token.encode()) == bits(float(token))


@examples(2000)
@given(value=st.floats(allow_nan=False, allow_infinity=False))
@example(value=math.pi)
def test_every_float_that_python_prints_is_read_back(value: float) -> None:
    for token in (repr(value), f"{value:.6f}", f"{value:.17g}", f"{value:.18e}", f"{value:e}"):
        assert native(token.encode()) == bits(float(token))


@examples(2000)
@given(token=st.text(alphabet="0123456789.eE+-_ xna\x00é", max_size=24).map(str.encode))
def test_any_text_is_accepted_or_rejected_as_by_the_python_reader(token: bytes) -> None:
    assert native(token) == bits(plainly(token))
