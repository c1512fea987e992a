"""An experiment as a TOML file: read with its lines, written with every setting."""
