#!/usr/bin/env bash
# Run pytest with every report in one folder. The inputs arrive as IR_ARGS, IR_COMMAND, IR_HISTORY, IR_PYTHON, IR_SERVE
# and IR_URL. The outputs go to GITHUB_OUTPUT, and the exit status is pytest's.
set -euo pipefail
folder="$RUNNER_TEMP/irquality"
rm -rf "$folder" # the report of an earlier run must not be taken for this one's
mkdir -p "$folder"

set -- --ir-suite --ir-report="$folder/report.html" --ir-json="$folder/report.json" --ir-markdown="$folder/report.md"
if [ -n "$IR_URL$IR_COMMAND$IR_SERVE" ]; then
  set -- "$@" -o "ir_url=$IR_URL" -o "ir_command=$IR_COMMAND" -o "ir_serve=$IR_SERVE"
fi
if [ -n "$IR_HISTORY" ]; then set -- "$@" --ir-history="$IR_HISTORY"; fi

status=0
"$IR_PYTHON" "$GITHUB_ACTION_PATH/action/run_pytest.py" "$@" || status=$?
echo "exit-status=$status" >>"$GITHUB_OUTPUT"
if [ -f "$folder/report.md" ]; then echo "report=true" >>"$GITHUB_OUTPUT"; fi
if [ -f "$IR_HISTORY" ]; then
  cp "$IR_HISTORY" "$folder/history.jsonl"
  echo "history=true" >>"$GITHUB_OUTPUT"
fi
exit "$status"
