"""The mutants of a Python file, from its syntax tree.

Not changed: annotations, decorators, assertions, texts, f-strings (Python 3.11 has no positions in them), code for type checkers,
and `strict=` of zip, since those have no result that a test could see.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from itertools import accumulate

from tools.mutants.mutant import Mutant

_BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
_Change = tuple[str, ast.AST]
_Owner = tuple[tuple[int, int], bool]


def python_mutants(package: str, path: str, text: bytes) -> list[Mutant]:
    """All mutants of a file."""
    starts = list(accumulate((len(line) for line in text.splitlines(keepends=True)), initial=0))
    found = []
    for node, (span, in_function) in _nodes(ast.parse(text), ((1, len(starts)), False)):
        for kind, new in _changes(node):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
            code = f"({ast.unparse(new)})" if isinstance(new, ast.expr) else ast.unparse(new)
            change = f"{_shown(node)} -> {_shown(new)}"
            found.append(Mutant(package, path, node.lineno, start, end, code.encode(), kind, change, span, in_function))
    return found


def _shown(node: ast.AST) -> str:
    """The first line of the code of a node."""
    return ast.unparse(node).splitlines()[0]


def _nodes(node: ast.AST, owner: _Owner) -> Iterator[tuple[ast.expr | ast.stmt, _Owner]]:
    """The nodes that may be changed, each with the outermost function, else the class or module around it."""
    inside = _owner(node, owner)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_left_out(child):
                is_default = isinstance(child, ast.arguments) and not owner[1]
                place = (inside[0], False) if is_default and isinstance(node, ast.FunctionDef) else inside
                if isinstance(child, ast.expr | ast.stmt):
                    yield child, place
                yield from _nodes(child, place)


def _owner(node: ast.AST, owner: _Owner) -> _Owner:
    """The first and last line of the owner of what is in a node, and whether it is a function."""
    if owner[1] or not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return owner
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return (first, node.end_lineno or first), isinstance(node, ast.FunctionDef)


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.FunctionDef) and any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list):
        return True
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return True
    return isinstance(node, ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom)


def _changes(node: ast.AST) -> Iterator[_Change]:
    yield from _changed_expressions(node)
    yield from _changed_statements(node)


def _changed_expressions(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.Compare():
            yield from _compared(node)
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC and not _is_union(node):
            yield "arithmetic", _with(node, op=_ARITHMETIC[type(op)]())
        case ast.BoolOp(op=op):
            yield "boolean", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub() as op, operand=operand):
            yield "boolean" if isinstance(op, ast.Not) else "arithmetic", operand
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant", ast.Constant(value + 1)
        case ast.IfExp(test=test):
            yield "condition", _with(node, test=ast.UnaryOp(ast.Not(), test))


def _changed_statements(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.AugAssign(op=op) if type(op) in _ARITHMETIC:
            yield "arithmetic", _with(node, op=_ARITHMETIC[type(op)]())
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return", ast.Return(ast.Constant(None))
        case ast.Continue():
            yield "statement", ast.Break()
        case ast.Break():
            yield "statement", ast.Continue()
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield "statement", ast.Pass()


def _compared(node: ast.Compare) -> Iterator[_Change]:
    for at, op in enumerate(node.ops):
        for table in (_BOUNDARY, _OPPOSITE):
            if type(op) in table:
                yield "comparison", _with(node, ops=[*node.ops[:at], table[type(op)](), *node.ops[at + 1 :]])


def _is_union(node: ast.BinOp) -> bool:
    """Whether it is a type such as `float | None`."""
    return isinstance(node.op, ast.BitOr) and ast.unparse(node.right) == "None"


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
