#!/usr/bin/env bash
# Run pytest and keep its status for later: the report is wanted most where it is red.
# IR_PYTHON: which Python. IR_ARGS: more arguments, as in a shell. IR_HISTORY: "true" to add to the history.
set -uo pipefail

kept="$RUNNER_TEMP/irquality"
history="$RUNNER_TEMP/irquality-history/history.jsonl"
rm -rf "$kept"
mkdir -p "$kept"

# Words are split as a shell does it, quotes and all, and nothing in them is run or expanded.
arguments=()
while IFS= read -r -d '' word; do arguments+=("$word"); done < <(
  "$IR_PYTHON" -c 'import os, shlex; print("".join(word + "\0" for word in shlex.split(os.environ["IR_ARGS"])), end="")'
)

if [ "${IR_HISTORY:-}" = true ]; then
  mkdir -p "$(dirname "$history")"
  arguments+=(--ir-history="$history")
fi

# ${arguments[@]+...}: the bash of macOS takes an empty array for an unset variable.
"$IR_PYTHON" -m pytest --ir-suite --ir-report="$kept/report.html" --ir-json="$kept/report.json" \
  --ir-markdown="$kept/report.md" ${arguments[@]+"${arguments[@]}"}
status=$?

echo "exit-status=$status" >>"$GITHUB_OUTPUT"
if [ -f "$kept/report.md" ]; then echo "report=true" >>"$GITHUB_OUTPUT"; fi
if [ "${IR_HISTORY:-}" = true ] && [ -f "$history" ]; then
  cp "$history" "$kept/" # the artifact's copy stays where a cache is emptied
  echo "history=true" >>"$GITHUB_OUTPUT"
fi
exit 0
