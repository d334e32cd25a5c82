"""Fixtures for the retrievers that the ini file declares: ``ir_url`` and ``ir_command``.

A fixture of the project with the same name replaces them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_irquality.plugin.options import CHILD_VARIABLE, Options

if TYPE_CHECKING:
    from pytest_irquality.retrieval.service import (
        DeclaredRetriever,
        RetrieverConfig,
        Server,
        Service,
    )

USUAL_RETRIEVER = "retriever"
_NAMED_LINE = re.compile(r"([A-Za-z_]\w*):\s+.*")
_PREPARED_FIXTURE = "_irquality_prepared"
_SERVER_FIXTURE = "_irquality_server"


def list_names(lines: Iterable[str]) -> list[str]:
    """Return the names of the fixtures that lines of ``ir_url`` or ``ir_command`` declare."""
    matches = [_NAMED_LINE.fullmatch(line.strip()) for line in lines]
    return [match[1] if match else USUAL_RETRIEVER for match in matches]


def list_declared(options: Options) -> list[str]:
    """Return the names of all fixtures that the ini file declares as retrievers."""
    return [*options.retrievers, *list_names(options.url), *list_names(options.command)]


def register(config: pytest.Config, options: Options) -> None:
    """Register the fixtures.

    Raises:
        pytest.UsageError: Two retrievers have one name.
    """
    names = [*list_names(options.url), *list_names(options.command)]
    for name in names:
        if names.count(name) > 1:
            raise pytest.UsageError(
                f"'ir_url' and 'ir_command' declare two retrievers with the name '{name}'."
            )
    services = _Services(config, options, tuple(names))
    module = ModuleType("irquality_services")
    fixtures = {
        _PREPARED_FIXTURE: services.create_prepared_fixture(),
        _SERVER_FIXTURE: services.create_server_fixture(),
    }
    for name in {*names, USUAL_RETRIEVER}:
        fixtures[name] = services.create_fixture(name)
    vars(module).update(fixtures)
    config.pluginmanager.register(module, module.__name__)


@dataclass(frozen=True)
class _Services:
    config: pytest.Config
    options: Options
    names: tuple[str, ...]

    def load(self) -> RetrieverConfig:
        """Return what the ini file says, checked and moved to this side of ``run:``."""
        from pytest_irquality.retrieval.service import RetrieverConfig

        options = self.options
        retrievers = RetrieverConfig(
            urls=options.url,
            commands=options.command,
            headers=options.headers,
            serve=options.serve,
            prepare=options.prepare,
            folder=Path(os.path.realpath(self.config.rootpath)),
        )
        if options.runs_base_code or CHILD_VARIABLE in os.environ:
            retrievers.refuse_shared_server()
        return retrievers

    def create_fixture(self, name: str) -> Callable[..., Any]:
        """Create the fixture of a retriever.

        If all retrievers have names of their own, the usual name gives each of them in turn.
        """
        params = None if name in self.names else list(self.names)

        @pytest.fixture(scope="session", name=name, params=params)
        def declared_retriever(request: pytest.FixtureRequest) -> Iterator[Service]:
            """A retriever that the ini file declares."""
            with _report_in_one_line():
                retrievers = self.load()
                retriever = retrievers.list_retrievers()[request.param if params else name]
                request.getfixturevalue(_PREPARED_FIXTURE)
                server = request.getfixturevalue(_SERVER_FIXTURE) if retriever.has_port else None
                service = _open_retriever(retrievers, retriever, server)
            yield service
            service.close()

        return declared_retriever

    def create_prepared_fixture(self) -> Callable[..., Any]:
        """Create the fixture that runs the commands of ``ir_prepare``, once in a session."""

        @pytest.fixture(scope="session", name=_PREPARED_FIXTURE)
        def prepared(request: pytest.FixtureRequest) -> None:
            if not self.options.prepare:
                return
            retrievers = self.load()
            with _report_in_one_line():
                if not hasattr(request.config, "workerinput"):
                    retrievers.run_prepare()
                    return
                from pytest_irquality.io.files import lock_folder

                # Workers share the folder above their own temporary folders.
                shared = request.getfixturevalue("tmp_path_factory").getbasetemp().parent
                done = shared / "irquality-prepared"
                with lock_folder(shared):
                    if not done.exists():
                        retrievers.run_prepare()
                        done.touch()

        return prepared

    def create_server_fixture(self) -> Callable[..., Any]:
        """Create the fixture of the server of ``ir_serve``, one for all URLs with its port."""

        @pytest.fixture(scope="session", name=_SERVER_FIXTURE)
        def server() -> Iterator[Server]:
            with _report_in_one_line():
                started = self.load().start_server()
            yield started
            started.close()

        return server


def _open_retriever(
    config: RetrieverConfig, retriever: DeclaredRetriever, server: Server | None
) -> Service:
    """Return a retriever that is ready to be called. Its server is waited for."""
    from pytest_irquality.retrieval.http import UrlRetriever
    from pytest_irquality.retrieval.program import CommandRetriever

    if retriever.key == "ir_command":
        return CommandRetriever(retriever.line, config.folder, config.secrets)
    service = UrlRetriever(retriever.line, config.headers, config.folder, config.secrets, server)
    if server:
        server.wait_until_ready(service.probe)
    return service


@contextmanager
def _report_in_one_line() -> Iterator[None]:
    from pytest_irquality.retrieval.errors import RetrieverError

    try:
        yield
    except RetrieverError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
