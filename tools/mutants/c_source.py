"""The mutants of a C file, from its text: the code is formatted, so a binary operator has a space on both sides."""

from __future__ import annotations

import re

from tools.mutants.mutant import Mutant

_OPERATORS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "%": ("*",),
    "&": ("|",),
    "|": ("&",),
    "^": ("|",),
    "<<": (">>",),
    ">>": ("<<",),
    "+=": ("-=",),
    "-=": ("+=",),
}
_SITES = re.compile(
    rb"(?<= )(?P<operator>[<>=!]=|&&|\|\||<<|>>|[+-]=|[<>+\-*/%&|^])(?= )"
    rb"|(?<![\w.])(?P<number>\d+)(?![\w.])"
    rb"|(?P<step>\+\+|--)"
    rb"|(?P<truth>\btrue\b|\bfalse\b)"
    rb"|(?P<negation>(?<=[( ])!(?=[\w(]))"
    rb"|(?P<jump>\bbreak;|\bcontinue;)"
)
_NOT_CODE = re.compile(
    rb"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE
)


def c_mutants(package: str, path: str, text: bytes) -> list[Mutant]:
    """All mutants of a file; comments, texts and preprocessor lines stay."""
    code = _NOT_CODE.sub(lambda found: re.sub(rb"[^\n]", b" ", found[0]), text)
    found = []
    for site in _SITES.finditer(code):
        line = code.count(b"\n", 0, site.start()) + 1
        old = site[0].decode()
        for kind, new in _changes(site.lastgroup or "", old):
            shown = f"{text.splitlines()[line - 1].decode().strip()}: {old} -> {new or 'nothing'}"
            whole = (1, text.count(b"\n") + 1)
            found.append(Mutant(package, path, line, site.start(), site.end(), new.encode(), kind, shown, whole))
    return found


def _changes(group: str, old: str) -> list[tuple[str, str]]:
    match group:
        case "operator":
            compares = old[0] in "<>=!" and old not in ("<<", ">>")
            kind = "comparison" if compares else "boolean" if old in ("&&", "||") else "arithmetic"
            return [(kind, new) for new in _OPERATORS[old]]
        case "number":
            return [("constant", str(int(old) + 1))]
        case "step":
            return [("arithmetic", "--" if old == "++" else "++")]
        case "truth":
            return [("constant", "false" if old == "true" else "true")]
        case "negation":
            return [("boolean", "")]
        case _:
            return [("statement", "continue;" if old == "break;" else "break;")]
