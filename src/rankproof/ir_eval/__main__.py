"""`python -m rankproof.ir_eval`: see `_command`."""

from __future__ import annotations

import sys

from rankproof.ir_eval._command import main

sys.exit(main())
