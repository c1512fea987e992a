"""`python -m tools.sizes`: how large the code and the documentation are, and which modules are the largest."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "rankproof"
PRONOUNS = frozenset({"one", "found", "each", "given", "those"})
LARGEST_SHOWN = 10


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each use of a name as variable or argument, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def pronoun_places(folder: Path) -> list[str]:
    """Where an identifier is a pronoun, as path:line."""
    return [
        f"{path.relative_to(ROOT).as_posix()}:{line}: {name}"
        for path in sorted(folder.rglob("*.py"))
        for name, line in bound_names(ast.parse(path.read_text(encoding="utf-8")))
        if name in PRONOUNS
    ]


def comment_lines(path: Path) -> int:
    """The lines with a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return len({token.start[0] for token in tokens if token.type == tokenize.COMMENT})


def import_lines(path: Path) -> int:
    """The lines of import statements."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return sum((node.end_lineno or 0) - node.lineno + 1 for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))


def report() -> Iterator[str]:
    """The figures, one a line."""
    paths = sorted(SOURCE.rglob("*.py"))
    sizes = Counter({path.relative_to(SOURCE).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in paths})
    lines = sizes.total()
    pages = list((ROOT / "docs").rglob("*.md"))
    texts = [token for path in pages for token in path.read_text(encoding="utf-8").split()]
    words = sum(any(map(str.isalnum, token)) for token in texts)
    yield f"lines of Python in src: {lines:,}"
    yield f"modules: {len(paths):,}"
    yield f"import lines: {sum(map(import_lines, paths)) / lines:.1%}"
    yield f"comment lines: {sum(map(comment_lines, paths)) / lines:.2%}"
    yield f"pronouns as identifiers in src: {len(pronoun_places(SOURCE)):,}"
    yield f"pages of docs: {len(pages):,}, words: {words:,} ({len(texts):,} with marks such as the bars of tables)"
    yield "largest modules: " + ", ".join(f"{name} {size}" for name, size in sizes.most_common(LARGEST_SHOWN))


def main() -> None:
    """Prints the figures, with --names also the places of pronouns."""
    print("\n".join(report()))
    if "--names" in sys.argv[1:]:
        print("\n".join(pronoun_places(SOURCE)))


if __name__ == "__main__":
    main()
