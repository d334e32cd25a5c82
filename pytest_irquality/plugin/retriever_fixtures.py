"""Retriever fixtures: one for each line of ``ir_url`` and ``ir_command``, and ``bm25_retriever``.

A fixture of the project overrides the one with the same name.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_irquality.plugin.options import OPTIONS_KEY, Options, is_base_process, is_worker

if TYPE_CHECKING:
    from pytest_irquality.retrieval.corpus import BM25Retriever
    from pytest_irquality.retrieval.service import RetrieverConfig, Server, Service
    from pytest_irquality.suite.model import Suite

DEFAULT_RETRIEVER = "retriever"
_NAMED_LINE = re.compile(r"([A-Za-z_]\w*):\s+.*")


def list_names(lines: Iterable[str]) -> list[str]:
    """Return the names of the fixtures that lines of ``ir_url`` or ``ir_command`` declare."""
    matches = [_NAMED_LINE.fullmatch(line.strip()) for line in lines]
    return [match[1] if match else DEFAULT_RETRIEVER for match in matches]


def list_declared_retrievers(options: Options) -> list[str]:
    """Return the names of all fixtures that the ini file declares as retrievers.

    Suites may use these, and fixtures whose names end with ``_retriever``.
    """
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
    # pytest finds fixtures in the attributes of a plugin, so their names need a module.
    fixture_module = ModuleType("irquality_retrievers")
    for name in names:
        setattr(fixture_module, name, _create_fixture(name))
    if DEFAULT_RETRIEVER not in names:
        # No line has the default name, so that fixture is parametrized with all of them.
        fixture = _create_fixture(DEFAULT_RETRIEVER, params=names)
        setattr(fixture_module, DEFAULT_RETRIEVER, fixture)
    config.pluginmanager.register(fixture_module, fixture_module.__name__)
    config.pluginmanager.register(sys.modules[__name__], "irquality-retriever-fixtures")


def _create_fixture(name: str, params: Sequence[str] | None = None) -> Callable[..., Any]:
    @pytest.fixture(scope="session", name=name, params=params)
    def declared_retriever(request: pytest.FixtureRequest) -> Iterator[Service]:
        """A retriever that the ini file declares."""
        from pytest_irquality.retrieval.http import UrlRetriever
        from pytest_irquality.retrieval.program import CommandRetriever

        with _report_in_one_line():
            retriever_config = _read_retriever_config(request.config)
            folder, secrets = retriever_config.folder, retriever_config.secrets
            retriever = retriever_config.list_retrievers()[request.param if params else name]
            request.getfixturevalue("_irquality_prepare")
            service: Service
            if retriever.key == "ir_command":
                service = CommandRetriever(retriever.line, folder, secrets)
            else:
                has_port = retriever.has_port
                server = request.getfixturevalue("_irquality_server") if has_port else None
                headers = retriever_config.headers
                service = UrlRetriever(retriever.line, headers, folder, secrets, server)
                if server:
                    server.wait_until_ready(service.check_ready)
        yield service
        service.close()

    return declared_retriever


@pytest.fixture(scope="session")
def _irquality_prepare(request: pytest.FixtureRequest) -> None:
    """Run the commands of ``ir_prepare``, once in a session."""
    retriever_config = _read_retriever_config(request.config)
    if not retriever_config.prepare:
        return
    with _report_in_one_line():
        if not is_worker(request.config):
            retriever_config.run_prepare()
            return
        from pytest_irquality.io.files import lock_folder

        # Workers share the folder above their own temporary folders.
        shared = request.getfixturevalue("tmp_path_factory").getbasetemp().parent
        marker = shared / "irquality-prepared"
        with lock_folder(shared):
            if not marker.exists():
                retriever_config.run_prepare()
                marker.touch()


@pytest.fixture(scope="session")
def _irquality_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Start the server of ``ir_serve``, one for all URLs with its port."""
    with _report_in_one_line():
        server = _read_retriever_config(request.config).start_server()
    yield server
    server.close()


def _read_retriever_config(config: pytest.Config) -> RetrieverConfig:
    """Return the retrievers of the ini file.

    Raises:
        RetrieverError: Under ``run:``, both branches would share a server.
    """
    from pytest_irquality.retrieval.service import RetrieverConfig

    options = config.stash[OPTIONS_KEY]
    retriever_config = RetrieverConfig(
        urls=options.url,
        commands=options.command,
        headers=options.headers,
        serve=options.serve,
        prepare=options.prepare,
        folder=Path(os.path.realpath(config.rootpath)),
    )
    if options.runs_base_code or is_base_process():
        retriever_config.refuse_shared_server()
    return retriever_config


@pytest.fixture(scope="module")
def bm25_retriever(request: pytest.FixtureRequest) -> BM25Retriever:
    """Search the 'corpus' of the suite with BM25 (extra ``pytest-irquality[yardstick]``)."""
    from pytest_irquality.retrieval.corpus import BM25Retriever, CorpusError, load_corpus
    from pytest_irquality.retrieval.errors import RetrieverError

    suite: Suite | None = getattr(request.node, "suite", None)
    if suite is None or not suite.settings.corpus_files:
        path = suite.path if suite is not None else "This test"
        pytest.fail(f"{path}: 'bm25_retriever' needs the key 'corpus'.", pytrace=False)
    try:
        return BM25Retriever(load_corpus(suite.settings))
    except (CorpusError, RetrieverError) as error:
        pytest.fail(f"{suite.path}: {error}", pytrace=False)


@contextmanager
def _report_in_one_line() -> Iterator[None]:
    """Fail with the message of a ``RetrieverError``, without a traceback."""
    from pytest_irquality.retrieval.errors import RetrieverError

    try:
        yield
    except RetrieverError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
