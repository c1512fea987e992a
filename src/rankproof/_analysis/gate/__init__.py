"""Quality gate: systems compared with a saved baseline and with thresholds."""
