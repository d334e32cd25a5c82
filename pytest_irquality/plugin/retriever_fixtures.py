"""Fixtures of retrievers: those of ``ir_url`` and ``ir_command``, and ``bm25_retriever``.

A fixture of the project with the same name replaces each of them.
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

from pytest_irquality.plugin.options import CHILD_VARIABLE, OPTIONS_KEY, Options

if TYPE_CHECKING:
    from pytest_irquality.retrieval.corpus import BM25Retriever
    from pytest_irquality.retrieval.service import RetrieverConfig, Server, Service
    from pytest_irquality.suite.model import Suite

USUAL_RETRIEVER = "retriever"
_NAMED_LINE = re.compile(r"([A-Za-z_]\w*):\s+.*")


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
    retrievers = ModuleType("irquality_retrievers")
    for name in names:
        setattr(retrievers, name, _create_fixture(name))
    if USUAL_RETRIEVER not in names:
        # If all retrievers have names of their own, the usual name gives each of them in turn.
        setattr(retrievers, USUAL_RETRIEVER, _create_fixture(USUAL_RETRIEVER, params=names))
    config.pluginmanager.register(retrievers, retrievers.__name__)
    config.pluginmanager.register(sys.modules[__name__], "irquality-services")


def _create_fixture(name: str, params: Sequence[str] | None = None) -> Callable[..., Any]:
    @pytest.fixture(scope="session", name=name, params=params)
    def declared_retriever(request: pytest.FixtureRequest) -> Iterator[Service]:
        """A retriever that the ini file declares."""
        from pytest_irquality.retrieval.http import UrlRetriever
        from pytest_irquality.retrieval.program import CommandRetriever

        with _report_in_one_line():
            config = _load_config(request.config)
            retriever = config.list_retrievers()[request.param if params else name]
            request.getfixturevalue("_irquality_prepared")
            service: Service
            if retriever.key == "ir_command":
                service = CommandRetriever(retriever.line, config.folder, config.secrets)
            else:
                has_port = retriever.has_port
                server = request.getfixturevalue("_irquality_server") if has_port else None
                service = UrlRetriever(
                    retriever.line, config.headers, config.folder, config.secrets, server
                )
                if server:
                    server.wait_until_ready(service.check_ready)
        yield service
        service.close()

    return declared_retriever


@pytest.fixture(scope="session")
def _irquality_prepared(request: pytest.FixtureRequest) -> None:
    """Run the commands of ``ir_prepare``, once in a session."""
    retrievers = _load_config(request.config)
    if not retrievers.prepare:
        return
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


@pytest.fixture(scope="session")
def _irquality_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Start the server of ``ir_serve``, one for all URLs with its port."""
    with _report_in_one_line():
        started = _load_config(request.config).start_server()
    yield started
    started.close()


def _load_config(config: pytest.Config) -> RetrieverConfig:
    """Return what the ini file says, checked and moved to this side of ``run:``."""
    from pytest_irquality.retrieval.service import RetrieverConfig

    options = config.stash[OPTIONS_KEY]
    retrievers = RetrieverConfig(
        urls=options.url,
        commands=options.command,
        headers=options.headers,
        serve=options.serve,
        prepare=options.prepare,
        folder=Path(os.path.realpath(config.rootpath)),
    )
    if options.runs_base_code or CHILD_VARIABLE in os.environ:
        retrievers.refuse_shared_server()
    return retrievers


@pytest.fixture(scope="module")
def bm25_retriever(request: pytest.FixtureRequest) -> BM25Retriever:
    """Search the 'corpus' of the suite with BM25 (extra ``pytest-irquality[yardstick]``)."""
    from pytest_irquality.retrieval.corpus import BM25Retriever, CorpusError, load_corpus
    from pytest_irquality.retrieval.errors import RetrieverError

    suite: Suite | None = getattr(request.node, "suite", None)
    if suite is None or not suite.settings.corpus.files:
        path = suite.path if suite is not None else "This test"
        pytest.fail(f"{path}: 'bm25_retriever' needs the key 'corpus'.", pytrace=False)
    try:
        return BM25Retriever(load_corpus(suite.settings))
    except (CorpusError, RetrieverError) as error:
        pytest.fail(f"{suite.path}: {error}", pytrace=False)


@contextmanager
def _report_in_one_line() -> Iterator[None]:
    from pytest_irquality.retrieval.errors import RetrieverError

    try:
        yield
    except RetrieverError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
