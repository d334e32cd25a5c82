"""Bounds of what is read from a file that a stranger may have written. Messages name them.

They limit a line, a depth, a number and a growth rather than whole files, so that size costs what
it must: the largest job that the benchmarks know (100,000 queries of 1,000 results) stays ten times
below each.
"""

from __future__ import annotations

MB = 2**20

# -- files -----------------------------------------------------------------------------------------

SUITE = 64 * MB
"""Bytes of a suite file, which is read as a whole."""
LINE = 16 * MB
"""Bytes of one line of queries, judgments or a run."""
GROWTH = 200
"""How many times a gzip may grow, once past ``GROWTH_FROM`` bytes. Text packs 5 to 30 times, a bomb
1,000.
"""
GROWTH_FROM = 64 * MB
FILES = 1_000
"""Files that one glob may match."""
ENTRIES = 1_000_000
"""Entries of folders that one glob may look at, and that a folder of runs may hold."""
PATH = 4096
"""Characters of a path."""

# -- what is written in them -----------------------------------------------------------------------

DEPTH = 40
"""Levels of nesting, of YAML and of JSON."""
DIGITS = 400
"""Characters of a number."""
NAME = 1_000
"""Characters of a name: a measure, a retriever, a path, a version."""
CUTOFF = 1_000_000
"""The deepest cutoff and depth, and the longest stored ranking."""
ANSWERS = 1_000
"""Answers to one query."""
NUMBER = 1e30
"""The largest grade or weight; 32-bit floats end at 3.4e38, and sums of these stay finite."""

# -- git -------------------------------------------------------------------------------------------

PATIENCE = 30.0
"""Seconds that git may take for an answer."""

# -- what a killed process left --------------------------------------------------------------------

LEFTOVER = 3600.0
"""Seconds after which a temporary file is nobody's, where no lock tells."""
