"""Retrievers that the ini file declares: ``ir_url``, ``ir_command`` and what they need."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.io.secrets import Secrets
from pytest_irquality.retrieval.errors import RetrieverError
from pytest_irquality.retrieval.http import UrlRetriever
from pytest_irquality.retrieval.program import CommandRetriever
from pytest_irquality.retrieval.service import PORT, Server, Service, run_commands

_NAMED_LINE = re.compile(r"([A-Za-z_]\w*):\s+(.*)")


class DeclaredRetriever(NamedTuple):
    """A line of ``ir_url`` or ``ir_command``: the name of its fixture, and the rest."""

    name: str
    key: str
    line: str

    @property
    def has_port(self) -> bool:
        """Return whether the URL has the ``{port}`` of ``ir_serve``."""
        host = self.line.partition("://")[2].partition("/")[0]
        return self.key == "ir_url" and host.endswith(f":{PORT}")


@dataclass(frozen=True)
class RetrieverConfig:
    """What the ini file says of retrievers.

    Attributes:
        folder: The folder of the ini file, in which commands run.
    """

    urls: Sequence[str] = ()
    commands: Sequence[str] = ()
    headers: Sequence[str] = ()
    serve: str = ""
    prepare: Sequence[str] = ()
    folder: Path = Path()

    @cached_property
    def secrets(self) -> Secrets:
        """Return the values of the environment that the headers contain."""
        return Secrets.from_environment(self.headers)

    def list_retrievers(self) -> Mapping[str, DeclaredRetriever]:
        """Return the declared retrievers by the name of their fixture.

        Raises:
            RetrieverError: Two retrievers have one name, or a ``{port}`` has no server.
        """
        retrievers: dict[str, DeclaredRetriever] = {}
        for key, lines in (("ir_url", self.urls), ("ir_command", self.commands)):
            for line in lines:
                named = _NAMED_LINE.fullmatch(line)
                name, rest = named.groups() if named else ("retriever", line)
                if name in retrievers:
                    raise RetrieverError(f"Ini key {key}: two retrievers have the name '{name}'")
                retrievers[name] = DeclaredRetriever(name, key, rest)
        needs_port = any(retriever.has_port for retriever in retrievers.values())
        if needs_port and PORT not in self.serve:
            raise RetrieverError(f"Ini key ir_url: {PORT} needs an 'ir_serve' that has it, too")
        if self.serve and not needs_port:
            raise RetrieverError(f"Ini key ir_serve: no 'ir_url' has its {PORT}")
        return retrievers

    def refuse_shared_server(self) -> None:
        """Refuse a URL at which both sides of ``run:`` would find one server.

        Raises:
            RetrieverError: A URL has no ``{port}``.
        """
        for retriever in self.list_retrievers().values():
            if retriever.key == "ir_url" and not retriever.has_port:
                raise RetrieverError(
                    "Ini key ir_url: both sides of run: would use one server. Compare with git:REF,"
                    f" or write {PORT} as its port and start it under 'ir_serve'"
                )

    def run_prepare(self) -> None:
        """Run the commands of ``ir_prepare``.

        Raises:
            RetrieverError: A command cannot be started, or fails.
        """
        run_commands(self.prepare, self.folder, self.secrets)

    def start_server(self) -> Server:
        """Start the server of ``ir_serve``.

        Raises:
            RetrieverError: The command cannot be started.
        """
        return Server(self.serve, self.folder, self.secrets)

    def open_retriever(self, retriever: DeclaredRetriever, server: Server | None) -> Service:
        """Return a retriever that is ready to be called.

        Args:
            retriever: One of ``list_retrievers``.
            server: The server, if the retriever's URL has its port. It is waited for.

        Raises:
            RetrieverError: A line cannot be read, or the server does not answer.
        """
        if retriever.key == "ir_command":
            return CommandRetriever(retriever.line, self.folder, self.secrets)
        service = UrlRetriever(retriever.line, self.headers, self.folder, self.secrets, server)
        if server:
            server.wait_until_ready(service.is_ready)
        return service
