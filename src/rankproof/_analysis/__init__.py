"""What the numbers mean: evidence in, small tables and sentences out.

Nothing here prints or opens a file by name; an Evidence may read its run files when a run is first asked for.
"""
