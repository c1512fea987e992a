"""The door for mkdocs, which loads a hook by its file and so outside its package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from docs_build.hooks import on_page_markdown, on_pre_build

__all__ = ["on_page_markdown", "on_pre_build"]
