"""The server of ``ir_serve`` and the commands of ``ir_prepare``, run before any query."""

from __future__ import annotations


class Server:
    """A command that listens at a port of its own, and ends with this process."""

    port: int

    def close(self) -> None:
        """End the server and what it started."""
        raise NotImplementedError
