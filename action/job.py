"""A job of the package, with the Python of the project.

No module is taken from the working folder, where ``json.py`` would go before Python's own, nor from
this one: Python puts the folder of a script first, and what ``PYTHONPATH`` leaves empty is the
working folder. The script ``pytest`` does the same.
"""

import sys

sys.path = [path for path in sys.path[1:] if path]

from pytest_irquality.ci.command import main  # noqa: E402 - only now nothing else can be found

sys.exit(main())
