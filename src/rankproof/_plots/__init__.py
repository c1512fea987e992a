"""Plots: what the analysis knows as pictures for print, drawn by matplotlib without a display."""
