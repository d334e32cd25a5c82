"""The page of the options and ini keys, drawn from what the plugin tells pytest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pytest_irquality.plugin import hooks

HEAD = """\
# Options

Drawn from the plugin itself (`python -m tools.renew`); `pytest --help` says the same. Paths are relative to where pytest is
called. Write options that take a path with `=`: pytest takes a file that exists, after a space, for a test path.
"""

TAIL = """\
Without `--ir-suite`, and unless a suite file is named on the command line, the plugin imports nothing heavy, prints nothing
and writes nothing. `-p no:irquality` turns it off.

## Selecting

Each query and each limit is a test item: `shop.ir.yaml::office-chair`, `shop.ir.yaml::ndcg-10[bm25]`,
`shop.ir.yaml::head-mrr-10`, `shop.ir.yaml::each_tag-recall-10`. So `-k`, `-m ir_suite`, `--lf`, `-x`, node ids,
`--collect-only`, `--junitxml` and `--durations` work. Tags and the words of a query are keywords for `-k`:
`-k "office and chair"`, `-k "head and not bm25"`.

## Exit status

| | |
|---|---|
| 0 | everything was checked and held, or is a known issue |
| 1 | a rule, a limit or a guard failed, or a query could not be answered |
| 2 | nothing failed, but a suite could not be judged: it cannot be read, its fixture or its baseline fails, or the run was stopped |
| 4 | an option is wrong |
| 5 | nothing was selected |

Each of them is pytest's own.
"""


class Noted:
    """Takes what the plugin declares, in place of pytest's parser."""

    def __init__(self) -> None:
        self.titles: dict[str, str] = {}
        self.groups: dict[str, list[tuple[tuple[str, ...], dict[str, Any]]]] = {}
        self.ini: list[tuple[str, str]] = []
        self._at: list[tuple[tuple[str, ...], dict[str, Any]]] = []

    def getgroup(self, name: str, description: str = "", **_: Any) -> Noted:
        """The group of this name, where options are noted from now on."""
        self.titles.setdefault(name, description)
        self._at = self.groups.setdefault(self.titles[name], [])
        return self

    def addoption(self, *names: str, **about: Any) -> None:
        """Note an option."""
        self._at.append((names, about))

    def addini(self, name: str, help: str = "", **_: Any) -> None:
        """Note an ini key."""
        self.ini.append((name, help))


def page() -> str:
    """The whole page, as Markdown."""
    noted = Noted()
    hooks.pytest_addoption(noted)  # type: ignore[arg-type]
    return "\n".join([HEAD, *_tables(noted), TAIL])


def _tables(noted: Noted) -> Iterator[str]:
    for title, options in noted.groups.items():
        yield from (f"## {title[0].upper()}{title[1:]}", "", "| option | |", "|---|---|")
        for names, about in options:
            value = f"={about['metavar']}" if about.get("metavar") else ""
            optional = f"[{value}]" if about.get("nargs") == "?" else value
            yield f"| `{_cell(names[0] + optional)}` | {_cell(about['help'])} |"
        yield ""
    yield from ("## In the settings", "", "| ini key | |", "|---|---|")
    yield from (f"| `{name}` | {_cell(help)} |" for name, help in noted.ini)
    yield ""


def _cell(text: str) -> str:
    text = text.replace("%%", "%").replace("|", "\\|")
    # What is typed is set as code: options, files, values in quotes.
    return (
        re.sub(r"(?<![`\w])(--ir-[a-z-]+|ir_[a-z_]+|\$GITHUB_\w+)", r"`\1`", text)
        if " " in text
        else text
    )
