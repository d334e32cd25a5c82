"""What the comments need of GitHub's API, over a list of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.servers import Asked, Server, reply, served

PAGE = 2  # comments, so that a few of them are several pages
HEADS = {"stranger:fix": 7}
"""The open pull requests from forks."""


@dataclass
class GitHub:
    """The repository ``o/r``. ``faults`` are the answers to the first requests, in place of true ones."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    faults: list[bytes] = field(default_factory=list)
    server: Server = field(init=False)

    def answer(self, asked: Asked) -> bytes:
        if self.faults:
            return self.faults.pop(0)
        if asked.headers.get("authorization") != "Bearer token":
            return reply({"message": "Bad credentials"}, "401 Unauthorized")
        path = urlsplit(asked.target).path
        if path == "/repos/o/r/pulls":
            number = HEADS.get(asked.params["head"])
            return reply([{"number": number}] if number else [])
        if asked.method == "PATCH":
            (one,) = [
                one for one in self.comments if path.endswith(f"/issues/comments/{one['id']}")
            ]
            one["body"] = asked.json["body"]
            return reply(one)
        assert path == "/repos/o/r/issues/7/comments", path
        if asked.method == "POST":
            one = {"id": 100 + len(self.comments), "user": {"type": "Bot"}, **asked.json}
            self.comments.append(one)
            return reply(one, "201 Created")
        place = int(asked.params.get("page", 1)) * PAGE
        more = f'<{self.server.origin}{path}?page={place // PAGE + 1}>; rel="next"'
        headers = {"Link": more} if place < len(self.comments) else {}
        return reply(self.comments[place - PAGE : place], **headers)


@contextmanager
def github() -> Iterator[GitHub]:
    """GitHub for as long as the block lasts, at ``server.origin``."""
    one = GitHub()
    with served(one.answer) as one.server:
        yield one
