"""Charts as SVG, drawn without a script; a file each."""
