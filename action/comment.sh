#!/usr/bin/env bash
# One comment a pull request and name, written anew at each push.
# IR_MARKDOWN: the file with its text. IR_NAME: which comment. IR_NUMBER: which pull request. GH_TOKEN: for gh.
set -euo pipefail

case "$IR_NUMBER" in '' | *[!0-9]*) echo "not the number of a pull request: $IR_NUMBER" >&2; exit 1 ;; esac

# The name stands in an HTML comment, where two dashes would end it, and in a filter.
name=$(printf '%s' "$IR_NAME" | tr -c 'A-Za-z0-9 ._' '_')
marker="<!-- pytest-irquality: $name -->"
body=$(mktemp)
{
  printf '%s\n' "$marker"
  cat "$IR_MARKDOWN"
} >"$body"

comments="repos/$GITHUB_REPOSITORY/issues/$IR_NUMBER/comments"
# Only a bot's comment is written over: anyone may write the marker.
mine=".[] | select(.user.type == \"Bot\" and (.body | startswith(\"$marker\"))) | .id"
known=$(gh api --paginate "$comments?per_page=100" --jq "$mine" | head -n 1)

if [ -n "$known" ]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$known" -F "body=@$body" --silent
else
  gh api --method POST "$comments" -F "body=@$body" --silent
fi
