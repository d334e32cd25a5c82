"""Retrievers that the ini file declares: ``ir_url``, ``ir_command`` and what they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from pytest_irquality.retrieval.server import Server


class DeclaredRetriever(NamedTuple):
    """A line of ``ir_url`` or ``ir_command``: the name of its fixture, and the rest."""

    name: str
    key: Literal["ir_url", "ir_command"]
    line: str

    @property
    def has_port(self) -> bool:
        """Return whether the URL has the ``{port}`` of ``ir_serve``."""
        raise NotImplementedError


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

    def list_retrievers(self) -> Mapping[str, DeclaredRetriever]:
        """Return the declared retrievers by the name of their fixture.

        Raises:
            RetrieverError: Two retrievers have one name, or a ``{port}`` has no server.
        """
        raise NotImplementedError

    def move(self, folder: Path) -> RetrieverConfig:
        """Return the same configuration for another checkout of the project."""
        raise NotImplementedError

    def refuse_shared_server(self) -> None:
        """Raise ``RetrieverError`` if both sides of ``run:`` would ask one server."""
        raise NotImplementedError

    def run_prepare(self) -> None:
        """Run the commands of ``ir_prepare``. Raises ``RetrieverError``."""
        raise NotImplementedError

    def start_server(self) -> Server:
        """Start the server of ``ir_serve``. Raises ``RetrieverError``."""
        raise NotImplementedError

    def open_retriever(self, retriever: DeclaredRetriever, server: Server | None) -> Service:
        """Return a retriever that is ready to be called. Raises ``RetrieverError``."""
        raise NotImplementedError


class Service:
    """A retriever outside this process. Any number of threads may call it at once."""

    key = ""

    def bind(self, timeout: float) -> Callable[..., object]:
        """Return a function ``(query, k, **params)`` whose calls end within so many seconds."""
        raise NotImplementedError

    def close(self) -> None:
        """Close connections and end processes."""
        raise NotImplementedError
