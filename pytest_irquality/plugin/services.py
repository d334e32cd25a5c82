"""Retrievers that the ini file declares, as fixtures: URLs and commands.

A fixture of the project's own with such a name goes before it.
"""

from __future__ import annotations

import json
import os
import re
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_irquality.edges import shell
from pytest_irquality.pipeline.base.guard import VARIABLE as IN_BASE
from pytest_irquality.plugin.options import Options

if TYPE_CHECKING:
    from pytest_irquality.retrieval.secrets import Secrets
    from pytest_irquality.retrieval.server import Server
    from pytest_irquality.retrieval.service import Service

NAMED = re.compile(r"([A-Za-z_]\w*):\s+(.*)")
USUAL = "retriever"
PREPARED, SERVER = "_irquality_prepared", "_irquality_server"


@dataclass(frozen=True)
class Written:
    """The lines of the ini file on retrievers, and the folder that it stands in."""

    url: list[str]
    command: list[str]
    headers: list[str]
    serve: str
    prepare: list[str]
    folder: str

    @classmethod
    def by(cls, config: pytest.Config) -> Written:
        """Read the ini file of this session."""
        options = Options(config)
        lines = options.url, options.command, options.headers
        return cls(*lines, options.serve, options.prepare, os.path.realpath(config.rootpath))

    @property
    def secrets(self) -> Secrets:
        """The values that may be shown nowhere."""
        from pytest_irquality.retrieval.secrets import Secrets  # noqa: PLC0415 - where one asks

        return Secrets.named_in(self.headers)

    def moved(self, head: str, tree: str) -> Written:
        """Put the base's checkout wherever a line names today's."""
        named = shell.names_of(head)

        def there(line: str) -> str:
            return named.sub(lambda _: tree, line)

        return replace(
            self, command=[*map(there, self.command)], serve=there(self.serve),
            prepare=[*map(there, self.prepare)], folder=there(self.folder),
        )  # fmt: skip

    def by_name(self) -> dict[str, tuple[str, str]]:
        """The key and the line of each retriever. Raises ``pytest.UsageError``."""
        lines: dict[str, tuple[str, str]] = {}
        for key, written in (("ir_url", self.url), ("ir_command", self.command)):
            for line in written:
                found = NAMED.fullmatch(line)
                name, rest = found.groups() if found else (USUAL, line)
                if name in lines:
                    raise pytest.UsageError(f"ini key {key}: two retrievers are called {name!r}")
                lines[name] = key, rest
        return lines


def register(config: pytest.Config) -> None:
    """Make the fixtures. Raises ``pytest.UsageError`` where two have one name."""
    written = _of_this_side(config)
    lines = written.by_name()
    if not lines:
        return
    made = types.ModuleType("irquality_services")
    vars(made).update({PREPARED: _prepared(written), SERVER: _server(written)})
    for name in {*lines, USUAL}:
        vars(made)[name] = _fixture(name, written)
    config.pluginmanager.register(made, made.__name__)


def _of_this_side(config: pytest.Config) -> Written:
    """Read the ini file; for the base today's, where its own cannot be asked on two sides."""
    own = Written.by(config)
    if IN_BASE not in os.environ:
        return own
    from pytest_irquality.retrieval.endpoint import has_port  # noqa: PLC0415

    told = json.loads(os.environ[IN_BASE])
    lines = own.by_name().values()
    if not lines or not all(has_port(line) for key, line in lines if key == "ir_url"):
        own = Written(**told["services"])
    return own.moved(told["head"], told["tree"])


def _fixture(name: str, written: Written) -> Callable[..., Any]:
    """Fixture of a retriever, by its name.

    Where all have names of their own, the usual name is each of them in turn.
    """
    lines = written.by_name()
    several = None if name in lines else list(lines)

    @pytest.fixture(scope="session", name=name, params=several)
    def declared(request: pytest.FixtureRequest) -> Iterator[Service]:
        """A retriever that the ini file declares."""
        key, line = lines[request.param if several else name]
        with _told_in_one_line():
            service = _service(request, written, key, line)
        yield service
        service.close()

    return declared


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    from pytest_irquality.retrieval.call import RetrieverError  # noqa: PLC0415

    try:
        yield
    except RetrieverError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def _service(request: pytest.FixtureRequest, written: Written, key: str, line: str) -> Service:
    """A retriever of a line, ready to be asked. Raises ``RetrieverError``."""
    # Imported here is what only a suite needs.
    from pytest_irquality.retrieval.endpoint import Endpoint, has_port  # noqa: PLC0415
    from pytest_irquality.retrieval.program import Program  # noqa: PLC0415

    folder, server = Path(written.folder), None
    if key == "ir_url":
        _check_sides(request.config, written, line)
    request.getfixturevalue(PREPARED)
    if key == "ir_command":
        return Program(line, folder, written.secrets)
    if has_port(line):
        server = request.getfixturevalue(SERVER)
    endpoint = Endpoint(line, written.headers, folder, written.secrets, server)
    if server:
        server.wait_for(endpoint.is_ready)
    return endpoint


def _check_sides(config: pytest.Config, written: Written, line: str) -> None:
    """Refuse a URL where another server would answer than is meant. Raises ``RetrieverError``."""
    from pytest_irquality.retrieval.call import RetrieverError  # noqa: PLC0415
    from pytest_irquality.retrieval.endpoint import has_port  # noqa: PLC0415
    from pytest_irquality.retrieval.server import PORT  # noqa: PLC0415

    two_sides = IN_BASE in os.environ or any(
        given.startswith("run:") for given in Options(config).baseline
    )
    if two_sides and not has_port(line):
        raise RetrieverError(
            f"ir_url: both sides of run: would ask one server: write {PORT} in place of its port"
            " and what starts it under ir_serve, or compare with git:REF"
        )
    if has_port(line) and PORT not in written.serve:
        raise RetrieverError(f"ir_url: {PORT} is that of ir_serve, which must be set and have it")
    if written.serve and not any(PORT in one for one in written.url):
        raise RetrieverError(
            f"ir_serve: no ir_url has its {PORT}, so another server would be asked"
        )


def _prepared(written: Written) -> Callable[..., Any]:
    """Make the fixture that runs the commands of ``ir_prepare``, once in a session."""

    @pytest.fixture(scope="session", name=PREPARED)
    def prepared(request: pytest.FixtureRequest) -> None:
        if not written.prepare:
            return
        from pytest_irquality.edges.write import alone_in  # noqa: PLC0415
        from pytest_irquality.retrieval.server import prepare  # noqa: PLC0415

        folder, secrets = Path(written.folder), written.secrets
        with _told_in_one_line():
            if not hasattr(request.config, "workerinput"):
                prepare(written.prepare, folder, secrets)
                return
            workers = request.getfixturevalue("tmp_path_factory").getbasetemp().parent
            done = workers / "irquality-prepared"
            with alone_in(workers / "irquality-prepare"):
                if not done.exists():
                    prepare(written.prepare, folder, secrets)
                    done.touch()

    return prepared


def _server(written: Written) -> Callable[..., Any]:
    """The server of ``ir_serve``, one for all URLs that have its port."""

    @pytest.fixture(scope="session", name=SERVER)
    def server() -> Iterator[Server]:
        from pytest_irquality.retrieval.server import Server  # noqa: PLC0415

        with _told_in_one_line():
            made = Server(written.serve, Path(written.folder), written.secrets)
        yield made
        made.close()

    return server
