"""Kills each command with SIGKILL at random moments, restarts it, and checks what it leaves."""
