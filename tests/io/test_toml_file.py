"""TOML files that would take a parser minutes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rankproof._io.toml_file import read_toml, toml_values
from rankproof.errors import InputError

DEEP = ".".join(["a"] * 50_000)
HOSTILE = {
    "a dotted key": f"x = 1\n{DEEP} = 1\n",
    "a dotted key of strings": "x = 1\n" + ".".join(['"a"', "'b'"] * 12_000) + " = 1\n",
    "a dotted key with spaces": "x = 1\n" + " . ".join(["a"] * 25_000) + " = 1\n",
    "a table": f"x = 1\n[{DEEP}]\n",
    "an array of tables": f"x = 1\n[[{DEEP}]]\n",
    "an inline table": f"x = 1\ny = {{{DEEP} = 1}}\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_a_key_of_thousands_of_parts_ends_at_once(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text)
    before = time.process_time()
    with pytest.raises(InputError, match=r"x\.toml:2: nested too deeply; write tables inside one table"):
        read_toml(tmp_path / "x.toml")
    assert time.process_time() - before < 1


@pytest.mark.parametrize("depth", [300, 320, 340, 480, 990, 50_000])
@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ("{a=", "}")])
def test_deep_values_are_read_or_refused(depth: int, opened: str, closed: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f"x = {opened * depth}{'1' if opened != '[' else ''}{closed * depth}\n")
    try:
        found = "read" if read_toml(tmp_path / "x.toml").values else ""
    except InputError as error:
        found = error.what
    assert found == "nested too deeply" or (found == "read" and depth < 1_000)


def test_a_text_or_comment_with_many_dots_is_no_key() -> None:
    dotted = ".".join(["a"] * 100)
    lines = [f'a = "{dotted}"', f"b = '{dotted}'", f'c = """\n{dotted}\n"""', f"d = '''\n{dotted}\n'''", f"# {dotted}"]
    found = toml_values("\n".join([*lines, ".".join(["e"] * 32) + " = 1"]), "x")
    assert list(found) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("text", ['x = """' + '\\"""' * 100_000, '"' * 300_000, "'" * 300_000, "a" * 300_000, "." * 300_000])
def test_text_that_is_no_toml_is_refused_at_once(text: str) -> None:
    before = time.process_time()
    with pytest.raises(InputError):
        toml_values(text, "x")
    assert time.process_time() - before < 1
