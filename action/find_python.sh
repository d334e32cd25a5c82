#!/usr/bin/env bash
# Find the Python to run: the input's, or the project's, or a new one with the plugin installed. IR_PYTHON is the input.
# The result goes to GITHUB_OUTPUT.
set -euo pipefail

if [ -z "$IR_PYTHON" ]; then
  IR_PYTHON=python
  # The empty entry of sys.path is the working folder, which must not provide the plugin.
  if ! python -c 'import sys; sys.path = [path for path in sys.path if path]; import pytest_irquality' >/dev/null 2>&1; then
    own="$RUNNER_TEMP/irquality-python"
    python3 -I -m venv "$own"
    IR_PYTHON=$(ls "$own/bin/python" "$own/Scripts/python.exe" 2>/dev/null || true)
    "$IR_PYTHON" -I -m pip install -q "$GITHUB_ACTION_PATH"
  fi
fi
echo "python=$IR_PYTHON" >>"$GITHUB_OUTPUT"
