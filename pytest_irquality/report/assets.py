"""Style and script of a page, with the hashes by which its content security policy lets them in."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import jinja2
from markupsafe import Markup, escape

from pytest_irquality.edges.printable import visible


class Asset(NamedTuple):
    """The text of files of ``templates``, and its hash."""

    text: Markup
    hash: str


def asset(*names: str) -> Asset:
    """Read a style or a script of ours, of one file or several."""
    templates = files("pytest_irquality.report") / "templates"
    text = "".join(templates.joinpath(name).read_text(encoding="utf-8") for name in names)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Asset(Markup(text), f"sha256-{digest}")


@cache
def environment() -> jinja2.Environment:
    """The templates, in which every text is escaped and shows what would hide or turn it.

    One a process, so that each is compiled once.
    """
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("pytest_irquality.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    made.filters["ltr"] = left_to_right
    return made


RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
NAMES = re.compile(f"[{RIGHT_TO_LEFT}](?:[^'\"(),;:\u2192]*[{RIGHT_TO_LEFT}])?")
"""What is written from right to left within a sentence of ours, words between included."""


def left_to_right(sentence: str) -> Markup:
    """An English sentence in which names of other scripts keep their direction to themselves."""
    isolated = NAMES.sub(lambda name: f"<bdi>{name[0]}</bdi>", str(escape(visible(sentence))))
    return Markup(f'<span dir="ltr">{isolated}</span>') if "<bdi>" in isolated else Markup(isolated)


def script_json(value: object) -> Markup:
    """Data as JSON that a script element can hold: nothing in it ends the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
