"""Pytest with the Python of the project, and the arguments of ``IR_ARGS`` behind the others.

No module is taken from the working folder, where ``json.py`` would go before Python's own, nor from
this one: Python puts the folder of a script first, and what ``PYTHONPATH`` leaves empty is the
working folder. The script ``pytest`` does the same.
"""

import sys

sys.path = [path for path in sys.path[1:] if path]

# Only now nothing else can be found.
import os  # noqa: E402
import shlex  # noqa: E402

import pytest  # noqa: E402

try:
    sys.argv = ["pytest", *sys.argv[1:], *shlex.split(os.environ["IR_ARGS"])]
except ValueError:
    sys.exit("::error::args cannot be split into words, as a shell would: is a quote left open?")
sys.exit(pytest.main())
