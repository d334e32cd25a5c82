"""A project in a few strings: a suite, a retriever, and pytest run over it as a user would."""

from __future__ import annotations

import compileall
import gc
import json
import os
import pkgutil
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import _pytest.config
import pytest

import pytest_irquality

# What this run compiles is kept, even where Python is told to keep nothing: each worker would compile all of it again.
sys.dont_write_bytecode = False


def _import_all() -> None:
    """Import the whole package, and not by pytest, which would rewrite the asserts of a plugin: there are none.

    pytester forgets modules that an inner run imports: each would import them again, and libyaml's
    extension survives that only if it was here before.
    """
    finders = [*sys.meta_path]
    sys.meta_path[:] = [finder for finder in finders if not hasattr(finder, "mark_rewrite")]
    for module in pkgutil.walk_packages(pytest_irquality.__path__, "pytest_irquality."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    sys.meta_path[:] = finders


_import_all()

from pytest_irquality.edges.git import CI_COMMITS  # noqa: E402
from pytest_irquality.report import json_schema  # noqa: E402
from pytest_irquality.report.assets import environment  # noqa: E402

pytest_plugins = ["pytester"]

# What runs by default draws the same examples every time: no test passes or fails by luck. The search for new ones is
# `pytest --hypothesis-profile=search`; what it finds becomes an example of its own.
# No test fails because the machine is busy, either.
with suppress(ModuleNotFoundError):  # `pytest --help` works where the example alone is installed
    from hypothesis import HealthCheck, settings

    patient = settings(database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("same", patient, derandomize=True)
    settings.register_profile("search", patient, derandomize=False)
    settings.load_profile("same")

SHARED = Path(os.environ.get("IRQUALITY_SHARED") or Path(__file__).parents[2] / "shared")


def first(number: int, cases: Iterable[Any]) -> list[Any]:
    """Some cases, of which those after the first are slow: the default run has one of each kind."""
    cases = list(cases)
    more = [pytest.param(case, marks=pytest.mark.slow) for case in cases[number:]]
    return [*cases[:number], *more]


def shown(value: object) -> str:
    """A parameter's test id that is the same in every process: no address in memory."""
    text = repr(sorted(value)) if isinstance(value, set) else repr(value)  # sets have no order
    return re.sub(r" at 0x[0-9a-f]+", "", text)[:60]


def absent(what: str) -> None:
    """Skip, or fail where IRQUALITY_BROWSER=required says that nothing may be missing."""
    if os.environ.get("IRQUALITY_BROWSER") == "required":
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """A worker more than there are cores: some tests do nothing but wait."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Collect garbage less often. Nothing is frozen: Hypothesis then takes its own objects for lost."""
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Under IRQUALITY_WITHIN=pytest only those that run pytest: no other can tell its version."""
    if os.environ.get("IRQUALITY_WITHIN") == "pytest":
        within = [item for item in items if "pytester" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in within])
        items[:] = within


# An inner run inherits this run's filters, under which a warning is an error.
# It is told of the plugin by name, too late for its assertions to be rewritten, which some ways of installing make a warning.
QUIET = (
    "-W",
    "default::pytest_irquality.IRQualityWarning",
    "-W",
    "ignore:Module already imported:pytest.PytestAssertRewriteWarning",
)

# The environment of an inner run. It loads our plugin and none of the others that are installed: Hypothesis alone takes
# longer to import than most runs take. (``tests/beside`` has the others.) No bytecode of its files is kept: two versions
# that were written within a second and are equally long have the same.
ALONE = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "pytest_irquality.plugin.hooks",
    "PYTHONDONTWRITEBYTECODE": "1",
}


# Plugins of pytest itself that no test here uses: each run would look at all that they hold.
SELDOM = {"doctest", "faulthandler", "legacypath", "pastebin"}


def await_end(process: int) -> None:
    """Wait until a process is no more."""
    for _ in range(3000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("it still runs")


def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inner runs load every plugin that is installed, ours by its entry point, as a user's do."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    monkeypatch.delenv("PYTEST_PLUGINS")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package, once: hundreds of inner runs import it, each in a process of its own."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(pytest_irquality.__file__).parent, quiet=2)
        for name in environment().list_templates(["html"]):
            environment().get_template(name)


SCHEMA: dict[str, Any] = json.loads(json_schema.text())


def report(path: Path) -> dict[str, Any]:
    """A JSON report with what it leaves out, as its schema says, and both rankings whole."""
    read: dict[str, Any] = complete(json.loads(path.read_text(encoding="utf-8")), SCHEMA)
    return read


def complete(value: Any, shape: Any) -> Any:
    """A value with the defaults of its shape."""
    if not isinstance(shape, Mapping):
        return value
    if "$ref" in shape:
        shape = {**SCHEMA["$defs"][shape["$ref"].rpartition("/")[2]], **shape}
    for other in shape.get("anyOf") or []:
        of = SCHEMA["$defs"].get(other.get("$ref", "").rpartition("/")[2], other)
        kind = of.get("properties", {}).get("kind", {}).get("const")
        fits = ("object" if isinstance(value, dict) else "array") == of.get("type")
        if fits and (kind is None or kind == value.get("kind")):
            return complete(value, other)
    if isinstance(value, dict):
        properties = shape.get("properties", {})
        for name, inner in properties.items():
            if name not in value and "default" in inner:
                value[name] = inner["default"]
        others = shape.get("additionalProperties") or {}
        return {name: complete(one, properties.get(name, others)) for name, one in value.items()}
    if isinstance(value, list):
        first = shape.get("prefixItems", [])
        shapes = [*first, *[shape.get("items", {})] * (len(value) - len(first))]
        return [complete(one, each) for one, each in zip(value, shapes, strict=False)]
    return value


@dataclass
class Project:
    """A pytester folder with helpers; ``answers`` is what the default retriever returns for each query."""

    pytester: pytest.Pytester
    pages: bool = False
    """Whether its runs write a page, as a user's do."""

    @property
    def path(self) -> Path:
        return self.pytester.path

    def suite(self, text: str, name: str = "shop.ir.yaml") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def answers(self, answers: Mapping[str, Any]) -> None:
        self.conftest(
            f"ANSWERS = {dict(answers)!r}\n@pytest.fixture\ndef retriever():\n    return lambda query: ANSWERS[query]\n"
        )

    def conftest(self, text: str, folder: str = ".") -> None:
        path = self.path / folder / "conftest.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import pytest\n" + text, encoding="utf-8")

    def run(self, *args: str) -> pytest.RunResult:
        workers = ("-p", "xdist") if any(arg.startswith("-n") for arg in args) else ()
        page = () if self.pages else ("--ir-report=none",)
        return self.pytester.runpytest(
            "--ir-suite", "--ir-json=out.json", *page, *QUIET, *workers, *args
        )

    @property
    def data(self) -> dict[str, Any]:
        return report(self.path / "out.json")

    def outcomes(self) -> dict[str, str]:
        return {
            verdict["check"]: verdict["outcome"]
            for suite in self.data["suites"]
            for verdict in suite["verdicts"]
        }


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Project:
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # An inner run must not speak to the CI around it.
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", *CI_COMMITS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "400")  # wide enough for every sentence to stand on one line
    few = [name for name in _pytest.config.default_plugins if name not in SELDOM]
    monkeypatch.setattr(_pytest.config, "default_plugins", tuple(few))
    # Where all tests run every page is written.
    return Project(pytester, pages=request.config.getoption("-m") != "not slow")


Once = Callable[[Project, Callable[[Project], None]], Project]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """What fills a project's folder does so once: later tests get a copy of what it made."""
    folder = tmp_path_factory.mktemp("once")

    def filled(project: Project, fill: Callable[[Project], None]) -> Project:
        kept = folder / f"{fill.__module__}.{fill.__name__}"
        if kept.exists():
            shutil.copytree(kept, project.path, symlinks=True, dirs_exist_ok=True)
        else:
            fill(project)
            shutil.copytree(project.path, kept, symlinks=True)
        return project

    return filled


@pytest.fixture
def pages(project: Project) -> None:
    """Have each run write a page: for tests that read it."""
    project.pages = True
