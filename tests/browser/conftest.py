"""One Chromium for all of these tests, and pages that may neither ask the network nor complain in the console."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import absent

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "node_modules"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Without the last five, Chromium's own connections show up as requests or hang where there is no network.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

# The only typefaces that the browser finds, so that what is measured in pixels is the same on every machine.
TYPEFACES = ("noto-sans", "noto-sans-mono")
FONTCONFIG = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  {folders}
  <cachedir>{cache}</cachedir>
  <alias><family>system-ui</family><prefer><family>Noto Sans</family></prefer></alias>
  <alias><family>sans-serif</family><prefer><family>Noto Sans</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>Noto Sans Mono</family></prefer></alias>
</fontconfig>
"""

Open = Callable[..., "Page"]


@pytest.fixture(scope="package")
def typefaces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of fontconfig with nothing but the typefaces of these tests."""
    folders = [MODULES / "@expo-google-fonts" / name for name in TYPEFACES]
    missing = [folder for folder in folders if not folder.is_dir()]
    if missing:
        absent(f"no typeface at {missing[0]}: see the browser's step in .ci/run")
    place = tmp_path_factory.mktemp("typefaces")
    named = "".join(f"<dir>{folder}</dir>" for folder in folders)
    file = place / "fonts.conf"
    file.write_text(FONTCONFIG.format(folders=named, cache=place), "utf-8")
    return file


@pytest.fixture(scope="package")
def browser(typefaces: Path) -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright is not installed (the extra 'browser')")
    found = os.environ.get("IRQUALITY_CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), None
    )
    if found is None:
        absent(f"none of {', '.join(NAMES)} is installed, and IRQUALITY_CHROMIUM names no other")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found,
            args=list(FLAGS),
            env={**os.environ, "FONTCONFIG_FILE": str(typefaces)},
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def axe() -> str:
    """The source of axe-core."""
    place = Path(os.environ.get("IRQUALITY_AXE", MODULES / "axe-core/axe.min.js"))
    if not place.exists():
        absent(
            f"axe-core is not at {place}: npm install --no-save axe-core, or name it in IRQUALITY_AXE"
        )
    return place.read_text(encoding="utf-8")


@pytest.fixture
def audit(axe: str) -> Callable[[Page], None]:
    def run(page: Page) -> None:
        page.wait_for_timeout(350)  # what fades in has its colours by then
        page.evaluate(f"{axe}; undefined") if not page.evaluate("'axe' in window") else None
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [(one["id"], [n["html"] for n in one["nodes"]]) for one in found["violations"]] == []

    return run


@pytest.fixture
def told() -> list[str]:
    """What the console said and what was raised; ``show`` wants it empty in the end."""
    return []


@pytest.fixture
def show(browser: Browser, tmp_path: Path, told: list[str]) -> Iterator[Open]:
    """Opens an HTML text as a file; afterwards asserts that nothing was requested, logged or raised."""
    asked: list[str] = []
    contexts = []

    def open_page(text: str, hash: str = "", **options: Any) -> Page:
        file = tmp_path / "report.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        contexts.append(context)
        context.set_default_timeout(30_000)

        def only_the_file(route: Any) -> None:
            if route.request.url.partition("#")[0] == file.as_uri():
                route.continue_()
            else:
                asked.append(route.request.url)
                route.abort()

        context.route("**/*", only_the_file)
        page = context.new_page()
        page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: told.append(f"raised: {error}"))
        page.on("dialog", lambda dialog: told.append(f"dialog: {dialog.message}"))
        page.goto(file.as_uri() + hash)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not asked
    assert not told
