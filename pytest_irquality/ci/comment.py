"""One comment a pull request and name, written anew at each push, through GitHub's API.

This file imports nothing but Python's own: the job that may write comments runs it by its path, on
a machine that has no package of ours, and nothing of the pull request.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

LONGEST = 65_000  # characters; GitHub refuses more than 65,536
CUT = "\n\n*This is cut here: the report of the job has all of it.*\n"
PAUSES = (1, 5, 15)  # seconds before it is tried again
NEXT = re.compile(r'<([^<>]+)>; rel="next"')
TIMEOUT = 30  # seconds


class CommentError(Exception):
    """A comment that was not written: one line."""


class WaveringError(CommentError):
    """A fault of the service or the network, which may be gone in a moment."""


@dataclass(frozen=True)
class Comments:
    """The comments of a repository (``owner/name``), at the address of an ``api``."""

    api: str
    repository: str
    token: str

    def number_of(self, head: str) -> int | None:
        """Give the open pull request from a branch, ``owner:branch``; None where there is none."""
        question = urllib.parse.urlencode({"state": "open", "head": head})
        for found in self._all(f"/pulls?{question}"):
            return int(found["number"])
        return None

    def write(self, number: int, name: str, text: str) -> None:
        """Write a comment, over the one of that name where a bot wrote it. Raises ``OSError``."""
        # The name stands in an HTML comment, where two dashes would end it.
        marker = f"<!-- pytest-irquality: {re.sub('[^A-Za-z0-9 ._]', '_', name)} -->"
        body = {"body": shortened(f"{marker}\n{text}")}
        for comment in self._all(f"/issues/{number}/comments?per_page=100"):
            # Anyone may write the marker, and an account that is gone is nobody.
            by = (comment["user"] or {}).get("type")
            if by == "Bot" and (comment["body"] or "").startswith(marker):
                self._ask("PATCH", self._address(f"/issues/comments/{comment['id']}"), body)
                return
        self._ask("POST", self._address(f"/issues/{number}/comments"), body)

    def _address(self, path: str) -> str:
        return f"{self.api}/repos/{self.repository}{path}"

    def _all(self, path: str) -> Iterator[Any]:
        address = self._address(path)
        while address:
            found, address = self._ask("GET", address)
            yield from found

    def _ask(self, method: str, address: str, body: object = None) -> tuple[Any, str]:
        """Give what was answered, and the address of the next page; "" where it is the last."""
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(address, data, method=method)
        asked.add_header("Accept", "application/vnd.github+json")
        # It goes to no other host that an answer may lead to.
        asked.add_unredirected_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(asked, timeout=TIMEOUT) as answer:
            more = NEXT.search(answer.headers.get("Link", ""))
            onward = more[1] if more and more[1].startswith(f"{self.api}/") else ""
            return json.load(answer), onward


def shortened(text: str) -> str:
    """A text that GitHub takes: a longer one is cut behind a line, and says so."""
    if len(text) <= LONGEST:
        return text
    kept = text[: LONGEST - len(CUT)]
    return (kept.rpartition("\n")[0] or kept) + CUT


def commented(options: argparse.Namespace) -> str:
    """Write the comment that options ask for, and say what was done. Raises ``CommentError``."""
    with open(options.markdown, encoding="utf-8", errors="replace", newline="") as file:
        text = file.read(4 * LONGEST)  # what a stranger's job wrote may be of any length
    comments = Comments(
        os.environ.get("GITHUB_API_URL", "https://api.github.com"),
        os.environ.get("GITHUB_REPOSITORY", ""),
        os.environ.get("GH_TOKEN", ""),
    )
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", comments.repository) or not comments.token:
        raise CommentError("GITHUB_REPOSITORY (owner/name) and GH_TOKEN say where, and as whom")
    for pause in PAUSES:
        with suppress(WaveringError):
            return _once(comments, options, text)
        time.sleep(pause)
    return _once(comments, options, text)


def _once(comments: Comments, options: argparse.Namespace, text: str) -> str:
    try:
        number = comments.number_of(options.head) if options.head else options.number
        if number is None:
            return f"no open pull request from {options.head}"
        comments.write(number, options.name, text)
    except urllib.error.HTTPError as error:
        wrong = f"the comment was not written: {error.code} {error.reason}"
        if error.code in (401, 403, 404):
            wrong += ': does the job have the permission "pull-requests: write"?'
        passing = error.code >= 500 or error.code == 429
        raise (WaveringError(wrong) if passing else CommentError(wrong)) from None
    except (OSError, ValueError) as error:
        raise WaveringError(f"the comment was not written: {error}") from None
    return f"comment written on pull request {number}"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a comment."""
    parser.add_argument("--markdown", required=True, help="the file that --ir-markdown wrote")
    parser.add_argument("--name", default="search quality", help="which comment")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--number", type=int, help="the number of the pull request")
    which.add_argument("--head", help="the branch of the pull request: OWNER:BRANCH")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a comment; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    try:
        print(commented(parser.parse_args(arguments)))
    except (CommentError, OSError) as error:
        return refused(str(error))
    return 0


def refused(why: str) -> int:
    """Say what is wrong, as GitHub marks it where the job is one of its; the exit status."""
    in_github = os.environ.get("GITHUB_ACTIONS") == "true"
    print(f"::error::{why}" if in_github else f"error: {why}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
