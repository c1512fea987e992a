"""`python -m rankproof.ir_eval` ranks by seed 001's systems and prints their measures; like every command it is the cli's."""

from __future__ import annotations

import sys

from rankproof.ir_eval._command import main

sys.exit(main())
