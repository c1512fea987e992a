"""`python -m rankproof.ir_eval` ranks by seed 001's systems and prints their measures; like every command it is the cli's."""

import sys

from ..cli.ir_eval import main

sys.exit(main())
