"""The results folder: a climb as plain files, written whole or not at all, and read back."""
