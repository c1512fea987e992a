"""Fuzzes the native code, and measures which lines of it are reached."""
