"""Every check, the severe ones first."""

from __future__ import annotations

from .check import SEVERITIES
from .checks_of_data import OF_DATA
from .checks_of_systems import OF_SYSTEMS

CHECKS = tuple(sorted((*OF_DATA, *OF_SYSTEMS), key=lambda check: SEVERITIES.index(check.severity)))
