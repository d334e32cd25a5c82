"""Run pytest with the project's Python, with the arguments in ``IR_ARGS`` after the others.

No module may come from the working folder, where a ``json.py`` would replace Python's own, nor from
this folder: Python puts the folder of a script first on ``sys.path``, and an empty entry in
``PYTHONPATH`` is the working folder. The script ``pytest`` has the same precaution.
"""

import sys

sys.path = [path for path in sys.path[1:] if path]

# These imports come after the lines above, so they cannot find anything else.
import os  # noqa: E402
import shlex  # noqa: E402

import pytest  # noqa: E402

try:
    sys.argv = ["pytest", *sys.argv[1:], *shlex.split(os.environ["IR_ARGS"])]
except ValueError:
    sys.exit("::error::The input 'args' cannot be split into words. Close every quote.")
sys.exit(pytest.main())
