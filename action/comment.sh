#!/usr/bin/env bash
# One comment a pull request and name, written anew at each push.
# IR_MARKDOWN: the file with its text. IR_NAME: which comment. IR_NUMBER: which pull request, or IR_HEAD: that of which
# OWNER:BRANCH. GH_TOKEN: for gh.
set -euo pipefail

number=${IR_NUMBER:-}
if [ -z "$number" ] && [ -n "${IR_HEAD:-}" ]; then
  number=$(gh api --method GET "repos/$GITHUB_REPOSITORY/pulls" -f state=open -f "head=$IR_HEAD" --jq '.[0].number // ""')
  if [ -z "$number" ]; then echo "no open pull request from $IR_HEAD"; exit 0; fi
fi
case "$number" in '' | *[!0-9]*) echo "not the number of a pull request: $number" >&2; exit 1 ;; esac

# The name stands in an HTML comment, where two dashes would end it, and in a filter.
name=$(printf '%s' "$IR_NAME" | tr -c 'A-Za-z0-9 ._' '_')
marker="<!-- pytest-irquality: $name -->"
body=$(mktemp)
{
  printf '%s\n' "$marker"
  head -c 65000 "$IR_MARKDOWN" # longer ones are refused; what a stranger's job wrote may be of any length
} >"$body"

comments="repos/$GITHUB_REPOSITORY/issues/$number/comments"
# Only a bot's comment is written over: anyone may write the marker.
mine=".[] | select(.user.type == \"Bot\" and (.body | startswith(\"$marker\"))) | .id"
known=$(gh api --method GET --paginate "$comments" -F per_page=100 --jq "$mine" | head -n 1)

if [ -n "$known" ]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$known" -F "body=@$body" --silent
else
  gh api --method POST "$comments" -F "body=@$body" --silent
fi
