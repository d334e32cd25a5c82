"""Retrievers that the ini file declares, as fixtures: URLs and commands.

A fixture of the project's own with such a name goes before it.
"""

from __future__ import annotations

import os
import re
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_irquality.plugin.options import Options

if TYPE_CHECKING:
    from pytest_irquality.retrieval.service import Service

NAMED = re.compile(r"([A-Za-z_]\w*):\s+(.*)")
USUAL = "retriever"


def register(config: pytest.Config) -> None:
    """Make the fixtures. Raises ``pytest.UsageError`` where two have one name."""
    options = Options(config)
    lines: dict[str, tuple[str, str]] = {}
    for key, written in (("ir_url", options.url), ("ir_command", options.command)):
        for line in written:
            found = NAMED.fullmatch(line)
            name, rest = found.groups() if found else (USUAL, line)
            if name in lines:
                raise pytest.UsageError(f"ini key {key}: two retrievers are called {name!r}")
            lines[name] = key, rest
    made = types.ModuleType("irquality_services")
    for name in {*lines, USUAL}:
        vars(made)[name] = _fixture(name, lines)
    config.pluginmanager.register(made, made.__name__)


def _fixture(name: str, lines: Mapping[str, tuple[str, str]]) -> Callable[..., Any]:
    """Fixture of a retriever, by its name.

    Where all have names of their own, the usual name is each of them in turn.
    """
    several = None if name in lines else list(lines)

    @pytest.fixture(scope="session", name=name, params=several)
    def declared(request: pytest.FixtureRequest) -> Any:
        """A retriever that the ini file declares."""
        try:
            return request.getfixturevalue(name)  # that of another plugin
        except pytest.FixtureLookupError as error:
            if error.argname != name:
                raise
        one = request.param if several else name
        service = _service(request.config, *lines[one])
        request.addfinalizer(service.close)  # noqa: PT021 - a fixture of another's is not ours to close
        return service

    return declared


def _service(config: pytest.Config, key: str, line: str) -> Service:
    """Read a line. Imported here is what only a suite needs."""
    from pytest_irquality.pipeline.base.guard import VARIABLE as IN_BASE  # noqa: PLC0415
    from pytest_irquality.retrieval.call import RetrieverError  # noqa: PLC0415
    from pytest_irquality.retrieval.endpoint import Endpoint  # noqa: PLC0415
    from pytest_irquality.retrieval.program import Program  # noqa: PLC0415
    from pytest_irquality.retrieval.secrets import Secrets  # noqa: PLC0415

    options = Options(config)
    secrets = Secrets.named_in(options.headers, options.url)
    try:
        if key == "ir_url" and IN_BASE in os.environ:
            raise RetrieverError("ir_url: both sides of run: would ask one server")
        if key == "ir_url":
            return Endpoint(line, options.headers, config.rootpath, secrets)
        return Program(line, config.rootpath, secrets)
    except RetrieverError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
