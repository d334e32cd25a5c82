#!/usr/bin/env bash
# Which Python judges: that of the input, else the project's, else one of the action's own that has the plugin.
# IR_PYTHON: the input. The answer goes to GITHUB_OUTPUT.
set -euo pipefail

if [ -z "$IR_PYTHON" ]; then
  IR_PYTHON=python
  # Not from the working folder, which is the empty path.
  if ! python -c 'import sys; sys.path = [path for path in sys.path if path]; import pytest_irquality' >/dev/null 2>&1; then
    own="$RUNNER_TEMP/irquality-python"
    python3 -I -m venv "$own"
    IR_PYTHON=$(ls "$own/bin/python" "$own/Scripts/python.exe" 2>/dev/null || true)
    "$IR_PYTHON" -I -m pip install -q "$GITHUB_ACTION_PATH"
  fi
fi
echo "python=$IR_PYTHON" >>"$GITHUB_OUTPUT"
