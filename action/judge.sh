#!/usr/bin/env bash
# Run pytest and keep its status for later: the report is wanted most where it is red.
# IR_PYTHON: which Python. IR_ARGS: more arguments, as in a shell. IR_HISTORY: "true" to add to the history.
# IR_URL, IR_COMMAND, IR_SERVE: these settings, all of them in place of the repository's where one is given.
set -uo pipefail

# No module is taken from the working folder, where `json.py` would go before Python's own: -I leaves it out, with all of
# PYTHONPATH, and this only it. The script `pytest` does the same.
safely='import sys; sys.argv[0] = "pytest"; sys.path = [path for path in sys.path if path]'
kept="$RUNNER_TEMP/irquality"
history="$RUNNER_TEMP/irquality-history/history.jsonl"
rm -rf "$kept"
mkdir -p "$kept"

if [ -z "$IR_PYTHON" ]; then
  IR_PYTHON=python
  if ! python -c "$safely; import pytest_irquality" 2>/dev/null; then
    own="$RUNNER_TEMP/irquality-python"
    python3 -I -m venv "$own" || exit 1
    IR_PYTHON=$(ls "$own/bin/python" "$own/Scripts/python.exe" 2>/dev/null)
    "$IR_PYTHON" -I -m pip install -q "$GITHUB_ACTION_PATH" || exit 1
  fi
fi

# Words are split as a shell does it, quotes and all, and nothing in them is run or expanded.
split='import os, shlex; print("".join(word + "\0" for word in shlex.split(os.environ["IR_ARGS"])), end="")'
if ! "$IR_PYTHON" -I -c "$split" >"$kept.args" 2>/dev/null; then
  echo "::error::args cannot be split into words, as a shell would: is a quote left open?"
  exit 1
fi
arguments=()
while IFS= read -r -d '' word; do arguments+=("$word"); done <"$kept.args"

if [ -n "${IR_URL:-}${IR_COMMAND:-}${IR_SERVE:-}" ]; then
  arguments+=(-o "ir_url=${IR_URL:-}" -o "ir_command=${IR_COMMAND:-}" -o "ir_serve=${IR_SERVE:-}")
fi

if [ "${IR_HISTORY:-}" = true ]; then
  mkdir -p "$(dirname "$history")"
  arguments+=(--ir-history="$history")
fi

# ${arguments[@]+...}: the bash of macOS takes an empty array for an unset variable.
"$IR_PYTHON" -c "$safely; import pytest; sys.exit(pytest.console_main())" --ir-suite \
  --ir-report="$kept/report.html" --ir-json="$kept/report.json" --ir-markdown="$kept/report.md" ${arguments[@]+"${arguments[@]}"}
status=$?

echo "exit-status=$status" >>"$GITHUB_OUTPUT"
if [ -f "$kept/report.md" ]; then echo "report=true" >>"$GITHUB_OUTPUT"; fi
if [ "${IR_HISTORY:-}" = true ] && [ -f "$history" ]; then
  cp "$history" "$kept/" # the artifact's copy stays where a cache is emptied
  echo "history=true" >>"$GITHUB_OUTPUT"
fi
exit 0
