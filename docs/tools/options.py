"""The page of the options and ini keys, drawn from what the plugin tells pytest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_irquality.plugin.options import Options

HEAD = """\
# Options

Drawn from the plugin itself (`python -m docs.tools.renew`); `pytest --help` says the same. Write options that take a path with
`=`: pytest takes a file that exists, after a space, for a test path.
"""

TAIL = """\
Without `--ir-suite`, and unless a suite file is named, the plugin does nothing. `-p no:irquality` turns it off.

## Selecting

Each query and each limit is a test item: `shop.ir.yaml::office-chair`, `shop.ir.yaml::ndcg-10[bm25]`,
`shop.ir.yaml::head-mrr-10`. So `-k`, `-m ir_suite`, `--lf`, `-x`, node ids, `--collect-only`, `--junitxml` and `--durations`
work. Tags and the words of a query are keywords: `-k "head and not bm25"`.

## Exit status

- 0: everything was checked and held, or is a known issue
- 1: a rule, a limit or a guard failed, or a query could not be answered
- 2: a suite could not be judged: it cannot be read, its fixture or its baseline fails, or the run was stopped
- 4: an option is wrong, or the base of `run:` cannot be run
- 5: nothing was selected
"""


def page() -> str:
    """The whole page, as Markdown."""
    return "\n".join([HEAD, *_lists(), TAIL])


def _lists() -> Iterator[str]:
    yield from ("## On the command line", "")
    for option in Options.options():
        metavar = option.arguments.get("metavar")
        written = f"{option.flag}={metavar}" if metavar else option.flag
        yield f"- `{written}`: {_said(option.help)}"
    yield from ("", "## In the settings", "")
    for key in Options.ini_keys():
        yield f"- `{key.key}`: {_said(key.help)}"
    yield ""


def _said(text: str) -> str:
    # What is typed is set as code: options, ini keys.
    text = text.replace("%%", "%").replace(" (default: none)", "")
    return re.sub(r"(?<![`\w])(--ir-[a-z-]+(?:=run:REF)?|ir_[a-z_]+|\$GITHUB_\w+)", r"`\1`", text)
