"""How far a training is: one line that is written over on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from .terminal import Terminal, width_of

_OFTEN, _SELDOM = 0.2, 10.0


class TrainingProgress:
    """Hears of the step, the number of steps, the loss and the examples a second; `name` is the training's."""

    def __init__(self, terminal: Terminal, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._wanted = not terminal.quiet and sys.stderr is not None
        self._tty = self._wanted and sys.stderr.isatty()
        self._name, self._clock, self._due = name, clock, clock()

    def __call__(self, step: int, steps: int, loss: float, rate: float) -> None:
        """Called as the training goes on; the last step is always told."""
        now = self._clock()
        if not self._wanted or (now < self._due and step < steps):
            return
        self._due = now + (_OFTEN if self._tty else _SELDOM)
        line = f"{self._name}: step {step:,} of {steps:,}, loss {loss:.3f}, {rate:,.0f} examples/s"
        over = f"\r\x1b[K{line[: width_of(sys.stderr) - 1]}{chr(10) if step == steps else ''}"
        sys.stderr.write(over if self._tty else f"{line}\n")
        sys.stderr.flush()
