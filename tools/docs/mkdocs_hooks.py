"""The hooks that mkdocs loads by file name, outside their package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.docs.hooks import on_page_markdown, on_post_build, on_pre_build

__all__ = ["on_page_markdown", "on_post_build", "on_pre_build"]
