"""How one version of the documentation is built: `sphinx-build -nW --keep-going docs site`.

`docs/tools/site.py` builds the site with all versions.
"""

from __future__ import annotations

import html
import json
import os
import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parent
ROOT = DOCS.parent
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REPOSITORY = METADATA["urls"]["Homepage"]
PACKAGE = f"https://pypi.org/project/{METADATA['name']}/"
BRANCH = "main"
MAX_DESCRIPTION = 160  # characters, which is what search engines show

project = METADATA["name"]
release = version = METADATA["version"]
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["README.md"]
nitpicky = True

html_theme = "furo"
html_title = project
html_theme_options = {
    "navigation_with_keys": True,
    # These make the link "Edit this page".
    "source_repository": REPOSITORY,
    "source_branch": BRANCH,
    "source_directory": "docs/",
    "footer_icons": [
        {"name": "Repository", "url": REPOSITORY, "html": "Repository", "class": ""},
        {"name": "Package", "url": PACKAGE, "html": "Package", "class": ""},
    ],
}
html_show_copyright = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

# The same Markdown and the same anchors as on GitHub.
myst_enable_extensions = ["strikethrough", "tasklist"]
myst_heading_anchors = 3

# Prompts are not copied.
copybutton_prompt_text = "$ "


def get_first_paragraph(markdown):
    """Return the first paragraph of a page as plain text."""
    for block in map(str.strip, re.split(r"\n\s*\n", markdown)):
        if re.match(r"\*{0,2}[A-Za-z`\[]", block):
            plain = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", block)
            return " ".join(re.sub(r"[*`]", "", plain).split())
    return ""


def shorten(text):
    """Return the sentences of a text that fit into a description, or as many words."""
    if len(text) <= MAX_DESCRIPTION:
        return text
    end = max(text.rfind(mark, 0, MAX_DESCRIPTION) for mark in (". ", ": "))
    if end > MAX_DESCRIPTION // 3:
        return text[: end + 1].rstrip(":") + ("" if text[end] == "." else "…")
    return text[: MAX_DESCRIPTION - 1].rpartition(" ")[0] + "…"


def link_to_repository(app, docname, source):
    """Make links to files outside the documentation lead to the repository."""
    folder = (DOCS / docname).parent
    for link in re.findall(r"\]\(((?:\.\./)+[\w./-]+)", source[0]):
        target = (folder / link).resolve()
        if target.exists() and not target.is_relative_to(DOCS):
            address = f"{REPOSITORY}/blob/{BRANCH}/{target.relative_to(ROOT).as_posix()}"
            source[0] = source[0].replace(f"]({link}", f"]({address}")


def add_description(app, pagename, templatename, context, doctree):
    """Add the first sentences of a page as its meta description."""
    path = DOCS / f"{pagename}.md"
    if path.exists():
        description = html.escape(shorten(get_first_paragraph(path.read_text("utf-8"))))
        context["metatags"] = (
            context.get("metatags", "") + f'<meta name="description" content="{description}">\n'
        )


def add_versions(app, pagename, templatename, context, doctree):
    """Add the versions of the site. A build of one version has none to switch to."""
    path = os.environ.get("DOCS_VERSIONS")
    context["site_versions"] = json.loads(Path(path).read_text("utf-8")) if path else []
    context["site_folder"] = Path(app.outdir).name


def write_llms_txt(app, exception):
    """Write `llms.txt` (llmstxt.org): what each page is about, with its Markdown source."""
    if exception is not None or app.builder.format != "html":
        return
    lines = [f"# {project}", "", f"> {METADATA['description']}"]
    section = None
    for docname in sorted(app.env.found_docs, key=get_order):
        if docname == "index":
            continue
        folder = docname.partition("/")[0].capitalize() if "/" in docname else "Questions"
        if folder != section:
            section = folder
            lines += ["", f"## {section}", ""]
        title = app.env.titles[docname].astext()
        text = shorten(get_first_paragraph((DOCS / f"{docname}.md").read_text("utf-8")))
        lines.append(f"- [{title}](_sources/{docname}.md.txt): {text}".rstrip(": "))
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def get_order(docname):
    """Return a key that sorts pages as a reader goes: folders in the order of the index."""
    folders = ["start", "guides", "recipes", "reference", "why"]
    folder = docname.partition("/")[0]
    position = folders.index(folder) if "/" in docname and folder in folders else len(folders)
    return position, not docname.endswith("/index"), docname


def setup(app):
    """Connect the functions above."""
    app.connect("source-read", link_to_repository)
    app.connect("html-page-context", add_description)
    app.connect("html-page-context", add_versions)
    app.connect("build-finished", write_llms_txt)
