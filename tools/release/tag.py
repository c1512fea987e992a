"""Exit code 0 if the tag is the version of the package, else 1: `python -m tools.release.tag TAG`."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def version() -> str:
    """The version, read and not imported, so that nothing need be installed."""
    text = (ROOT / "src" / "rankproof" / "_version.py").read_text(encoding="utf-8")
    return str(re.findall(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)[0])


def main(tag: str) -> int:
    """Compares the tag with the version."""
    wanted = f"v{version()}"
    if tag == wanted:
        return 0
    print(f"the tag is {tag} and the version in src/rankproof/_version.py wants {wanted}; change one of them")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
