"""How the documentation is built: `sphinx-build -nW --keep-going docs site`."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from docs.tools import red_pull_request  # noqa: E402 - found only from the root, see above
from docs.tools.address import address  # noqa: E402 - the same

METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

project = METADATA["name"]
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["README.md"]
nitpicky = True

# The report of the example's red pull request, beside the pages.
MADE = tempfile.mkdtemp()
red_pull_request.main(Path(MADE))
html_extra_path = [MADE]

html_theme = "furo"
html_title = project
html_theme_options = {"navigation_with_keys": True}

# GitHub's dialect of Markdown, so that the pages read the same there; and its anchors.
myst_enable_extensions = ["strikethrough", "tasklist"]
myst_heading_anchors = 3

# Prompts are not copied.
copybutton_prompt_text = "$ "


def to_the_repository(app, page, text):
    """A link to a file that is not among the pages leads to the repository, where it stands."""
    folder = (ROOT / "docs" / page).parent
    for link in re.findall(r"\]\(((?:\.\./)+[\w./-]+)", text[0]):
        target = (folder / link).resolve()
        if target.exists() and not target.is_relative_to(ROOT / "docs"):
            there = f"https://github.com/{address()}/blob/main/{target.relative_to(ROOT)}"
            text[0] = text[0].replace(f"]({link})", f"]({there})")


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", to_the_repository)
