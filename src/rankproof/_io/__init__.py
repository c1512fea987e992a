"""Files on disk: streams, atomic writes, journals, JSON, TOML and paths."""
