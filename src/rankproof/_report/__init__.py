"""One page that anybody can open: a climb as a self-contained HTML file."""
