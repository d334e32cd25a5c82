"""Jinja environments for HTML and Markdown, which escape inserted values by default."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import zlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pytest_irquality.io.escaping import (
    clip,
    escape_markdown,
    escape_markdown_code,
    escape_page_text,
)
from pytest_irquality.io.text import CodePart, DocPart, Part, QueryPart, Text
from pytest_irquality.reports.view_model import OUTPUT_MARKER

PACKAGE = "pytest_irquality.reports"
MAX_FIELD_LENGTH = 4_000


class Asset(NamedTuple):
    """A script or style of the package, with its hash for the content security policy."""

    text: Markup
    hash: str


def load_asset(*names: str) -> Asset:
    """Load a script or style that consists of one or several files."""
    folder = files(PACKAGE) / "templates"
    text = "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Asset(Markup(text), f"sha256-{digest}")


@cache
def create_html_environment() -> Environment:
    """Create the environment of HTML templates."""
    return _create_environment(autoescape=True, finalize=_finalize_html)


@cache
def create_markdown_environment() -> Environment:
    """Create the environment of Markdown templates."""
    environment = _create_environment(autoescape=False, finalize=_finalize_markdown)
    environment.filters["code"] = lambda text: Markup(escape_markdown_code(text))
    environment.filters["cell"] = render_markdown_cell
    return environment


def render_markdown_cell(value: object) -> Markup:
    """Render a table cell, in which documents that have a title are named by it only."""
    if isinstance(value, Text):
        return Markup(value.render(_render_cell_part))
    return Markup(_finalize_markdown(value))


def format_field(value: object) -> str:
    """Format a field that a suite shows. A picture that was cut off cannot be shown."""
    text = str(value)
    if text.startswith("data:image/"):
        return "a picture that is too large to show" if text.endswith("…") else text
    return escape_page_text(clip(text, MAX_FIELD_LENGTH))


def pack_script_data(value: object) -> Markup:
    """Encode data as compressed JSON in base64, so it needs no escaping in HTML."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # Level 1 is five times as fast as the default, and its result is a quarter larger.
    packed = zlib.compress(text.encode("utf-8", "replace"), 1)
    return Markup(base64.b64encode(packed).decode())


def encode_script_json(value: object) -> Markup:
    """Encode data as JSON that cannot end the script element that holds it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def _create_bytecode_cache() -> FileSystemBytecodeCache | None:
    """Keep compiled templates next to the bytecode of this module, if Python writes bytecode.

    Compiling takes longer than everything else about the page of a small suite. Like bytecode of
    modules, these files are as trustworthy as the package; a project's cache folder would not be.
    """
    folder = Path(__file__).parent / "__pycache__"
    if sys.dont_write_bytecode or not os.access(folder, os.W_OK):
        return None
    return FileSystemBytecodeCache(str(folder), f"%s.{sys.implementation.cache_tag}.jinja")


def _create_environment(**options: Any) -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE),
        bytecode_cache=_create_bytecode_cache(),
        undefined=StrictUndefined,  # A misspelled name fails instead of printing nothing.
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )
    environment.globals["marker"] = Markup(OUTPUT_MARKER)
    return environment


def _finalize_html(value: object) -> object:
    if isinstance(value, Text):
        return Markup(value.render(_render_html_part))
    if type(value) is str:  # Markup is a subclass, and stays as it is.
        return escape_page_text(value)
    return "" if value is None else value


def _finalize_markdown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Text):
        return value.render(_render_markdown_part)
    if isinstance(value, Markup):
        return str(value)
    return escape_markdown(str(value))


def _render_html_part(part: Part) -> str:
    """Render a part of a text. Right-to-left data cannot reorder its surroundings."""
    if isinstance(part, str):
        return str(escape(part))
    if isinstance(part, CodePart):
        return f"<code>{_escape_html(part.code)}</code>"
    if isinstance(part, QueryPart):
        return f'<q><bdi data-query="{escape(part.query_id)}">{_escape_html(part.text)}</bdi></q>'
    if isinstance(part, DocPart):
        doc_id = _escape_html(part.doc_id)
        if not part.title:
            return f"<bdi>{doc_id}</bdi>"
        return f'<bdi title="{doc_id}">{_escape_html(part.title)}</bdi>'
    return f"<bdi>{_escape_html(part.text)}</bdi>"


def _escape_html(text: str) -> Markup:
    return escape(escape_page_text(text))


def _render_cell_part(part: Part) -> str:
    if isinstance(part, DocPart):
        return escape_markdown(part.title or part.doc_id)
    return _render_markdown_part(part)


def _render_markdown_part(part: Part) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, CodePart):
        return escape_markdown_code(part.code)
    return escape_markdown(str(part))
