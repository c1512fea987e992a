"""Many results folders in one place on loopback: looked at, compared, and judged by people."""
