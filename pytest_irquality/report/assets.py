"""Style and script of a page, with the hashes by which its content security policy lets them in."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from pytest_irquality.edges.printable import visible


class Asset(NamedTuple):
    """The text of a file of ``templates``, and its hash."""

    text: Markup
    hash: str


def asset(name: str) -> Asset:
    """Read a style or a script of ours."""
    text = files("pytest_irquality.report").joinpath("templates", name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Asset(Markup(text), f"sha256-{digest}")


@cache
def environment() -> jinja2.Environment:
    """The templates, in which every text is escaped and shows what would hide or turn it.

    One a process: compiling them takes longer than drawing a page of a few queries.
    """
    return jinja2.Environment(
        loader=jinja2.PackageLoader("pytest_irquality.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )


def script_json(value: object) -> Markup:
    """Data as JSON that a script element can hold: nothing in it ends the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
