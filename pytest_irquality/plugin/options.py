"""The options and ini keys of the plugin, and their values in a session.

Every pytest run of every project that has the plugin installed imports this module, so it imports
the standard library and pytest only.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import pytest

SUITE_PATTERNS = ("*.ir.yaml", "*.ir.yml")
DEFAULT_REPORT = "ir-report.html"
NO_FILE = "none"
STANDARD_OUTPUT = "-"
GATES = ("normal", "strict")
COMMIT_PREFIXES = ("git:", "run:")

# Set in the process that runs the base branch's own code (``--ir-baseline=run:REF``).
CHILD_VARIABLE = "PYTEST_IRQUALITY_BASE"

_Kind = Literal["text", "flag", "texts", "count", "optional text"]


class Option(NamedTuple):
    """An option of the command line.

    Attributes:
        needs_suites_at_once: Whether its mistakes are reported before anything is collected, even
            if it comes from ``addopts``.
        renderer: If the option names a report: the function in ``pytest_irquality.reports`` that
            renders a view, as ``module:function``.
    """

    flag: str
    kind: _Kind
    metavar: str
    help: str
    needs_suites_at_once: bool = False
    renderer: str = ""

    @property
    def name(self) -> str:
        """Return the attribute of ``config.option``."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def report_kind(self) -> str:
        """Return what reports call the report that the option names, such as ``markdown``."""
        return self.name.removeprefix("ir_")


class IniKey(NamedTuple):
    """A key of the ini file. ``kind`` is one of the types that ``Parser.addini`` knows."""

    name: str
    kind: Literal["string", "args", "linelist"]
    help: str
    default: str | tuple[str, ...] = ()


OPTIONS = (
    Option(
        "--ir-suite",
        "optional text",
        "PATH",
        "Collect search-quality suites, and run and evaluate their queries. PATH is a suite or a"
        " folder, like a test path; it can also be a list of queries (.txt, .csv). The options"
        " below imply this one if they are on the command line.",
    ),
    Option(
        "--ir-baseline",
        "text",
        "PATH|git:REF|run:REF",
        "Compare with saved runs (a file or a folder), with the committed baselines and suites at"
        " the merge base of REF and HEAD (git:REF), or with what the code at that commit returns"
        " (run:REF) (default: the baselines in .ir-baseline next to each suite).",
        needs_suites_at_once=True,
    ),
    Option(
        "--ir-update-baseline",
        "optional text",
        "QUERY_ID",
        "Write the current answers as baselines, of all selected queries or, with =QUERY_ID, of one"
        " query.",
        needs_suites_at_once=True,
    ),
    Option(
        "--ir-save-runs",
        "text",
        "DIR[,shard=I/N]",
        "Save the current answers in DIR. 'shard=I/N' runs shard I of N of each suite's queries.",
        needs_suites_at_once=True,
    ),
    Option(
        "--ir-runs",
        "texts",
        "PATH",
        "Evaluate the saved runs in this folder or file instead of running the retriever. Shards in"
        " several folders need the option several times.",
        needs_suites_at_once=True,
    ),
    Option(
        "--ir-concurrency",
        "count",
        "N",
        "Make up to N calls at the same time (default: 'concurrency' of the suite, or 1).",
    ),
    Option(
        "--ir-repeat",
        "count",
        "N",
        "Run every query N times, for engines whose results vary (default: 'repeat' of the suite,"
        " or 1).",
    ),
    Option(
        "--ir-init",
        "text",
        "QUERIES",
        "Write a first suite next to a list of queries (one per line, or CSV), with current results"
        " to grade.",
    ),
    Option(
        "--ir-report",
        "text",
        "PATH",
        f"Write the HTML report to PATH, or '{NO_FILE}' for no report (default: {DEFAULT_REPORT}).",
        renderer="html:render_html",
    ),
    Option(
        "--ir-json",
        "text",
        "PATH",
        "Write the report as JSON to PATH. '-' writes a short JSON document to standard output, and"
        " all other output goes to standard error.",
        renderer="json_report:render_json",
    ),
    Option(
        "--ir-markdown",
        "text",
        "PATH",
        "Write the report as Markdown to PATH (default: only to $GITHUB_STEP_SUMMARY, if set).",
        renderer="markdown:render_markdown",
    ),
    Option(
        "--ir-grade",
        "text",
        "PATH[,depth=N]",
        "Write the unjudged results of each query to a grading page (.html) or a list (.csv). N is"
        " how many results per query (default: 'top_k' of the suite).",
    ),
    Option(
        "--ir-history",
        "text",
        "FILE",
        "Append the metrics of this run to FILE, and show the last runs in the report.",
    ),
)

INI_KEYS = (
    IniKey(
        "ir_suite_files",
        "args",
        f"Patterns for the names of suites (default: {' '.join(SUITE_PATTERNS)}).",
        SUITE_PATTERNS,
    ),
    IniKey("ir_url", "linelist", "URL of a retriever, if there is no fixture: [NAME: ]URL."),
    IniKey("ir_headers", "linelist", "Headers for ir_url, one per line, such as Key: $API_KEY."),
    IniKey("ir_command", "linelist", "Program to search with, if there is no fixture."),
    IniKey("ir_serve", "string", "Command that starts the server of ir_url at a free {port}.", ""),
    IniKey("ir_prepare", "linelist", "Commands to run before ir_serve and ir_command."),
    IniKey("ir_id_field", "string", "Field of the results that holds the document id.", ""),
    IniKey("ir_retrievers", "args", "More fixtures that suites may use as retrievers."),
    IniKey("ir_files", "args", "More files that suites may read: patterns, and other folders."),
    IniKey(
        "ir_gate",
        "string",
        "'normal', or 'strict' to exit with 1 on REVIEW and INCOMPLETE (default: normal).",
        "normal",
    ),
    IniKey("ir_base_command", "string", "Command that runs pytest on the base branch (run:).", ""),
    IniKey("ir_base_link", "args", "Untracked files that the base branch needs, to link (run:)."),
)

_REMOVED_INI_KEYS = {
    "ir_accepted": "Use `ir_gate = strict`.",
    "ir_exam": "Use `ir_gate = strict`.",
    "ir_strict": "Use `ir_gate = strict`.",
    "ir_max_calls": "Limit calls with 'rate' in the suite.",
}

_WORD = r"(?s)(.*),([a-z]+)(?:=([^,]*))?"


def add_options(parser: pytest.Parser) -> None:
    """Declare all options and ini keys."""
    group = parser.getgroup("irquality", "search quality")
    kinds: dict[_Kind, dict[str, Any]] = {
        "text": {"default": None},
        "optional text": {"nargs": "?", "const": "", "default": None},
        "texts": {"action": "append", "default": []},
        "flag": {"action": "store_true"},
        "count": {"type": _read_count, "default": None},
    }
    for option in OPTIONS:
        arguments = {**kinds[option.kind], "metavar": option.metavar}
        group.addoption(option.flag, help=option.help, **arguments)
    for key in INI_KEYS:
        default = list(key.default) if isinstance(key.default, tuple) else key.default
        parser.addini(key.name, type=key.kind, help=key.help, default=default)
    for name, advice in _REMOVED_INI_KEYS.items():
        parser.addini(name, help=f"Removed. {advice}", default="")


class Options(NamedTuple):
    """The options and ini keys of a session.

    Attributes:
        collects_suites: Whether ``--ir-suite`` is on.
        update_query_id: The query of ``--ir-update-baseline=QUERY_ID``, or empty for all.
        reports: Where reports go, by the kind of the report.
        has_own_report: Whether ``--ir-report`` names the path.
        gate: ``normal`` or ``strict``, as the ini file or ``-o`` says.
        headers: Lines of ``ir_headers``, in which ``$NAME`` is an environment variable.
    """

    collects_suites: bool = False
    baseline: str = ""
    updates_baseline: bool = False
    update_query_id: str = ""
    save_runs: str = ""
    shard: str = ""
    runs: tuple[str, ...] = ()
    concurrency: int | None = None
    repeat: int | None = None
    init: str = ""
    reports: Mapping[str, str] = MappingProxyType({})
    has_own_report: bool = False
    json: str = ""
    grade: str = ""
    grade_depth: int | None = None
    history: str = ""
    suite_patterns: tuple[str, ...] = SUITE_PATTERNS
    urls: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    serve: str = ""
    prepare: tuple[str, ...] = ()
    id_field: str = ""
    retrievers: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    gate: str = "normal"
    base_command: str = ""
    base_links: tuple[str, ...] = ()

    @property
    def compares_with_commit(self) -> bool:
        """Return whether the baseline is that of another branch."""
        return self.baseline.startswith(COMMIT_PREFIXES)

    @property
    def runs_base_code(self) -> bool:
        """Return whether the code of another branch is to run."""
        return self.baseline.startswith("run:")

    @property
    def outputs(self) -> dict[str, str]:
        """Return the file that each output option names, by option."""
        outputs = {}
        for option in OPTIONS:
            path = self.reports.get(option.report_kind, "")
            if path and (option.flag != "--ir-report" or self.has_own_report):
                outputs[option.flag] = path
        return {**outputs, "--ir-grade": self.grade}


def read_options(config: pytest.Config, namespace: argparse.Namespace | None = None) -> Options:
    """Read and check the options and ini keys.

    Args:
        config: The configuration, or an early one in which not all options are parsed yet.
        namespace: The parsed command line, if it is not ``config.option``.

    Raises:
        pytest.UsageError: A value is wrong.
    """
    given = namespace or config.option
    save_runs, save_words = _split_words("--ir-save-runs", given.ir_save_runs, {"shard": "I/N"})
    grade, grade_words = _split_words("--ir-grade", given.ir_grade, {"depth": "N"})
    if grade and not grade.endswith((".html", ".csv")):
        raise pytest.UsageError(f"--ir-grade: '{grade}' must end with .html or .csv.")
    update = given.ir_update_baseline
    return Options(
        collects_suites=given.ir_suite is not None,
        baseline=given.ir_baseline or "",
        updates_baseline=update is not None,
        update_query_id=update or "",
        save_runs=save_runs,
        shard=save_words.get("shard", ""),
        runs=tuple(given.ir_runs),
        concurrency=given.ir_concurrency,
        repeat=given.ir_repeat,
        init=given.ir_init or "",
        reports=_read_report_paths(given),
        has_own_report=given.ir_report not in (None, NO_FILE),
        json=given.ir_json or "",
        grade=grade,
        grade_depth=_read_depth(grade_words.get("depth")),
        history=given.ir_history or "",
        suite_patterns=tuple(config.getini("ir_suite_files")),
        urls=tuple(config.getini("ir_url")),
        headers=tuple(config.getini("ir_headers")),
        commands=tuple(config.getini("ir_command")),
        serve=config.getini("ir_serve"),
        prepare=tuple(config.getini("ir_prepare")),
        id_field=config.getini("ir_id_field"),
        retrievers=tuple(config.getini("ir_retrievers")),
        files=tuple(config.getini("ir_files")),
        gate=config.getini("ir_gate"),
        base_command=config.getini("ir_base_command"),
        base_links=tuple(config.getini("ir_base_link")),
    )


def check_options(config: pytest.Config, options: Options) -> None:
    """Refuse values that no session can use, and options that contradict each other.

    Raises:
        pytest.UsageError: The message names the option and what to write instead.
    """
    for name, advice in _REMOVED_INI_KEYS.items():
        if config.getini(name):
            raise pytest.UsageError(f"The ini key '{name}' was removed. {advice}")
    if options.gate not in GATES:
        raise pytest.UsageError(f"'ir_gate' must be 'normal' or 'strict', not '{options.gate}'.")
    if options.updates_baseline and options.compares_with_commit:
        raise pytest.UsageError(
            f"--ir-update-baseline cannot be used with --ir-baseline={options.baseline}, because"
            " the new baseline would accept what is being reviewed."
        )
    if options.shard and (options.runs or options.updates_baseline):
        raise pytest.UsageError(
            "A shard runs some of the queries, so --ir-runs and --ir-update-baseline cannot be used"
            " with it."
        )
    if options.shard and not options.save_runs:
        raise pytest.UsageError("--ir-save-runs: the folder is missing.")
    if options.save_runs.endswith((".run", ".trec", ".gz")):
        raise pytest.UsageError(
            f"--ir-save-runs: '{options.save_runs}' is named like a TREC run, and runs are saved as"
            " JSON lines. Name a folder."
        )
    paths: dict[str, str] = {}
    for flag, path in options.outputs.items():
        if path and path in paths:
            raise pytest.UsageError(f"{paths[path]} and {flag} both name '{path}'.")
        paths[path] = flag


def is_suite_path(options: Options, path: Path, *, is_named: bool) -> bool:
    """Return whether a file is to be collected as a suite.

    Args:
        options: The options of the session.
        path: The file.
        is_named: Whether the command line names the file itself.
    """
    if path.suffix in (".txt", ".csv"):
        return options.collects_suites and is_named
    if path.suffix not in (".yaml", ".yml"):
        return False
    matches = any(map(path.match, options.suite_patterns))
    return (options.collects_suites and (is_named or matches)) or (is_named and matches)


def find_implying_option(arguments: Sequence[str]) -> str:
    """Return the first typed option that makes no sense without ``--ir-suite``, or ''."""
    flags = {option.flag for option in OPTIONS} - {"--ir-suite", "--ir-init"}
    for argument in arguments:
        if argument == "--":
            break
        flag = argument.partition("=")[0]
        if flag in flags:
            return flag
    return ""


def _read_report_paths(given: argparse.Namespace) -> dict[str, str]:
    """Return where reports go, by their kind. Only the HTML report has a default."""
    paths = {}
    for option in OPTIONS:
        path = getattr(given, option.name) if option.renderer else ""
        if option.flag == "--ir-report":
            path = path or DEFAULT_REPORT
        if path and path not in (NO_FILE, STANDARD_OUTPUT):
            paths[option.report_kind] = path
    return paths


def _read_count(text: str) -> int:
    if text.isascii() and text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"must be an integer of at least 1, not '{text}'")


def _read_depth(text: str | None) -> int | None:
    try:
        return None if text is None else _read_count(text)
    except argparse.ArgumentTypeError as error:
        raise pytest.UsageError(f"--ir-grade: depth {error}.") from None


def _split_words(flag: str, value: str | None, known: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Split ``DIR,shard=1/4`` into the path and the words behind it."""
    text = value or ""
    words: dict[str, str] = {}
    while match := re.fullmatch(_WORD, text):
        text, name, word_value = match.groups(default="")
        if name not in known:
            raise pytest.UsageError(f"{flag}: '{name}' is unknown. Use {' or '.join(known)}.")
        if bool(known[name]) != bool(word_value):
            expected = f"{name}={known[name]}" if known[name] else name
            raise pytest.UsageError(f"{flag}: write '{expected}'.")
        words[name] = word_value
    return text, words


_PARSER_KEY = pytest.StashKey[pytest.Parser]()
_COMMAND_LINE_KEY = pytest.StashKey["CommandLine"]()

# Workers of pytest-xdist get parsed options, not what was typed.
WORKER_INPUT = "ir_typed_arguments"

# Options that leave out items or files, by their attribute.
_SELECTING_OPTIONS = {
    "keyword": "-k",
    "markexpr": "-m",
    "deselect": "--deselect",
    "lf": "--last-failed",
    "stepwise": "--stepwise",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
    "file_or_dir": "a path",
    "collectonly": "--collect-only",
    "setuponly": "--setup-only",
    "setupplan": "--setup-plan",
}
# With these, pytest only shows something, and exits with 0.
OPTIONS_WITHOUT_RUNNING = {
    "collectonly": "--collect-only",
    "setupplan": "--setup-plan",
    "showfixtures": "--fixtures",
    "show_fixtures_per_test": "--fixtures-per-test",
    "help": "--help",
    "version": "--version",
    "markers": "--markers",
    "cacheshow": "--cache-show",
}

# The patterns are texts, because a session that does not use them should not compile them.
# What a command that evaluates the same suites again does not need.
_DISPLAY_OPTIONS = (
    r"-[qvsrx]\w*|-pno:.*|--(quiet|verbose|verbosity|tb|color|capture|durations|no-header"
    r"|no-summary|junitxml|junit-xml|html|self-contained-html|report-log|numprocesses|maxprocesses|dist|basetemp"
    r"|last-failed|lf|failed-first|ff|new-first|nf|stepwise|sw|deselect"
    r"|exitfirst|maxfail|ir-suite|ir-update-baseline|ir-save-runs|ir-report|ir-json|ir-markdown"
    r"|ir-grade|ir-history|ir-concurrency)|-[kmn].*"
)
_OPTIONS_WITH_VALUE = (
    r"-[kmnr]|--(tb|color|capture|durations|dist|deselect|basetemp|junitxml|junit-xml|html"
    r"|report-log|numprocesses|maxprocesses|maxfail|ir-save-runs|ir-report|ir-json|ir-markdown"
    r"|ir-grade|ir-history|ir-concurrency)"
)
_SECRET_NAME = r"(?i)key|token|secret|passw|auth|credential|headers"


class CommandLine(NamedTuple):
    """The typed command line.

    Attributes:
        arguments: The arguments, with those of ``PYTEST_ADDOPTS``, which belongs to the job.
        namespace: The options that they give.
    """

    arguments: tuple[str, ...]
    namespace: argparse.Namespace

    @property
    def has_selection(self) -> bool:
        """Return whether somebody selected tests on purpose."""
        chosen = ("keyword", "markexpr", "deselect", "lf", "stepwise")
        if any(getattr(self.namespace, name, None) for name in chosen):
            return True
        return any("::" in path for path in self.paths)

    @property
    def paths(self) -> list[str]:
        """Return the typed paths and node ids."""
        return [str(path) for path in getattr(self.namespace, "file_or_dir", None) or ()]

    @property
    def overridden_ini_keys(self) -> dict[str, str]:
        """Return the ini keys that ``-o`` sets."""
        pairs = {}
        for text in getattr(self.namespace, "override_ini", None) or ():
            key, _, value = text.partition("=")
            pairs[key.strip()] = value.strip()
        return pairs


def prepare_arguments(
    early_config: pytest.Config, parser: pytest.Parser, arguments: list[str]
) -> None:
    """Give the paths back to pytest that follow our options with optional values.

    ``--ir-suite PATH`` and ``--ir-suite=PATH`` both mean "collect suites, and collect PATH", and
    argparse takes the path for the value of the option in any case.
    """
    early_config.stash[_PARSER_KEY] = parser
    split = split_optional_values(arguments)
    if split != arguments:
        arguments[:] = split
        known = early_config.known_args_namespace
        parsed = parser.parse_known_args(arguments)
        # pytest imports the conftests of these paths first.
        known.file_or_dir = parsed.file_or_dir
        known.ir_suite = parsed.ir_suite
        known.ir_update_baseline = parsed.ir_update_baseline


def split_optional_values(arguments: Iterable[str]) -> list[str]:
    """Split ``--ir-suite=P`` and ``--ir-update-baseline P`` into the option and a path."""
    split: list[str] = []
    has_ended = False
    for argument in arguments:
        has_ended = has_ended or argument == "--"
        if has_ended:
            split.append(argument)
        elif argument in ("--ir-suite", "--ir-update-baseline"):
            split.append(f"{argument}=")
        elif argument.startswith("--ir-suite=") and argument != "--ir-suite=":
            split += ["--ir-suite=", argument.partition("=")[2]]
        else:
            split.append(argument)
    return split


def parse_arguments(config: pytest.Config, arguments: Sequence[str]) -> CommandLine:
    """Parse arguments as pytest would, without ``addopts``."""
    namespace = argparse.Namespace()
    if _PARSER_KEY in config.stash:
        parser = config.stash[_PARSER_KEY]
        namespace = parser.parse_known_args(split_optional_values(arguments))
    return CommandLine(tuple(arguments), namespace)


def get_command_line(config: pytest.Config) -> CommandLine:
    """Return the typed command line of this session."""
    if _COMMAND_LINE_KEY not in config.stash:
        typed = getattr(config, "workerinput", {}).get(WORKER_INPUT)
        if typed is None:
            typed = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
            typed += map(os.fspath, config.invocation_params.args)
        config.stash[_COMMAND_LINE_KEY] = parse_arguments(config, typed)
    return config.stash[_COMMAND_LINE_KEY]


def describe_addopts_selection(config: pytest.Config) -> str:
    """Describe the options in ``addopts`` that leave out tests, such as ``-m smoke``."""
    typed = get_command_line(config).namespace
    described = []
    for name, flag in _SELECTING_OPTIONS.items():
        value = getattr(config.option, name, None)
        if not value or value == getattr(typed, name, None):
            continue
        if name == "file_or_dir" or isinstance(value, bool):
            described.append(flag)
        else:
            values = value if isinstance(value, list) else [value]
            described += [f"{flag} {shlex.quote(str(one))}" for one in values]
    return ", ".join(described)


def is_run_without_tests(config: pytest.Config) -> bool:
    """Return whether pytest only shows tests or fixtures and runs nothing."""
    return any(getattr(config.option, name, False) for name in OPTIONS_WITHOUT_RUNNING)


def is_only_in_addopts(config: pytest.Config, name: str) -> bool:
    """Return whether an option has a value, and nobody typed it."""
    value = getattr(config.option, name, None)
    typed = getattr(get_command_line(config).namespace, name, None)
    return value not in (None, [], False) and value != typed


def format_command(config: pytest.Config) -> list[str]:
    """Return the words of a command that evaluates suites again, without the paths.

    Options that select, display or write are left out, and so are values that may be secrets.
    """
    return [*_get_program(), "--ir-suite", *_list_kept_arguments(config)]


def format_update_command(config: pytest.Config) -> list[str]:
    """Return the words of a command that updates baselines, without the paths."""
    kept = _list_kept_arguments(config, dropped=("--ir-baseline", "--ir-runs"))
    return [*_get_program(), "--ir-update-baseline", *kept]


def _get_program() -> list[str]:
    is_module = Path(sys.argv[0]).parts[-2:] == ("pytest", "__main__.py")
    return ["python", "-m", "pytest"] if is_module else ["pytest"]


def _list_kept_arguments(config: pytest.Config, dropped: Sequence[str] = ()) -> list[str]:
    typed = get_command_line(config)
    arguments = [os.fspath(argument) for argument in config.invocation_params.args]
    kept: list[str] = []
    is_value = False
    for argument in split_optional_values(arguments):
        name = argument.partition("=")[0]
        is_dropped = name in dropped or bool(re.fullmatch(_DISPLAY_OPTIONS, name))
        if is_value:
            is_value = False
        elif argument in typed.paths or argument == "--":
            continue
        elif argument.startswith("no:") and kept[-1:] == ["-p"]:
            kept.pop()  # a plugin that is switched off adds nothing to the run
        elif is_dropped:
            has_value = name in dropped or bool(re.fullmatch(_OPTIONS_WITH_VALUE, name))
            is_value = "=" not in argument and has_value
        else:
            secret, equals, _ = argument.rpartition("=")
            is_secret = bool(equals) and bool(re.search(_SECRET_NAME, secret))
            kept.append(f"{secret}=…" if is_secret else argument)
    return kept
