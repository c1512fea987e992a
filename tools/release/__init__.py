"""Checks of a release: contents of the packages, size, installation, version tag."""
